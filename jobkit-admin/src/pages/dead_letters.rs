//! Dead letters one by one.

use askama::Template;
use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use chrono::{DateTime, Utc};
use futures_util::{StreamExt, stream};
use jobkit::admin::Count;
use jobkit::admin::dead_letters::{
    DeadLetterCursor, DeadLetterFilter, DeadLetterId, DeadLetterState, DeadLetterSummary,
};
use jobkit::{Admin, Error};
use tokio::sync::OwnedSemaphorePermit;

use crate::access::Redaction;
use crate::api::values;
use crate::failure::{Failure, html};
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

const PAGE: u32 = 50;

/// Dead letters that an export reads at a time.
const EXPORT: u32 = 50;

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

    /// The number on the current tab; `None` where counting ended before all was looked at.
    fn number(&self) -> Option<String> {
        let ended = matches!(self.count, Count::AtLeast(_)) && !self.asked.texts.is_empty();
        (!ended).then(|| show::count(&self.count))
    }

    /// Whether there may be something to act upon.
    fn may_be_some(&self) -> bool {
        self.count != Count::Exactly(0)
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

/// An export on its way: what it means, and where it goes on.
struct Export {
    admin: Admin,
    filter: DeadLetterFilter,
    redaction: Option<Redaction>,
    after: Option<DeadLetterCursor>,
    is_over: bool,
    /// Whoever reads slowly keeps others waiting, not the pages.
    _turn: OwnedSemaphorePermit,
}

impl Export {
    /// The lines of its next page.
    async fn page(&mut self) -> Result<String, Error> {
        let page = self.admin.dead_letters(&self.filter, self.after, EXPORT).await?;
        (self.after, self.is_over) = (page.next, page.next.is_none());
        let ids: Vec<_> = page.entries.iter().map(|entry| entry.id).collect();
        if ids.is_empty() {
            return Ok(String::new());
        }
        let letters = self.admin.whole_dead_letters(&ids).await?;
        let line = |letter| values::dead_letter(letter, self.redaction) + "\n";
        Ok(letters.iter().map(line).collect())
    }

    /// The same, for as long as there is one. What fails on the way breaks the download off, lest
    /// somebody take a part for the whole.
    async fn next(mut self) -> Result<Option<(String, Self)>, Error> {
        if self.is_over {
            return Ok(None);
        }
        let lines = self.page().await.inspect_err(|error| {
            tracing::warn!(%error, "jobkit.dashboard: an export broke off");
        })?;
        Ok(Some((lines, self)))
    }
}

/// A JSON document on each line: all that the filter means, the newest first, page by page as they
/// are read.
pub(crate) async fn export(visit: &Visit) -> Answer {
    let turn = visit.shared.exports.clone().try_acquire_owned().map_err(|_| Failure::Busy)?;
    let filter = Asked::of(|name| visit.query(name)).filter();
    let (admin, redaction) = (visit.admin(), visit.redaction());
    let mut export = Export { admin, filter, redaction, after: None, is_over: false, _turn: turn };
    // What is wrong from the start is told with a page.
    let first = export.page().await?;
    let rest = stream::try_unfold(export, Export::next);
    let lines = stream::once(async { Ok(first) }).chain(rest);
    let headers = [
        (CONTENT_TYPE, "application/jsonl; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"dead-letters.jsonl\""),
    ];
    Ok((headers, Body::from_stream(lines)).into_response())
}
