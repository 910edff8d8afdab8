//! Waiting for a job to end, and for its result.
//!
//! ```
//! # use std::time::Duration;
//! # use jobkit::{Enqueue, Job, JobContext, job};
//! # use jobkit::enqueue::wait::WaitError;
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # struct Quote { cents: i64 }
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # #[job(result = Quote)]
//! # struct FetchQuote { from: String }
//! # impl Job for FetchQuote {
//! #     async fn run(self, _: JobContext) -> jobkit::Result<Quote> { Ok(Quote { cents: 1 }) }
//! # }
//! # async fn f(pool: sqlx::PgPool) -> Result<(), WaitError> {
//! let job = FetchQuote { from: "Berlin".to_owned() };
//! let quote = job.enqueue_and_wait(&pool, Duration::from_secs(5)).await?;
//! println!("{} cents", quote.cents);
//! # Ok(()) }
//! ```
//!
//! All waits of a process on one database share one listening connection, and a job that nobody
//! waits for sends no notification. In case a notification is missed, there is a check every two
//! seconds.

pub(crate) mod hub;

use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::JobId;
pub use crate::end::{End, Output};
use crate::error::EnqueueError;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WaitError {
    /// The job was not enqueued, as far as we know.
    #[error(transparent)]
    NotEnqueued(#[from] EnqueueError),
    /// The job has not ended in time, or the database could not be queried. The job goes on:
    /// [`JobRef::await_end`](crate::admin::jobs::JobRef::await_end) waits for it again.
    #[error("job {job} has not ended within {within:?}")]
    TimedOut {
        /// The job.
        job: JobId,
        /// How long it was waited for.
        within: Duration,
    },
    /// The job ended without success, or no record of it is kept.
    #[error("job {job} {end}")]
    Ended {
        /// The job.
        job: JobId,
        /// How it ended.
        end: End,
    },
    /// The job succeeded, but its result is not kept or does not decode.
    #[error("job {job} has finished: {why}")]
    Unreadable {
        /// The job.
        job: JobId,
        /// Why there is no result.
        why: String,
    },
}

/// What such a job returned, once it has ended.
pub(crate) fn output<T: DeserializeOwned>(
    job: JobId,
    end: Option<End>,
    within: Duration,
) -> Result<T, WaitError> {
    match end {
        Some(End::Finished(output)) => {
            output.read().map_err(|why| WaitError::Unreadable { job, why })
        }
        Some(end) => Err(WaitError::Ended { job, end }),
        None => Err(WaitError::TimedOut { job, within }),
    }
}
