//! What answers of the server mean: the one place that tells SQLSTATEs apart for the errors of
//! every call.

use std::time::Duration;

use super::text::{full, is_of_a_standby, names_ours};
use super::{DatabaseError, QueueFull, SchemaError};

/// The SQLSTATE of an enqueue to a queue that is full.
pub(crate) const QUEUE_FULL: &str = "JK009";

/// That of a lock that was not to be had in time.
const LOCKED: &str = "55P03";

impl From<sqlx::Error> for DatabaseError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        match &error {
            E::Io(_) | E::Tls(_) | E::PoolTimedOut | E::PoolClosed | E::WorkerCrashed => {
                Self::Unreachable(error)
            }
            E::Database(answer) => match answer.code().as_deref() {
                // Without the schema no function is looked for.
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
    /// What the server says of the queue that is full, if that is what it says.
    pub(crate) fn of(error: &DatabaseError) -> Option<Self> {
        let DatabaseError::Failed(sqlx::Error::Database(answer)) = error else { return None };
        if answer.code().as_deref() != Some(QUEUE_FULL) {
            return None;
        }
        let (queue, waiting, bound) = full(answer.message())?;
        Some(Self { queue, waiting, bound })
    }
}

impl DatabaseError {
    /// No connection came about in this time.
    pub(crate) fn unreachable(deadline: Duration) -> Self {
        let text = format!("no connection within {deadline:?}");
        let error = std::io::Error::new(std::io::ErrorKind::TimedOut, text);
        Self::Unreachable(sqlx::Error::Io(error))
    }

    /// The SQLSTATE of what the server answered.
    pub(crate) fn code(&self) -> Option<String> {
        match self {
            Self::Failed(error) | Self::Unreachable(error) => {
                Some(error.as_database_error()?.code()?.into_owned())
            }
            _ => None,
        }
    }

    /// Whether the history lacks the day of a job's expiry: its table was dropped, to be made anew.
    pub(crate) fn lacks_a_day(&self) -> bool {
        matches!(self, Self::Failed(sqlx::Error::Database(answer))
            if answer.code().as_deref() == Some("23514") && answer.table() == Some("finished"))
    }

    /// Whether a lock was not to be had in time.
    pub(crate) fn is_locked(&self) -> bool {
        self.code().as_deref() == Some(LOCKED)
    }

    /// Whether the server did as it was asked to, and refused: nothing was lost on the way.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Failed(_)) && self.code().is_some()
    }

    /// Whether one row may be the cause, and the same goes well without it: it is damaged, has no
    /// room, lacks what the server asks of it, … What comes and goes without anybody's doing is
    /// another's doing: lost connections, clashes, locks.
    pub(crate) fn may_be_one_row(&self) -> bool {
        let passing = |code: String| code.starts_with("40") || code == LOCKED;
        self.is_answer() && !self.code().is_some_and(passing)
    }

    /// The same, or the unique key of one is in the hands of somebody's open transaction.
    pub(crate) fn may_be_one_job(&self) -> bool {
        self.may_be_one_row() || self.is_locked()
    }

    /// Whether the server refused the statement itself, so that repeating it as it is won't help.
    /// Deadlines, lost connections, lack of resources and clashes with others may pass.
    pub(crate) fn is_final(&self) -> bool {
        match self {
            Self::Failed(_) => !self.code().is_none_or(|code| {
                ["40", "53", "55", "57", "58", "XX"].iter().any(|class| code.starts_with(class))
            }),
            _ => false,
        }
    }
}
