//! The list of dead letters, and its export.

use askama::Template;
use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::IntoResponse;
use futures_util::{StreamExt, stream};
use jobkit::Admin;
use jobkit::admin::AdminError;
use jobkit::admin::Count;
use jobkit::admin::dead_letters::{
    DeadLetterCursor, DeadLetterFilter, DeadLetterState, DeadLetterSummary,
};
use tokio::sync::OwnedSemaphorePermit;

use crate::access::Redaction;
use crate::context::Context;
use crate::failure::Answer;
use crate::failure::Failure;
use crate::format::show;
use crate::format::values;
use crate::render::frame::Frame;
use crate::render::html;
use crate::request::dead_letters::{DeadLetterQuery, cursor, next};

const PAGE: u32 = 50;

/// Dead letters that an export reads at a time.
const EXPORT: u32 = 50;

#[derive(Template)]
#[template(path = "dead_letters.html")]
struct Entries<'a> {
    frame: Frame<'a>,
    query: DeadLetterQuery,
    count: Count,
    entries: Vec<DeadLetterSummary>,
    /// The first page, if this is a later one.
    first: Option<String>,
    next: Option<String>,
}

impl Entries<'_> {
    /// Actions on selected rows: the verb and the label of its button.
    fn verbs(&self) -> Vec<(&'static str, &'static str)> {
        let (frame, state) = (&self.frame, self.query.state);
        let verbs = [
            ("replay", "Replay…", "replay", state == DeadLetterState::Open),
            ("discard_dead_letters", "Discard…", "discard", state != DeadLetterState::Replaying),
        ];
        let may = |permission| frame.may("bulk") && frame.may(permission);
        let verbs = verbs.into_iter().filter(|(.., permission, fits)| *fits && may(permission));
        verbs.map(|(verb, label, ..)| (verb, label)).collect()
    }

    /// The number on the current tab; `None` if counting stopped early.
    fn number(&self) -> Option<String> {
        let ended = matches!(self.count, Count::AtLeast(_)) && !self.query.texts.is_empty();
        (!ended).then(|| show::count(&self.count))
    }

    /// Whether there may be anything to act on.
    fn may_be_some(&self) -> bool {
        self.count != Count::Exactly(0)
    }

    fn tabs(&self) -> [(&'static str, &'static str, bool); 3] {
        let tab = |(name, label)| (name, label, self.query.state.as_str() == name);
        [("open", "Open"), ("replaying", "Replaying"), ("resolved", "Resolved")].map(tab)
    }
}

pub(crate) async fn list(context: &Context) -> Answer {
    let query = DeadLetterQuery::of(|name| context.request.query(name));
    let (filter, admin) = (query.filter(), context.admin());
    let (count, page) = tokio::try_join!(
        admin.count_dead_letters(&filter),
        admin.dead_letters(&filter, cursor(&context.request), PAGE),
    )?;
    let next = page.next.map(|page| format!("/dead/entries?{}", next(&query, page)));
    let first = cursor(&context.request).map(|_| format!("/dead/entries?{}", query.query()));
    let frame = Frame::of(context, "Dead letters");
    Ok(html(&Entries { frame, query, count, entries: page.entries, first, next }))
}

/// An export in progress: its filter and its position.
struct Export {
    admin: Admin,
    filter: DeadLetterFilter,
    redaction: Option<Redaction>,
    after: Option<DeadLetterCursor>,
    is_over: bool,
    /// A slow reader delays other exports, but not the pages.
    _turn: OwnedSemaphorePermit,
}

impl Export {
    /// The lines of the next page.
    async fn page(&mut self) -> Result<String, AdminError> {
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

    /// The pages of the export. A failure aborts the download, so that nobody mistakes a partial
    /// file for a complete one.
    async fn next(mut self) -> Result<Option<(String, Self)>, AdminError> {
        if self.is_over {
            return Ok(None);
        }
        let lines = self.page().await.inspect_err(|error| {
            tracing::warn!(%error, "jobkit.dashboard: an export was aborted");
        })?;
        Ok(Some((lines, self)))
    }
}

/// Everything that matches the filter, the newest first, one JSON document per line, read page by
/// page.
pub(crate) async fn export(context: &Context) -> Answer {
    let turn = context.shared.exports.clone().try_acquire_owned().map_err(|_| Failure::Busy)?;
    let filter = DeadLetterQuery::of(|name| context.request.query(name)).filter();
    let (admin, redaction) = (context.admin(), context.redaction());
    let mut export = Export { admin, filter, redaction, after: None, is_over: false, _turn: turn };
    // A failure at the start is answered with a page.
    let first = export.page().await?;
    let rest = stream::try_unfold(export, Export::next);
    let lines = stream::once(async { Ok(first) }).chain(rest);
    let headers = [
        (CONTENT_TYPE, "application/jsonl; charset=utf-8"),
        (CONTENT_DISPOSITION, "attachment; filename=\"dead-letters.jsonl\""),
    ];
    Ok((headers, Body::from_stream(lines)).into_response())
}
