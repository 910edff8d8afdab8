//! Batches, as operators see them.

use chrono::{DateTime, Utc};

use crate::admin::jobs::{Ended, State};
use crate::batch::BatchEnd;
use crate::{BatchId, JobId};

/// The status of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchState {
    /// It has not been closed: whoever opened it may add members, and it cannot end.
    Open,
    /// It was closed, and ends when all members have ended.
    Closed,
    /// All live members have ended, and dead letters keep it open.
    Held,
    /// It was cancelled, and some members have not ended.
    Cancelling,
    /// It was cancelled, and has ended.
    Cancelled,
    /// All members have ended.
    Ended,
}

impl BatchState {
    /// The state's name, as used outside Rust.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::Held => "held",
            Self::Cancelling => "cancelling",
            Self::Cancelled => "cancelled",
            Self::Ended => "ended",
        }
    }

    /// Whether it has ended.
    #[must_use]
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Cancelled | Self::Ended)
    }
}

/// A batch in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchSummary {
    /// Its id.
    pub id: BatchId,
    /// When it was opened.
    pub created_at: DateTime<Utc>,
    /// When it was closed; from then on only its members add members.
    pub closed_at: Option<DateTime<Utc>>,
    /// When it was cancelled.
    pub cancelled_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
    /// Whether dead letters [keep it open](crate::Batch::hold_dead).
    pub hold_dead: bool,
    /// The callback for any [end](crate::Batch::then).
    pub then: Option<JobId>,
    /// The callback for the case that [all members succeed](crate::Batch::then_if_all).
    pub then_if_all: Option<JobId>,
    /// The callback for the first [dead letter](crate::Batch::or_else).
    pub or_else: Option<JobId>,
    /// How many members there are, and how they ended. If workers lag behind in adding up more than
    /// 10,000 changes, these are the numbers of an earlier moment.
    pub counts: BatchEnd,
    /// How many dead letters keep it open; they are among [`BatchEnd::dead`].
    pub held: u64,
}

impl BatchSummary {
    /// Its status.
    #[must_use]
    pub fn state(&self) -> BatchState {
        match (self.cancelled_at.is_some(), self.ended_at.is_some()) {
            (true, true) => BatchState::Cancelled,
            (true, false) => BatchState::Cancelling,
            (false, true) => BatchState::Ended,
            (false, false) if self.closed_at.is_none() => BatchState::Open,
            (false, false) if self.held > 0 && self.counts.open() == 0 => BatchState::Held,
            (false, false) => BatchState::Closed,
        }
    }
}

/// A batch with its callbacks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchDetail {
    /// The fields shown in a list.
    pub summary: BatchSummary,
    /// Its callbacks, in the order of [`CallbackRole`].
    pub callbacks: Vec<Callback>,
}

/// When a callback runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CallbackRole {
    /// When all members have ended: [`Batch::then`](crate::Batch::then).
    Then,
    /// When all members have succeeded: [`Batch::then_if_all`](crate::Batch::then_if_all).
    ThenIfAll,
    /// When a member becomes a dead letter: [`Batch::or_else`](crate::Batch::or_else).
    OrElse,
}

impl CallbackRole {
    /// Its name: `then`, `then_if_all` or `or_else`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Then => "then",
            Self::ThenIfAll => "then_if_all",
            Self::OrElse => "or_else",
        }
    }

    /// By the role's name in the database.
    pub(crate) fn of(role: &str) -> Self {
        match role {
            "if_all" => Self::ThenIfAll,
            "else" => Self::OrElse,
            _ => Self::Then,
        }
    }
}

/// A callback of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Callback {
    /// When it runs.
    pub role: CallbackRole,
    /// The job.
    pub job: JobId,
    /// Its kind; `None` if the job is no longer kept.
    pub kind: Option<String>,
    /// Where it is; `scheduled` while it waits for the batch.
    pub state: Option<State>,
    /// How it ended, if it is finished.
    pub ended: Option<Ended>,
}

/// Which members of a batch are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Members {
    /// All that are live or kept.
    #[default]
    All,
    /// Those that have not ended.
    Live,
    /// Ended ones that are kept in the history, however they ended.
    Finished,
    /// Those that became dead letters.
    Dead,
}

impl Members {
    /// All of these.
    pub const ALL: [Self; 4] = [Self::All, Self::Live, Self::Finished, Self::Dead];

    /// The name: `all`, `live`, `finished` or `dead`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Live => "live",
            Self::Finished => "finished",
            Self::Dead => "dead",
        }
    }
}
