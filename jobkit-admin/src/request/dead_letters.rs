//! The dead letters that a request selects.

use chrono::{DateTime, Utc};
use jobkit::admin::dead_letters::{
    DeadLetterCursor, DeadLetterFilter, DeadLetterId, DeadLetterState,
};

use super::fields::Fields;
use crate::format::show;

/// The filter of a list, as in its URL.
pub(crate) struct DeadLetterQuery {
    pub(crate) state: DeadLetterState,
    pub(crate) texts: Vec<(&'static str, String)>,
}

impl DeadLetterQuery {
    /// Reads it from a query or a form.
    pub(crate) fn of<'a>(text: impl Fn(&'static str) -> Option<&'a str>) -> Self {
        let state = match text("state") {
            Some("replaying") => DeadLetterState::Replaying,
            Some("resolved") => DeadLetterState::Resolved,
            _ => DeadLetterState::Open,
        };
        let names = ["kind", "queue", "key", "tag", "fingerprint"];
        let texts = names.into_iter().filter_map(|name| Some((name, text(name)?.to_owned())));
        Self { state, texts: texts.collect() }
    }

    pub(crate) fn filter(&self) -> DeadLetterFilter {
        let filter = DeadLetterFilter::all().state(self.state);
        self.texts.iter().fold(filter, |filter, (name, text)| match *name {
            "kind" => filter.kind(text),
            "queue" => filter.queue(text),
            "key" => filter.key(text),
            "tag" => filter.tag(text),
            _ => filter.fingerprint(text),
        })
    }

    /// One of the texts, for a field of a form.
    pub(crate) fn text(&self, name: &str) -> &str {
        let found = self.texts.iter().find(|(known, _)| *known == name);
        found.map_or("", |(_, text)| text)
    }

    /// The filter as a query.
    pub(crate) fn query(&self) -> String {
        let texts = self.texts.iter().map(|(name, text)| format!("&{name}={}", show::url(text)));
        format!("state={}{}", self.state.as_str(), texts.collect::<String>())
    }
}

/// The query for the page after this cursor.
pub(crate) fn next(query: &DeadLetterQuery, cursor: DeadLetterCursor) -> String {
    let micros = cursor.failed_at.timestamp_micros();
    format!("{}&at={micros}&id={}", query.query(), cursor.id)
}

pub(crate) fn cursor(request: &Fields) -> Option<DeadLetterCursor> {
    let at: i64 = request.query("at")?.parse().ok()?;
    let id = DeadLetterId(request.query("id")?.parse().ok()?);
    let failed_at = DateTime::<Utc>::from_timestamp_micros(at)?;
    Some(DeadLetterCursor { failed_at, id })
}
