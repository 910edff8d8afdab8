//! Dead letters, as operators see them.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::cause::CauseNote;
use crate::JobId;
use crate::admin::{Count, Payload};

/// The id of a dead letter: unique in its database, never used twice, with gaps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeadLetterId(pub i64);

impl fmt::Display for DeadLetterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The state of a dead letter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeadLetterState {
    /// It waits to be replayed or discarded.
    #[default]
    Open,
    /// A job replays it: its success resolves the dead letter, any other end opens it again.
    Replaying,
    /// A replay has succeeded.
    Resolved,
}

impl DeadLetterState {
    /// The state's name, as used outside Rust.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Replaying => "replaying",
            Self::Resolved => "resolved",
        }
    }

    pub(crate) fn of(name: &str) -> Self {
        let others = [Self::Replaying, Self::Resolved];
        others.into_iter().find(|state| state.as_str() == name).unwrap_or(Self::Open)
    }
}

/// Why a job became a dead letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeadReason {
    /// Its attempts were used up.
    Exhausted,
    /// Its next retry would have come after its time for retries ([`Policy::retry_for`]) was over.
    ///
    /// [`Policy::retry_for`]: crate::policy::Policy::retry_for
    OutOfTime,
    /// Its handler said that no retry can help.
    Dead,
    /// Its payload did not decode, even in its last attempt, or another part of its row could not
    /// be read.
    Undecodable,
    /// Its worker died during its last attempt.
    Crashed,
}

impl DeadReason {
    /// The reason's name, as used outside Rust.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exhausted => "exhausted",
            Self::OutOfTime => "out_of_time",
            Self::Dead => "dead",
            Self::Undecodable => "undecodable",
            Self::Crashed => "crashed",
        }
    }

    pub(crate) fn of(name: &str) -> Self {
        let others = [Self::OutOfTime, Self::Dead, Self::Undecodable, Self::Crashed];
        others.into_iter().find(|reason| reason.as_str() == name).unwrap_or(Self::Exhausted)
    }
}

/// A dead letter in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetterSummary {
    /// Its id.
    pub id: DeadLetterId,
    /// Its state.
    pub state: DeadLetterState,
    /// The stored kind of its jobs.
    pub kind: String,
    /// The queue of the job that failed last.
    pub queue: String,
    /// The dead-letter key that its jobs share; `None` if it belongs to a single job.
    pub key: Option<String>,
    /// Why the last job was buried.
    pub reason: DeadReason,
    /// The beginning of its last error, 300 characters at most.
    pub error: String,
    /// Identifies failures with the same cause, judged by their error texts.
    pub fingerprint: String,
    /// How often a job was buried here.
    pub cycles: u32,
    /// Attempts of all its jobs in total.
    pub attempts: u32,
    /// When a job was first buried here.
    pub first_failed_at: DateTime<Utc>,
    /// When a job was last buried here.
    pub failed_at: DateTime<Utc>,
}

/// A page of dead letters.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeadLetterPage {
    /// The entries, the newest failure first. There may be none although more pages follow.
    pub entries: Vec<DeadLetterSummary>,
    /// The entry after which the next page begins; `None` on the last page.
    pub next: Option<DeadLetterCursor>,
}

/// A position in a list of dead letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeadLetterCursor {
    /// When the dead letter before it failed last.
    pub failed_at: DateTime<Utc>,
    /// The id of that dead letter.
    pub id: DeadLetterId,
}

/// The open dead letters that share a cause, judged by the texts of their errors.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetterGroup {
    /// Their fingerprint, for
    /// [`DeadLetterFilter::fingerprint`](super::DeadLetterFilter::fingerprint).
    pub fingerprint: String,
    /// The stored kind of their jobs.
    pub kind: String,
    /// How many there are, counted up to 1,000.
    pub count: Count,
    /// The one that failed last.
    pub sample: DeadLetterId,
    /// The beginning of its error, 300 characters at most.
    pub error: String,
    /// When the oldest one failed.
    pub first_failed_at: DateTime<Utc>,
    /// When the last one failed.
    pub last_failed_at: DateTime<Utc>,
    /// How many of them failed in each of the last 24 hours, the oldest hour first, among the
    /// latest 1,000 failures.
    pub lately: Vec<u32>,
    /// The note written with [`CauseRef::note`](super::CauseRef::note).
    pub note: Option<CauseNote>,
    /// When its [mute](super::CauseRef::mute) ends, if it is muted.
    pub muted_until: Option<DateTime<Utc>>,
}

/// A dead letter with everything stored about it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The fields shown in a list, where its error is shortened.
    pub summary: DeadLetterSummary,
    /// The last error in full, 16 KiB at most.
    pub error: String,
    /// The failed attempts of all its jobs, oldest first: the last 20, at most 64 KiB.
    pub errors: Vec<FailedAttempt>,
    /// How often it was open: an outcome of a replay counts only for the generation it replays.
    pub generation: u32,
    /// The job that failed last.
    pub job: JobId,
    /// The job that replays it, or the last one that did.
    pub replay: Option<JobId>,
    /// When it is replayed automatically; `None` if an operator has to do it.
    pub replay_at: Option<DateTime<Utc>>,
    /// When a replay succeeded, while it is resolved.
    pub resolved_at: Option<DateTime<Utc>>,
    /// The priority of the job that failed last, −3 to 3; smaller goes first.
    pub priority: i16,
    /// The maximum number of attempts of that job.
    pub max_attempts: u32,
    /// Attempts charged to it.
    pub attempt: u32,
    /// How often it was snoozed.
    pub snoozes: u32,
    /// When it was enqueued.
    pub created_at: DateTime<Utc>,
    /// The worker of its last attempt.
    pub worker: Option<i64>,
    /// Its concurrency group and key.
    pub concurrency: Option<(String, String)>,
    /// The version of its payload, which a replay keeps.
    pub version: u16,
    /// Its payload, with which a replay runs by default.
    pub args: Payload,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its metadata.
    pub metadata: Option<Payload>,
}

/// An attempt that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedAttempt {
    /// The job.
    pub job: JobId,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// What became of the job: `retry`, `bury` or `crash`.
    pub outcome: String,
    /// The error.
    pub error: String,
    /// The Rust type of the error, if it has one.
    pub error_type: Option<String>,
    /// The worker that ran it.
    pub worker: Option<i64>,
    /// When it ended.
    pub ended_at: DateTime<Utc>,
    /// How long it took; `None` after a crash.
    pub took: Option<Duration>,
}
