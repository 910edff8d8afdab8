use super::{DatabaseError, InvalidValue};

/// Why nothing was enqueued, or published.
///
/// All but [`QueueFull`](Self::QueueFull) and [`Database`](Self::Database) is found before
/// anything is sent, so that your transaction stays usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// The payload does not become JSON, or JSON does not give it back as it was.
    #[error("the payload of `{kind}` does not encode: {source}")]
    Encode {
        /// The job's kind.
        kind: &'static str,
        /// What serde said, or where in the payload it would arrive changed.
        source: serde_json::Error,
    },
    /// What the kind encrypts cannot be sealed.
    #[error(transparent)]
    Encrypt(#[from] EncryptError),
    /// A path that the kind redacts or encrypts leads nowhere in this payload, though there is
    /// something on the way, so it is unclear what in that must not be shown.
    #[error("the payload of `{kind}` cannot be redacted or encrypted: {why}")]
    Misplaced {
        /// The job's kind.
        kind: &'static str,
        /// The path.
        path: String,
        /// What is wrong, and what to do about it; without a value of the payload.
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
    /// One call enqueues more payload than fits in one message to the server. Split the call.
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
    /// An option, a key or the payload is not one that a job may have.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// As many jobs wait in the queue as may.
    #[error(transparent)]
    QueueFull(#[from] QueueFull),
    /// The database did not do it.
    #[error(transparent)]
    Database(DatabaseError),
}

impl From<DatabaseError> for EnqueueError {
    fn from(error: DatabaseError) -> Self {
        QueueFull::of(&error).map_or(Self::Database(error), Self::QueueFull)
    }
}

/// So that a function which begins a transaction, enqueues and commits may return this error.
impl From<sqlx::Error> for EnqueueError {
    fn from(error: sqlx::Error) -> Self {
        DatabaseError::from(error).into()
    }
}

/// As many jobs wait in this queue as may. Nothing was stored, not even the other jobs of a call
/// that enqueues several. Try again later, or do without.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the queue `{queue}` is full: {waiting} jobs are waiting, and its bound is {bound}; nothing \
     was stored, so try again later"
)]
#[non_exhaustive]
pub struct QueueFull {
    /// The queue.
    pub queue: String,
    /// How many of its jobs were waiting at the last count.
    pub waiting: u32,
    /// How many may.
    pub bound: u32,
}

/// What a kind encrypts cannot be sealed; nothing was stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the payload of `{kind}` cannot be encrypted: {why}")]
#[non_exhaustive]
pub struct EncryptError {
    /// The kind.
    pub kind: String,
    /// What is wrong, without a value of the payload.
    pub why: String,
}
