use super::answer::{BATCH_CLOSED, CALLBACK_EXISTS};
use super::{DatabaseError, InvalidValue};

/// Why nothing was enqueued or published.
///
/// Except for [`QueueFull`](Self::QueueFull), [`BatchClosed`](Self::BatchClosed),
/// [`CallbackExists`](Self::CallbackExists) and [`Database`](Self::Database), nothing was sent, so
/// your transaction stays usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// The payload cannot be encoded as JSON, or would change on the way.
    #[error("the payload of `{kind}` does not encode: {source}")]
    Encode {
        /// The job's kind.
        kind: &'static str,
        /// The error of serde, or which part of the payload would change.
        source: serde_json::Error,
    },
    /// The fields that the kind encrypts cannot be sealed.
    #[error(transparent)]
    Encrypt(#[from] EncryptError),
    /// A path that the kind redacts or encrypts does not match the shape of this payload, so it is
    /// unclear which part must be hidden.
    #[error("the payload of `{kind}` cannot be redacted or encrypted: {why}")]
    Misplaced {
        /// The job's kind.
        kind: &'static str,
        /// The path.
        path: String,
        /// What is wrong and what to do about it, without values of the payload.
        why: String,
    },
    /// A payload is larger than 1 MiB. Store the large part elsewhere and enqueue its key.
    #[error(
        "the payload of `{kind}` has {bytes} bytes, more than the {limit} allowed; store the large \
         part elsewhere and put its key into the job"
    )]
    PayloadTooLarge {
        /// The job's kind.
        kind: &'static str,
        /// Size of the payload as JSON text.
        bytes: usize,
        /// The largest size allowed.
        limit: usize,
    },
    /// The payloads of one call do not fit in one message to the server. Split the call.
    #[error(
        "the payloads of one call have {bytes} bytes, more than the {limit} allowed; split the \
         jobs over several calls in one transaction"
    )]
    BatchTooLarge {
        /// Size of all payloads together.
        bytes: usize,
        /// The largest size allowed.
        limit: usize,
    },
    /// An option, a key or the payload is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// The batch takes no more members: it was closed or cancelled, or has ended.
    #[error("the batch takes no more jobs: {0}")]
    BatchClosed(String),
    /// Another job has the unique key of a callback, so the batch was not enqueued. Give each
    /// batch a callback with a key of its own, or none.
    #[error("the batch was not enqueued: {0}; give its callback a unique key of its own, or none")]
    CallbackExists(String),
    /// The queue is full.
    #[error(transparent)]
    QueueFull(#[from] QueueFull),
    /// A database call failed.
    #[error(transparent)]
    Database(DatabaseError),
}

impl From<DatabaseError> for EnqueueError {
    fn from(error: DatabaseError) -> Self {
        match (error.code().as_deref(), error.message()) {
            (Some(BATCH_CLOSED), Some(why)) => Self::BatchClosed(why),
            (Some(CALLBACK_EXISTS), Some(why)) => Self::CallbackExists(why),
            _ => QueueFull::of(&error).map_or(Self::Database(error), Self::QueueFull),
        }
    }
}

/// For functions that begin a transaction, enqueue and commit, and return this error.
impl From<sqlx::Error> for EnqueueError {
    fn from(error: sqlx::Error) -> Self {
        DatabaseError::from(error).into()
    }
}

/// The queue is full: the number of its waiting jobs has reached its limit. Nothing was stored, not
/// even the other jobs of a call that enqueues several. Try again later, or skip the job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the queue `{queue}` is full: {waiting} jobs are waiting, and its limit is {limit}; nothing \
     was stored, so try again later"
)]
#[non_exhaustive]
pub struct QueueFull {
    /// The queue.
    pub queue: String,
    /// The number of its waiting jobs at the last count.
    pub waiting: u32,
    /// How many jobs may wait in it.
    pub limit: u32,
}

/// The fields that a kind encrypts cannot be sealed. Nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the payload of `{kind}` cannot be encrypted: {why}")]
#[non_exhaustive]
pub struct EncryptError {
    /// The kind.
    pub kind: String,
    /// What is wrong, without values of the payload.
    pub why: String,
}
