//! Unique jobs: at most one job of a key at a time, and what happens to a duplicate.
//!
//! ```
//! use jobkit::{Enqueue, Job, JobContext, job, unique};
//! # use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! #[job(unique_key = self.account, on_duplicate = replace)]
//! struct SyncAccount {
//!     account: i64,
//!     reason: String,
//! }
//! # impl Job for SyncAccount {
//! #     async fn run(self, _cx: JobContext) -> jobkit::Result { Ok(()) }
//! # }
//! # async fn f(mut tx: sqlx::PgTransaction<'_>) -> Result<(), jobkit::enqueue::EnqueueError> {
//! # let job = SyncAccount { account: 7, reason: "renamed".to_owned() };
//! match job.enqueue_unique(&mut *tx).await? {
//!     unique::Enqueued::New(id) => println!("job {id} will do it"),
//!     unique::Enqueued::Existing(id) => println!("job {id} runs, and was left alone"),
//!     unique::Enqueued::Replaced(id) => println!("job {id} waited, and has this payload now"),
//! }
//! # Ok(()) }
//! ```
//!
//! A key belongs to the kind, or to the named group. It is a row with a unique index, written by
//! the statement that enqueues, so two jobs of a key never both wait or run. The statement waits
//! only for open transactions that work with the same key: another producer that inserts it, a
//! claim of its job, or the end of its job.
//!
//! If the enqueue finds a waiting job with the key, that job does not start until your transaction
//! ends, so it sees what you have written.

use std::str::FromStr;
use std::time::Duration;

use crate::JobId;

/// How long a job holds its unique key. Each of these includes the one before it, and lasts longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum While {
    /// Until a worker claims it, so that changes made while it runs lead to a new job. A retry
    /// takes the key again; if a new job has it by then, the retry ends as superseded by that job.
    Queued,
    /// Until that run ends. While the job waits for another attempt, it gives way to a new job: it
    /// ends as superseded by that job.
    Running,
    /// Until it has ended, through all its attempts.
    #[default]
    Unfinished,
}

impl While {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Unfinished => "unfinished",
        }
    }
}

impl FromStr for While {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Queued, Self::Running, Self::Unfinished];
        let known = all.into_iter().find(|holds| holds.as_str() == text);
        known.ok_or_else(|| "a key must be unique while queued, running or unfinished".to_owned())
    }
}

/// What happens to a job whose unique key another job holds. That other job is not changed while it
/// runs, is blocked for a permit, or replays a dead letter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// It is not enqueued.
    #[default]
    Skip,
    /// If the other job still waits, it gets this job's payload and run time. The other job keeps
    /// its id, queue, priority and attempts. If it waits for another attempt and a third job [runs
    /// again](Self::RunAgain) after it, the third job gets both instead.
    Replace,
    /// If the other job still waits, it gets this job's run time. So with a delay, it runs once
    /// there has been no duplicate for that long.
    Debounce,
    /// As [`Replace`](Self::Replace) if the other job still waits. If that job runs, or is blocked
    /// for a permit, this one is enqueued to run after it has ended, however it ends, and not
    /// before its own time. Further duplicates give this one their payloads and times, also while
    /// the other job waits for another attempt, so the newest always runs last. Only for keys that
    /// are held while unfinished.
    RunAgain,
}

impl OnDuplicate {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Replace => "replace",
            Self::Debounce => "debounce",
            Self::RunAgain => "run_again",
        }
    }
}

impl FromStr for OnDuplicate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [Self::Skip, Self::Replace, Self::Debounce, Self::RunAgain];
        let known = all.into_iter().find(|what| what.as_str() == text);
        known.ok_or_else(|| "on_duplicate must be skip, replace, debounce or run_again".to_owned())
    }
}

/// The options of a type's unique key, see [`Policy`](crate::policy::Policy::unique).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unique {
    /// Kinds that name the same group share their keys; by default the kind itself.
    pub group: &'static str,
    /// How long a job holds its key.
    pub holds: While,
    /// The minimum time for which a job holds its key, from its enqueue and even if it ends sooner:
    /// 1 second to 366 days. A cancelled or discarded job never holds a key.
    pub at_least: Option<Duration>,
    /// What happens to a duplicate.
    pub on_duplicate: OnDuplicate,
}

/// What became of a job that was enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It is this new job; with [`RunAgain`](OnDuplicate::RunAgain), it may have to wait for
    /// another one to end.
    New(JobId),
    /// Nothing has changed: this other job holds the unique key.
    Existing(JobId),
    /// This other job was waiting and has been changed: it holds the unique key, or runs again
    /// after the job that does.
    Replaced(JobId),
}

impl Enqueued {
    /// The job that was enqueued, or that holds the unique key.
    #[must_use]
    pub fn id(self) -> JobId {
        match self {
            Self::New(id) | Self::Existing(id) | Self::Replaced(id) => id,
        }
    }

    /// `enqueued`, `existing` or `replaced`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New(_) => "enqueued",
            Self::Existing(_) => "existing",
            Self::Replaced(_) => "replaced",
        }
    }

    pub(crate) fn of(id: i64, answer: &str) -> Self {
        match answer {
            "existing" => Self::Existing(JobId(id)),
            "replaced" => Self::Replaced(JobId(id)),
            _ => Self::New(JobId(id)),
        }
    }
}
