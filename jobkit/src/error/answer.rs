//! What the server's responses mean. Only this module maps SQLSTATEs to errors.

use std::time::Duration;

use super::text::{full, is_of_a_standby, names_ours};
use super::{DatabaseError, QueueFull, SchemaError};

/// The SQLSTATE of an enqueue to a queue that is full.
pub(crate) const QUEUE_FULL: &str = "JK009";

/// The SQLSTATE of jobs for a batch that takes no more.
pub(super) const BATCH_CLOSED: &str = "JK011";

/// The SQLSTATE of a callback whose unique key is taken.
pub(super) const CALLBACK_EXISTS: &str = "JK012";

/// The SQLSTATE of a lock that was not available in time.
const LOCKED: &str = "55P03";

impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        match &error {
            E::Io(_) | E::Tls(_) | E::PoolTimedOut | E::PoolClosed | E::WorkerCrashed => {
                Self::Unreachable(error)
            }
            E::Database(answer) => match answer.code().as_deref() {
                // Without the schema, the server does not even look for the function.
                Some("3F000" | "42P01") if names_ours(answer.message()) => {
                    SchemaError::Missing.into()
                }
                Some("42883") if names_ours(answer.message()) => SchemaError::Unfit.into(),
                Some("25006") => Self::ReadOnly,
                Some("0A000") if is_of_a_standby(&**answer) => Self::ReadOnly,
                Some(code) if code.starts_with("08") || code.starts_with("57P") => {
                    Self::Unreachable(error)
                }
                _ => Self::Failed(error),
            },
            _ => Self::Failed(error),
        }
    }
}

impl QueueFull {
    /// The full queue, if that is the server's answer.
    pub(crate) fn of(error: &DatabaseError) -> Option<Self> {
        let DatabaseError::Failed(sqlx::Error::Database(answer)) = error else { return None };
        if answer.code().as_deref() != Some(QUEUE_FULL) {
            return None;
        }
        let (queue, waiting, limit) = full(answer.message())?;
        Some(Self { queue, waiting, limit })
    }
}

impl DatabaseError {
    /// There was no connection within this time.
    pub(crate) fn unreachable(deadline: Duration) -> Self {
        let text = format!("no connection within {deadline:?}");
        let error = std::io::Error::new(std::io::ErrorKind::TimedOut, text);
        Self::Unreachable(sqlx::Error::Io(error))
    }

    /// The SQLSTATE of the server's answer.
    pub(crate) fn code(&self) -> Option<String> {
        match self {
            Self::Failed(error) | Self::Unreachable(error) => {
                Some(error.as_database_error()?.code()?.into_owned())
            }
            _ => None,
        }
    }

    /// What the server said, without our name.
    pub(super) fn message(&self) -> Option<String> {
        let Self::Failed(error) = self else { return None };
        let message = error.as_database_error()?.message();
        Some(message.strip_prefix("jobkit: ").unwrap_or(message).to_owned())
    }

    /// Whether the history has no table for the day of a job's expiry: it was dropped and is to be
    /// created again.
    pub(crate) fn lacks_a_day(&self) -> bool {
        matches!(self, Self::Failed(sqlx::Error::Database(answer))
            if answer.code().as_deref() == Some("23514") && answer.table() == Some("finished"))
    }

    /// Whether a lock was not available in time.
    pub(crate) fn is_locked(&self) -> bool {
        self.code().as_deref() == Some(LOCKED)
    }

    /// Whether the server itself refused the call: neither the call nor the answer was lost.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Failed(_)) && self.code().is_some()
    }

    /// Whether a single row may be the cause, so that the same call may succeed without it: the row
    /// is damaged, does not fit, violates a constraint, … Lost connections, serialization failures
    /// and locks pass and have other causes.
    pub(crate) fn may_be_one_row(&self) -> bool {
        let passing = |code: String| code.starts_with("40") || code == LOCKED;
        self.is_answer() && !self.code().is_some_and(passing)
    }

    /// The same, or an open transaction holds the unique key of a job.
    pub(crate) fn may_be_one_job(&self) -> bool {
        self.may_be_one_row() || self.is_locked()
    }

    /// Whether the server refused the statement itself, so that a retry does not help. Deadlines,
    /// lost connections, lack of resources and conflicts with other transactions may pass.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Failed(_) => !self.code().is_none_or(|code| {
                ["40", "53", "55", "57", "58", "XX"].iter().any(|class| code.starts_with(class))
            }),
            _ => false,
        }
    }
}
