//! Operations, as operators see them.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::admin::Count;
use crate::admin::dead_letters::DeadLetterSummary;
use crate::admin::jobs::JobSummary;

/// The status of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationState {
    /// No worker has started it.
    Pending,
    /// More match than could be counted at once: the rest is being counted, and nothing is changed
    /// yet.
    Counting,
    /// Some of it is done.
    Running,
    /// Everything that matched has been processed.
    Done,
    /// It was cancelled; finished pages stay done.
    Cancelled,
    /// The database refused it: [`Operation::error`] says why.
    Failed,
}

impl OperationState {
    /// The state's name, as used outside Rust.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Counting => "counting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled | Self::Failed)
    }

    pub(crate) fn of(name: &str) -> Self {
        let others = [Self::Counting, Self::Running, Self::Done, Self::Cancelled, Self::Failed];
        others.into_iter().find(|state| state.as_str() == name).unwrap_or(Self::Pending)
    }
}

/// An action on everything that matches a filter, and its progress.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Operation {
    /// The id of the operation; ids ascend, with gaps.
    pub id: i64,
    /// What is done: `cancel`, `discard`, `reschedule`, `replay`, `discard_dead_letters` or
    /// `purge`.
    pub verb: String,
    /// Which jobs or dead letters match, as JSON.
    pub filter: Value,
    /// The reason. It is also in the history of the jobs that the operation ended.
    pub reason: Option<String>,
    /// The time of a reschedule; `None` is now.
    pub run_at: Option<DateTime<Utc>>,
    /// The maximum number of jobs or dead letters per second; `None` is unlimited.
    pub per_second: Option<u32>,
    /// Who began it, by the name they gave.
    pub actor: Option<String>,
    /// The idempotency key, which keeps it from being begun twice.
    pub idempotency_key: String,
    /// Its status.
    pub state: OperationState,
    /// How many match; `None` until they are counted. Counting many takes a while, so there may be
    /// a few more or fewer when they are processed.
    pub total: Option<u64>,
    /// How many have been counted so far.
    pub counted: u64,
    /// How many were changed as requested.
    pub done: u64,
    /// How many of these were running jobs that were asked to stop, and may not have ended yet.
    pub stop_requested: u64,
    /// How many could not be changed; for 1,000 of them
    /// [`OperationRef::results`](super::OperationRef::results) says why.
    pub skipped: u64,
    /// Why it failed.
    pub error: Option<String>,
    /// When it was begun.
    pub created_at: DateTime<Utc>,
    /// When a worker started it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// A job or dead letter that an operation could not change as requested.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OperationResult {
    /// The id of the job or dead letter.
    pub subject: i64,
    /// Why it could not be changed.
    pub outcome: String,
}

/// A preview of an operation.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// How many match.
    pub count: Count,
    /// Five of them, if they are jobs.
    pub jobs: Vec<JobSummary>,
    /// Five of them, if they are dead letters.
    pub dead_letters: Vec<DeadLetterSummary>,
}
