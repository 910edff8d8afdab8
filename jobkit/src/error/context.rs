use super::{BUSY, DatabaseError, InvalidValue};

/// Why a handler did not get what it asked its [`JobContext`](crate::JobContext) for.
///
/// Each method names the variants that it may return. A handler returns it with `?`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// This attempt no longer holds its job; another attempt may be running it by now.
    #[error("this attempt has lost its job; nothing was stored")]
    ClaimLost,
    /// Somebody has cancelled the job: it is not completed, and ends as cancelled.
    #[error("the job was cancelled; it was not completed")]
    Cancelled,
    /// A job cannot be completed in this transaction: at its isolation level it may decide on what
    /// was true before it waited. Begin it as READ COMMITTED, the default.
    #[error(
        "a job can only be completed in a READ COMMITTED transaction; do not raise the isolation \
         level, or complete in another transaction"
    )]
    Isolation,
    /// The transaction does not see the job that its handler wants to complete, although the worker
    /// holds it.
    #[error(
        "this transaction does not see the job; begin it in the database of the worker (in a test \
         whose own transaction has the job: share that connection with the handler, and drain \
         through a mutex)"
    )]
    OtherDatabase,
    /// Somebody else's open transaction has held the job for a second. Try again later.
    #[error("{BUSY}")]
    Busy,
    /// A checkpoint does not become JSON, or the last one does not read as the requested type.
    #[error("the checkpoint cannot be encoded, or is not of the requested type: {0}")]
    Checkpoint(#[source] serde_json::Error),
    /// A checkpoint is too large, or a time too long.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// The database did not do it.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl ContextError {
    /// What the database has against a completion.
    pub(crate) fn of_completion(error: DatabaseError) -> Self {
        match error.code().as_deref() {
            Some("JK002") => Self::Isolation,
            _ if error.is_locked() => Self::Busy,
            _ => Self::Database(error),
        }
    }
}
