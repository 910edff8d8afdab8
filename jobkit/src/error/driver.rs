//! Errors of drivers other than sqlx 0.9, classified in the same way.

use std::borrow::Cow;
use std::error::Error as StdError;
use std::fmt;

use sqlx::error::{DatabaseError, ErrorKind};

use super::EnqueueError;

impl EnqueueError {
    /// The error for the server's answer to a [`Statement`](crate::enqueue::Statement) that another
    /// driver sent, classified as the errors of sqlx are: `sqlstate` is its five-character code, if
    /// the driver exposes it, and `message` is its text. The driver's error is among the
    /// [sources](StdError::source).
    pub fn answered(
        sqlstate: Option<&str>,
        message: &str,
        error: impl StdError + Send + Sync + 'static,
    ) -> Self {
        let (sqlstate, message) = (sqlstate.map(str::to_owned), message.to_owned());
        let answer = Answer { sqlstate, message, error: Box::new(error) };
        Self::from(sqlx::Error::Database(Box::new(answer)))
    }

    /// The error for a missing answer: the driver lost its connection or could not connect.
    pub fn unanswered(error: impl StdError + Send + Sync + 'static) -> Self {
        Self::from(sqlx::Error::Io(std::io::Error::other(error)))
    }
}

/// The server's answer, as another driver exposes it.
#[derive(Debug)]
struct Answer {
    sqlstate: Option<String>,
    message: String,
    error: Box<dyn StdError + Send + Sync>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Answer {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.error)
    }
}

impl DatabaseError for Answer {
    fn message(&self) -> &str {
        &self.message
    }

    fn code(&self) -> Option<Cow<'_, str>> {
        self.sqlstate.as_deref().map(Cow::from)
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        match self.sqlstate.as_deref() {
            Some("23505") => ErrorKind::UniqueViolation,
            Some("23503") => ErrorKind::ForeignKeyViolation,
            Some("23502") => ErrorKind::NotNullViolation,
            Some("23514") => ErrorKind::CheckViolation,
            _ => ErrorKind::Other,
        }
    }
}
