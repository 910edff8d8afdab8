//! Stuck jobs: transitions that fail through no fault of the job.

use std::fmt;

use chrono::{DateTime, Utc};

use crate::JobId;

pub(super) mod statements;

/// A job for which a transition fails through no fault of the job: its row is damaged, the disk of
/// its table is full, …; or the worker that claimed it lacks the
/// [key](crate::policy::Policy::encrypt) of its payload. Other jobs go on. The transition is
/// retried again and again, and no attempt is charged. Displayed, it is a sentence without a full
/// stop.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StuckJob {
    /// The job.
    pub job: JobId,
    /// The transition that fails: `claim`, `settle`, `release`, `reap` or `promote`; or `open`, for
    /// a sealed payload.
    pub transition: String,
    /// The error of the server or of the worker.
    pub error: String,
    /// When it first failed.
    pub since: DateTime<Utc>,
    /// How often the transition was tried.
    pub tries: u32,
    /// When the transition is tried again.
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
