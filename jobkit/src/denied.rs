use std::time::Duration;

use crate::{Error, StopReason};

/// Why there is no slot of a [limiter](crate::limiter).
///
/// A handler may return it with `?`: a job that is [`Later`](Self::Later) is snoozed until its
/// slot, one that is told to stop is released, and neither is charged an attempt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Denied {
    /// The slot is further away than the job would wait. It is kept for the job, which has to ask
    /// again after this time, in this attempt or in the next: in the last second before its slot.
    #[error("the limiter has no slot for this job for another {0:?}")]
    Later(Duration),
    /// The attempt is to end. What it had waited for is not used.
    #[error("the attempt is being stopped, so it does not wait for a slot")]
    Stopped(StopReason),
    /// No worker has declared this limiter.
    #[error("no worker has declared the limiter `{0}`")]
    Unknown(String),
    /// The database did not answer, or refused.
    #[error(transparent)]
    Failed(#[from] Error),
}
