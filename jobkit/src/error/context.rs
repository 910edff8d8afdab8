use super::{BUSY, DatabaseError, InvalidValue};

/// Why a call of [`JobContext`](crate::JobContext) failed.
///
/// Each method lists the variants that it may return. A handler may return this error with `?`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContextError {
    /// This attempt no longer holds its job; another attempt may be running it by now.
    #[error("this attempt has lost its job; nothing was stored")]
    ClaimLost,
    /// The job was cancelled: it is not completed, and ends as cancelled.
    #[error("the job was cancelled; it was not completed")]
    Cancelled,
    /// The isolation level of this transaction is too high to complete a job in it: after waiting
    /// for a lock, the transaction would decide on an outdated snapshot. Begin it as READ
    /// COMMITTED, the default.
    #[error(
        "a job can only be completed in a READ COMMITTED transaction; do not raise the isolation \
         level, or complete in another transaction"
    )]
    Isolation,
    /// The transaction does not see the job, although the worker holds it: it was begun in another
    /// database.
    #[error(
        "this transaction does not see the job; begin it in the worker's database (in a test that \
         enqueued the job in a transaction of its own, share that connection with the handler, and \
         drain through a mutex)"
    )]
    OtherDatabase,
    /// Another open transaction has locked the job for a second. Try again later.
    #[error("{BUSY}")]
    Busy,
    /// A checkpoint cannot be encoded as JSON, or the last one is not of the requested type.
    #[error("the checkpoint cannot be encoded, or is not of the requested type: {0}")]
    Checkpoint(#[source] serde_json::Error),
    /// The value of a step cannot be encoded as JSON, or the stored one is not of the requested
    /// type: another version of the handler stored it. Give the step another name when its type
    /// changes.
    #[error(
        "the value of the step `{name}` cannot be encoded, or the stored one is not of the \
         requested type: {source}; give a step whose type changes another name"
    )]
    Step {
        /// The step.
        name: String,
        /// The error of serde.
        source: serde_json::Error,
    },
    /// This attempt has used the name of the step before.
    #[error(
        "the step `{0}` was used twice in one attempt; give each step a name of its own, in a loop \
         with the number of the turn"
    )]
    StepTwice(String),
    /// A checkpoint, a value or a name is too large, or a time too long.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// A database call failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl ContextError {
    /// The error for a failed completion.
    pub(crate) fn of_completion(error: DatabaseError) -> Self {
        match error.code().as_deref() {
            Some("JK002") => Self::Isolation,
            _ if error.is_locked() => Self::Busy,
            _ => Self::Database(error),
        }
    }
}
