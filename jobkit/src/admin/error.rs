use crate::error::{BUSY, DatabaseError, EncryptError, InvalidValue};

/// Why a call of [`Admin`](crate::Admin) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// Another open transaction has locked this for a second. Try again later.
    #[error("{BUSY}")]
    Busy,
    /// A dead letter that is being replayed cannot be removed: cancel the jobs that replay it
    /// first.
    #[error("dead letters that are being replayed cannot be removed; cancel their jobs first")]
    Replaying,
    /// A payload cannot be sealed, because a key is missing.
    #[error(transparent)]
    Encrypt(#[from] EncryptError),
    /// A text, a number or a time is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// A database call failed, or the version of the schema does not match.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl AdminError {
    /// This error, or [`Busy`](Self::Busy) for a lock that was not available in time.
    pub(super) fn or_busy(self) -> Self {
        match self {
            Self::Database(error) if error.is_locked() => Self::Busy,
            error => error,
        }
    }
}
