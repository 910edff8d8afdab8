//! Which jobs a list shows, and the words of a search.

use std::fmt;

use super::summary::Ended;
use crate::{BatchId, JobId};

mod parse;
#[cfg(test)]
mod tests;

pub use self::parse::QueryError;

/// A list of jobs. Each has its own order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Listing {
    /// All live jobs, the newest first.
    #[default]
    Live,
    /// Jobs that may be claimed, in the order of the claim: by queue, priority, whether they hold
    /// a permit, and age.
    Ready,
    /// Jobs that are not due yet, the next one first.
    Scheduled,
    /// Scheduled jobs that have failed before: they wait out their backoff, or a snooze.
    Retrying,
    /// Jobs that a worker runs, in the order in which they were claimed.
    Running,
    /// Jobs that wait for a permit: by group, key, priority and age.
    Blocked,
    /// Ended jobs that are still kept, however they ended, the newest first. [`JobQuery::ended`]
    /// selects those that succeeded.
    Finished,
    /// Ended jobs that were discarded, for whichever of the reasons that [`JobQuery::ended`]
    /// distinguishes.
    Discarded,
    /// Ended jobs that were cancelled.
    Cancelled,
}

impl Listing {
    /// All listings, in the order of a row of tabs.
    pub const ALL: [Self; 9] = [
        Self::Live,
        Self::Ready,
        Self::Scheduled,
        Self::Retrying,
        Self::Running,
        Self::Blocked,
        Self::Finished,
        Self::Discarded,
        Self::Cancelled,
    ];

    /// Its name: `live`, `ready`, `scheduled`, `retrying`, `running`, `blocked`, `finished`,
    /// `discarded` or `cancelled`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Ready => "ready",
            Self::Scheduled => "scheduled",
            Self::Retrying => "retrying",
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::Finished => "finished",
            Self::Discarded => "discarded",
            Self::Cancelled => "cancelled",
        }
    }

    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|listing| listing.as_str() == name)
    }
}

/// Which jobs match: those of a listing that meet every condition. Set its fields, or parse the
/// text of a search box:
///
/// ```
/// use jobkit::admin::jobs::{JobQuery, Listing};
///
/// let query: JobQuery = r#"state:retrying kind:charge_card args.account:7 tag:"very urgent""#
///     .parse()?;
/// assert_eq!(query.listing, Listing::Retrying);
/// assert_eq!(query.args, [("account".to_owned(), "7".to_owned())]);
/// assert_eq!("kind:charge_card".parse::<JobQuery>()?.to_string(), "kind:charge_card");
/// assert_eq!(
///     "kind:a knid:b".parse::<JobQuery>().unwrap_err().to_string(),
///     "`knid:b`: there is no qualifier `knid`; the qualifiers are kind, queue, state, tag, \
///      group, key, error, ended, worker, batch, id and args.<path>",
/// );
/// # Ok::<(), jobkit::admin::jobs::QueryError>(())
/// ```
///
/// The words are `qualifier:value` with spaces between; a value with spaces is put in double
/// quotes, in which `\"` and `\\` are a quote and a backslash. A number alone is an id. All words
/// must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobQuery {
    /// `state:`, the listing.
    pub listing: Listing,
    /// `kind:`, the stored kind; 1 to 128 bytes.
    pub kind: Option<String>,
    /// `queue:`; 1 to 128 bytes.
    pub queue: Option<String>,
    /// `tag:`, one of the job's; 1 to 128 bytes.
    pub tag: Option<String>,
    /// `group:`, the concurrency group; 1 to 128 bytes.
    pub group: Option<String>,
    /// `key:`, the concurrency key, in any group unless one is given; at most 512 bytes.
    pub key: Option<String>,
    /// `error:`, a part of one of the job's errors or of the reason why it was discarded, in upper
    /// or lower case; 1 to 512 bytes.
    pub error: Option<String>,
    /// `ended:`, how it ended: `finish`, `discard`, `cancel`, `expire`, `supersede` or `coalesce`.
    /// In a search, this also selects [the listing of such jobs](Ended::listing) unless another one
    /// is named.
    pub ended: Option<Ended>,
    /// `worker:`, the worker that runs it or ran it last; hexadecimal in a search, as in logs.
    pub worker: Option<i64>,
    /// `batch:`, the [batch](crate::batch) of which it is a member.
    pub batch: Option<BatchId>,
    /// `id:`
    pub id: Option<JobId>,
    /// `args.path:value`: the value at this path of the payload as text. A path is keys, or indexes
    /// of arrays (from 0), separated by dots. Paths and values have at most 512 bytes; at most 16
    /// are searched for.
    pub args: Vec<(String, String)>,
    /// Whether `args` may find what `#[job(redact(…))]` hides. By default, and always in a search
    /// text, hidden values find no jobs, and no value finds jobs of a kind that nobody has
    /// announced.
    pub reveal: bool,
}

/// Writes a value, in quotes unless it is one word.
struct Value<'a>(&'a str);

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let odd = |c: char| c.is_whitespace() || c == '"';
        if !self.0.is_empty() && !self.0.contains(odd) {
            return f.write_str(self.0);
        }
        write!(f, "\"{}\"", self.0.replace('\\', r"\\").replace('"', "\\\""))
    }
}

/// Writes a path, in quotes unless it is one word without a colon.
struct Path<'a>(&'a str);

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains(':') {
            return write!(f, "\"{}\"", self.0.replace('\\', r"\\").replace('"', "\\\""));
        }
        Value(self.0).fmt(f)
    }
}

/// The words of the same query.
impl fmt::Display for JobQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<String> = Vec::new();
        if self.listing != self.ended.map_or(Listing::Live, Ended::listing) {
            words.push(["state:", self.listing.as_str()].concat());
        }
        let texts = [
            ("kind", &self.kind),
            ("queue", &self.queue),
            ("tag", &self.tag),
            ("group", &self.group),
            ("key", &self.key),
            ("error", &self.error),
        ];
        for (name, value) in texts {
            words.extend(value.as_ref().map(|value| format!("{name}:{}", Value(value))));
        }
        words.extend(self.ended.map(|ended| format!("ended:{}", ended.as_str())));
        words.extend(self.worker.map(|worker| format!("worker:{worker:x}")));
        words.extend(self.batch.map(|batch| format!("batch:{batch}")));
        words.extend(self.id.map(|id| format!("id:{id}")));
        for (path, value) in &self.args {
            words.push(format!("args.{}:{}", Path(path), Value(value)));
        }
        f.write_str(&words.join(" "))
    }
}
