//! Jobs in lists.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::query::Listing;
use crate::JobId;

/// Where a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// It is not due yet: a delay, the backoff of a retry, a snooze.
    Scheduled,
    /// It may be claimed.
    Ready,
    /// It waits for a permit of its concurrency key.
    Blocked,
    /// A worker runs it.
    Running,
    /// It has ended: success, discarded or cancelled; kept for its retention.
    Finished,
    /// It is a dead letter.
    Dead,
}

impl State {
    /// The state's name, as used outside Rust.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
            Self::Blocked => "blocked",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Dead => "dead",
        }
    }

    pub(crate) fn of(name: &str) -> Self {
        let others = [Self::Scheduled, Self::Blocked, Self::Running, Self::Finished, Self::Dead];
        others.into_iter().find(|state| state.as_str() == name).unwrap_or(Self::Ready)
    }
}

/// How a job ended, other than as a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// Its handler succeeded.
    Succeeded,
    /// Its handler or an operator discarded it.
    Discarded,
    /// Somebody cancelled it.
    Cancelled,
    /// It expired before it started.
    Expired,
    /// It should have run again, but another job had its unique key by then.
    Superseded,
    /// A newer job with its key runs in its place.
    Coalesced,
}

impl Ended {
    /// All outcomes.
    pub const ALL: [Self; 6] = [
        Self::Succeeded,
        Self::Discarded,
        Self::Cancelled,
        Self::Expired,
        Self::Superseded,
        Self::Coalesced,
    ];

    /// The outcome's name, as used outside Rust: `finish`, `discard`, `cancel`, `expire`,
    /// `supersede` or `coalesce`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "finish",
            Self::Discarded => "discard",
            Self::Cancelled => "cancel",
            Self::Expired => "expire",
            Self::Superseded => "supersede",
            Self::Coalesced => "coalesce",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ended| ended.as_str() == name)
    }

    /// The narrowest list with such jobs.
    #[must_use]
    pub fn listing(self) -> Listing {
        match self {
            Self::Succeeded => Listing::Finished,
            Self::Cancelled => Listing::Cancelled,
            _ => Listing::Discarded,
        }
    }
}

/// A job in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobSummary {
    /// Its id.
    pub id: JobId,
    /// Where it is.
    pub state: State,
    /// How it ended, if it is finished.
    pub ended: Option<Ended>,
    /// Its stored kind.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// −3 to 3; smaller goes first.
    pub priority: i16,
    /// Attempts charged so far.
    pub attempt: u32,
    /// Its maximum number of attempts.
    pub max_attempts: u32,
    /// The worker that runs it or ended it; hexadecimal in logs.
    pub worker: Option<i64>,
    /// Whether it is live and marked as cancelled: it will only end.
    pub cancel_requested: bool,
    /// When it is due, or was last due.
    pub run_at: DateTime<Utc>,
    /// When it was enqueued.
    pub created_at: DateTime<Utc>,
    /// When it was claimed, blocked, finished or buried; `None` while it is ready or scheduled.
    pub since: Option<DateTime<Utc>>,
    /// How long its last attempt took, if it is finished and ran.
    pub took: Option<Duration>,
    /// Its concurrency group and key.
    pub concurrency: Option<(String, String)>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The beginning of its last error, or of the reason for its end, 300 characters at most.
    pub error: Option<String>,
}

/// A page of jobs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JobPage {
    /// The matching jobs, in the order of the listing. There may be none although more pages
    /// follow.
    pub jobs: Vec<JobSummary>,
    /// The job after which the next page begins; `None` on the last page.
    pub next: Option<JobCursor>,
    /// How many jobs were looked at when the search gave up before the page was full; `None` if the
    /// page is full or no job is left.
    pub gave_up_after: Option<u32>,
    /// Whether the search may have missed matching jobs, because their kind redacts what the query
    /// looks for in payloads, or was never announced. Never with
    /// [`JobQuery::reveal`](super::JobQuery).
    pub withheld: bool,
}

impl JobPage {
    /// The usual number of rows of a page.
    pub const ROWS: u32 = 50;
}

/// A position in a list of jobs. Its text, for a link to the next page, is parsed by [`FromStr`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobCursor {
    pub(crate) listing: Listing,
    /// What the listing is ordered by, as a JSON array.
    pub(crate) place: String,
}

impl fmt::Display for JobCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.listing.as_str(), self.place)
    }
}

/// The text is not a cursor that a page has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not a place in a list of jobs; start from the first page")]
#[non_exhaustive]
pub struct CursorError;

impl FromStr for JobCursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let (listing, place) = text.split_once(':').ok_or(CursorError)?;
        let listing = Listing::of(listing).ok_or(CursorError)?;
        let values: Vec<Value> = serde_json::from_str(place).map_err(|_| CursorError)?;
        let id = |value: &Value| value.is_i64();
        let text = |value: &Value| value.as_str().is_some_and(|text| !text.contains('\0'));
        let priority = |value: &Value| value.as_i64().is_some_and(|n| i16::try_from(n).is_ok());
        let time = |value: &Value| value.as_str().is_some_and(is_time);
        let fits = match (listing, &*values) {
            (Listing::Ready, [a, b, c, d]) => text(a) && priority(b) && c.is_boolean() && id(d),
            (Listing::Blocked, [a, b, c, d]) => text(a) && text(b) && priority(c) && id(d),
            (Listing::Scheduled | Listing::Retrying | Listing::Running, [a, b]) => time(a) && id(b),
            (Listing::Live | Listing::Finished | Listing::Discarded | Listing::Cancelled, [a]) => {
                id(a)
            }
            _ => false,
        };
        if !fits {
            return Err(CursorError);
        }
        Ok(Self { listing, place: place.to_owned() })
    }
}

fn is_time(text: &str) -> bool {
    DateTime::parse_from_rfc3339(text).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        for text in [
            "live:[17]",
            "cancelled:[-9223372036854775808]",
            r#"ready:["ma:il",-3,true,17]"#,
            r#"blocked:["g","",0,17]"#,
            r#"scheduled:["2026-11-21T19:01:42.123456+00:00", 17]"#,
        ] {
            let shown = text.parse::<JobCursor>().map(|cursor| cursor.to_string());
            assert_eq!(shown.as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_cursor_that_no_page_has_returned_is_refused() {
        for text in [
            "",
            "live",
            "live:17",
            "live:[1.5]",
            "live:[9223372036854775808]",
            "dead:[17]",
            r#"ready:["mail",40000,true,17]"#,
            r#"ready:["ma\u0000il",0,true,17]"#,
            r#"scheduled:["yesterday",17]"#,
            r#"blocked:["g",17]"#,
        ] {
            assert_eq!(text.parse::<JobCursor>(), Err(CursorError), "{text}");
        }
    }
}
