use crate::error::{BUSY, DatabaseError, EncryptError, InvalidValue};

/// Why an operator did not get what they asked [`Admin`](crate::Admin) for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// Somebody else's open transaction has held this for a second. Try again later.
    #[error("{BUSY}")]
    Busy,
    /// A dead letter that is being replayed cannot be removed: cancel the jobs that replay it
    /// first.
    #[error("dead letters that are being replayed cannot be removed; cancel their jobs first")]
    Replaying,
    /// What a kind encrypts cannot be sealed.
    #[error(transparent)]
    Encrypt(#[from] EncryptError),
    /// A text, a number or a time is not one that it may be.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// The database did not do it, or has no schema that fits.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl AdminError {
    /// This error; but a lock that was not to be had in time is called what it is.
    pub(super) fn or_busy(self) -> Self {
        match self {
            Self::Database(error) if error.is_locked() => Self::Busy,
            error => error,
        }
    }
}
