//! Dead letters one by one.

use askama::Template;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use chrono::{DateTime, Utc};
use jobkit::{
    Count, DeadLetterCursor, DeadLetterFilter, DeadLetterId, DeadLetterState, DeadLetterSummary,
};

use crate::api::values;
use crate::failure::html;
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

const PAGE: u32 = 50;

/// Dead letters in one export.
const EXPORT: usize = 1000;

/// What a list was asked for, as the URL has it.
pub(crate) struct Asked {
    pub(crate) state: DeadLetterState,
    pub(crate) texts: Vec<(&'static str, String)>,
}

impl Asked {
    /// Reads it from a query or a form.
    pub(crate) fn of<'a>(text: impl Fn(&'static str) -> Option<&'a str>) -> Self {
        let state = match text("state") {
            Some("replaying") => DeadLetterState::Replaying,
            Some("resolved") => DeadLetterState::Resolved,
            _ => DeadLetterState::Open,
        };
        let names = ["kind", "queue", "key", "fingerprint"];
        let texts = names.into_iter().filter_map(|name| Some((name, text(name)?.to_owned())));
        Self { state, texts: texts.collect() }
    }

    pub(crate) fn filter(&self) -> DeadLetterFilter {
        let filter = DeadLetterFilter::all().state(self.state);
        self.texts.iter().fold(filter, |filter, (name, text)| match *name {
            "kind" => filter.kind(text),
            "queue" => filter.queue(text),
            "key" => filter.key(text),
            _ => filter.fingerprint(text),
        })
    }

    /// One of the texts, for a field of a form.
    fn text(&self, name: &str) -> &str {
        let found = self.texts.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, text)| text)
    }

    /// The same as a query.
    pub(crate) fn query(&self) -> String {
        let texts = self.texts.iter().map(|(name, text)| format!("&{name}={}", show::url(text)));
        format!("state={}{}", self.state.as_str(), texts.collect::<String>())
    }
}

#[derive(Template)]
#[template(path = "dead_letters.html")]
struct Entries<'a> {
    frame: Frame<'a>,
    asked: Asked,
    count: Count,
    entries: Vec<DeadLetterSummary>,
    /// The first page, when this is another one.
    first: Option<String>,
    next: Option<String>,
}

impl Entries<'_> {
    /// What can be done with the rows that are selected: the verb, and what a button says.
    fn verbs(&self) -> Vec<(&'static str, &'static str)> {
        let (frame, state) = (&self.frame, self.asked.state);
        let verbs = [
            ("replay", "Replay…", "replay", state == DeadLetterState::Open),
            ("discard_dead_letters", "Discard…", "discard", state != DeadLetterState::Replaying),
        ];
        let may = |permission| frame.may("bulk") && frame.may(permission);
        let verbs = verbs.into_iter().filter(|(.., permission, fits)| *fits && may(permission));
        verbs.map(|(verb, label, ..)| (verb, label)).collect()
    }

    fn tabs(&self) -> [(&'static str, &'static str, bool); 3] {
        let tab = |(name, label)| (name, label, self.asked.state.as_str() == name);
        [("open", "Open"), ("replaying", "Replaying"), ("resolved", "Resolved")].map(tab)
    }
}

pub(crate) async fn list(visit: &Visit) -> Answer {
    let asked = Asked::of(|name| visit.query(name));
    let (filter, admin) = (asked.filter(), visit.admin());
    let (count, page) = tokio::try_join!(
        admin.count_dead_letters(&filter),
        admin.dead_letters(&filter, cursor(visit), PAGE),
    )?;
    let next = page.next.map(|page| format!("/dead/entries?{}", next(&asked, page)));
    let first = cursor(visit).map(|_| format!("/dead/entries?{}", asked.query()));
    let frame = visit.frame("Dead letters");
    Ok(html(&Entries { frame, asked, count, entries: page.entries, first, next }))
}

/// The query of the page after this cursor.
pub(crate) fn next(asked: &Asked, cursor: DeadLetterCursor) -> String {
    let micros = cursor.failed_at.timestamp_micros();
    format!("{}&at={micros}&id={}", asked.query(), cursor.id)
}

pub(crate) fn cursor(visit: &Visit) -> Option<DeadLetterCursor> {
    let at: i64 = visit.query("at")?.parse().ok()?;
    let id = DeadLetterId(visit.query("id")?.parse().ok()?);
    let failed_at = DateTime::<Utc>::from_timestamp_micros(at)?;
    Some(DeadLetterCursor { failed_at, id })
}

/// A JSON document on each line: those that the filter means, the newest first.
pub(crate) async fn export(visit: &Visit) -> Answer {
    let (filter, admin) = (Asked::of(|name| visit.query(name)).filter(), visit.admin());
    let (mut lines, mut after, mut written) = (String::new(), None, 0);
    while written < EXPORT {
        let page = admin.dead_letters(&filter, after, 100).await?;
        for entry in &page.entries {
            let Some(letter) = admin.dead_letter(entry.id).await? else { continue };
            let line = values::dead_letter(&letter, visit.redaction());
            lines.push_str(&line);
            lines.push('\n');
            written += 1;
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let headers = [
        (CONTENT_TYPE, "application/jsonl; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"dead-letters.jsonl\""),
    ];
    Ok((headers, lines).into_response())
}
