use std::time::Duration;

use crate::StopReason;
use crate::error::{DatabaseError, InvalidValue};

/// Why there is no slot of a [limiter](crate::limiter).
///
/// A handler may return it with `?`: [`Later`](Self::Later) snoozes the job until its slot,
/// [`Stopped`](Self::Stopped) releases it, and neither charges an attempt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Denied {
    /// The slot comes later than the job may wait. It is kept for the job, which has to ask again
    /// after this time, in this attempt or in the next: within the last second before its slot.
    #[error("the limiter has no slot for this job for another {0:?}")]
    Later(Duration),
    /// The attempt is being stopped. The slot that it waited for stays unused.
    #[error("the attempt is being stopped, so it does not wait for a slot")]
    Stopped(StopReason),
    /// No worker has declared this limiter.
    #[error("no worker has declared the limiter `{0}`")]
    Unknown(String),
    /// The name or the key of the limiter is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidValue),
    /// A database call failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}
