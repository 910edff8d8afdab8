//! Unique jobs: at most one job of a key at a time, and what becomes of a duplicate.
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
//! # async fn f(mut tx: sqlx::PgTransaction<'_>) -> Result<(), jobkit::Error> {
//! # let job = SyncAccount { account: 7, reason: "renamed".to_owned() };
//! match job.enqueue_unique(&mut *tx).await? {
//!     unique::Enqueued::New(id) => println!("job {id} will do it"),
//!     unique::Enqueued::Existing(id) => println!("job {id} runs, and was left alone"),
//!     unique::Enqueued::Replaced(id) => println!("job {id} waited, and has this payload now"),
//! }
//! # Ok(()) }
//! ```
//!
//! A key belongs to a kind, or to the group that is named. It is a row with a unique index, written
//! by the statement that enqueues, so that two of a key never both wait or run. The statement waits
//! for open transactions that have the same key in hand, and for nothing else: another producer's
//! that inserts it, a claim or the end of its job.
//!
//! A job that was found to wait stays where it is until your transaction ends: it runs after what
//! you write is there.

use std::str::FromStr;
use std::time::Duration;

use crate::JobId;

/// How long a job has its unique key. Each has what the one before it has, and more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum While {
    /// Until a worker claims it: what changes while it runs is for a new job. A retry has the key
    /// again; if a new job has it by then, the retry ends as superseded by that job.
    Queued,
    /// Until that run ends. While it waits for another attempt it yields: a new job takes its
    /// place, and it ends as superseded by that job.
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

/// What becomes of a job whose unique key another one has. That one is not changed while it runs,
/// is blocked for a permit, or replays a dead letter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// It is not enqueued.
    #[default]
    Skip,
    /// The other one gets its payload, and its time to run at, if it still waits. It keeps its id,
    /// its queue, its priority and its attempts. Where it waits for another attempt and a third one
    /// [runs again](Self::RunAgain) after it, that one gets both.
    Replace,
    /// The other one gets its time to run at, if it still waits: with a delay it runs once there
    /// was no duplicate for so long.
    Debounce,
    /// As [`Replace`](Self::Replace) if the other one still waits. If it runs, or is blocked for a
    /// permit, this one is enqueued to run once it has ended, however it ends, and not before its
    /// time; and further duplicates give that one their payloads and times, also while the other
    /// waits for another attempt: so what runs last is the newest of its kind. For keys that are
    /// held while unfinished.
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

/// What jobs of a type with a unique key ask for, see [`Policy`](crate::policy::Policy::unique).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unique {
    /// Kinds that name the same group share their keys; by default the kind itself.
    pub group: &'static str,
    /// How long a job has its key.
    pub holds: While,
    /// How long it has it at least, from its enqueue on, though it has ended by then: 1 second to
    /// 366 days. A cancelled or discarded job has none in any case.
    pub at_least: Option<Duration>,
    /// What becomes of a duplicate.
    pub on_duplicate: OnDuplicate,
}

/// What became of a job that was enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It is this job; with [`RunAgain`](OnDuplicate::RunAgain) perhaps once another one has ended.
    New(JobId),
    /// Nothing has changed: this job has its unique key.
    Existing(JobId),
    /// This job waited, and has been changed: it has the unique key, or runs again after the one
    /// that has.
    Replaced(JobId),
}

impl Enqueued {
    /// The job that was enqueued, or that has the unique key.
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
