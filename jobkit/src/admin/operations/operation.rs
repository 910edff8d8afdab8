//! Actions on all that a filter means, as an operator sees them.

use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::admin::Count;
use crate::admin::dead_letters::DeadLetterSummary;
use crate::admin::jobs::JobSummary;

/// The status of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OperationState {
    /// No worker has begun with it.
    Pending,
    /// More match than one look could count: the rest is being counted, and nothing is changed yet.
    Counting,
    /// Some of it is done.
    Running,
    /// Everything that matched has been looked at.
    Done,
    /// Somebody cancelled it; what was done stays done.
    Cancelled,
    /// The database refused it: [`Operation::error`] says why.
    Failed,
}

impl OperationState {
    /// The state's name, as everything outside Rust has it.
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

    /// Whether there is nothing more to come.
    #[must_use]
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Done | Self::Cancelled | Self::Failed)
    }

    pub(crate) fn of(name: &str) -> Self {
        let others = [Self::Counting, Self::Running, Self::Done, Self::Cancelled, Self::Failed];
        others.into_iter().find(|state| state.as_str() == name).unwrap_or(Self::Pending)
    }
}

/// An action on all that a filter means, and how far it is.
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
    /// Why. Jobs that it ended have it in the history.
    pub reason: Option<String>,
    /// The time of a reschedule; `None` is at once.
    pub run_at: Option<DateTime<Utc>>,
    /// How many jobs or dead letters a second at most; `None` is as many as there can be.
    pub per_second: Option<u32>,
    /// Who began it, by the name they gave.
    pub actor: Option<String>,
    /// What keeps it from being begun twice.
    pub idempotency_key: String,
    /// Its status.
    pub state: OperationState,
    /// How many match; `None` until they are counted. That takes a while where there are many,
    /// so it may be a few more or fewer by the time they are met.
    pub total: Option<u64>,
    /// How many of these have been counted.
    pub counted: u64,
    /// How many were changed as requested.
    pub done: u64,
    /// How many of these were running jobs, which were asked to stop: they end as soon as they do.
    pub stop_requested: u64,
    /// How many could not be changed; for 1,000 of them
    /// [`Admin::operation_results`](crate::Admin::operation_results) says why.
    pub skipped: u64,
    /// Why it failed.
    pub error: Option<String>,
    /// When it was begun.
    pub created_at: DateTime<Utc>,
    /// When a worker came to it.
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
    /// Why not.
    pub outcome: String,
}

/// What an operation would be about.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// How many match.
    pub count: Count,
    /// Five of them, when it is about jobs.
    pub jobs: Vec<JobSummary>,
    /// Five of them, when it is about dead letters.
    pub dead_letters: Vec<DeadLetterSummary>,
}
