//! Jobs with which a transition fails through no fault of theirs.

use std::fmt;

use chrono::{DateTime, Utc};

use crate::JobId;

pub(super) mod statements;

/// A job with which a transition fails although nothing is wrong with the job: its row is damaged,
/// the disk of its table is full, …; or the worker that claimed it lacks the
/// [key](crate::policy::Policy::encrypt) of its payload. Others go on; this one is tried again and
/// again, and never charged for it. Displayed, it is a sentence without its full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StuckJob {
    /// The job.
    pub job: JobId,
    /// What cannot be done with it: `claim`, `settle`, `release`, `reap` or `promote`; or
    /// `open`, of a payload that is sealed.
    pub transition: String,
    /// What the server says, or the worker.
    pub error: String,
    /// Since when.
    pub since: DateTime<Utc>,
    /// How often it was tried.
    pub tries: u32,
    /// When it is tried again.
    pub retry_at: DateTime<Utc>,
}

impl fmt::Display for StuckJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { transition, error, tries, .. } = self;
        let utc = |time: &DateTime<Utc>| time.format("%Y-%m-%d %H:%M:%S UTC").to_string();
        let (since, next) = (utc(&self.since), utc(&self.retry_at));
        write!(f, "Stuck since {since}: {transition} fails ({error}); try {tries}, next {next}")
    }
}
