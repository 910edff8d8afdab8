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

use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::JobId;
use crate::error::EnqueueError;

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// It succeeded.
    Finished(Output),
    /// It was discarded, for this reason.
    Discarded(String),
    /// It was cancelled, for this reason.
    Cancelled(String),
    /// It used up its attempts or can never run, so it is a dead letter, with this error.
    Dead(String),
    /// There is no record of such a job: its kind keeps no history, its retention is over, or it
    /// never existed.
    NothingKept,
}

/// What a job returned.
#[derive(Clone, PartialEq, Eq)]
pub struct Output {
    pub(crate) json: Option<String>,
    /// Why it is not kept.
    pub(crate) unfit: Option<String>,
}

impl Output {
    /// Its JSON; `None` for a job that returns nothing, or whose result was not kept.
    #[must_use]
    pub fn json(&self) -> Option<&str> {
        self.json.as_deref()
    }

    /// Decodes it as a `T`; for a job that returns nothing, that is `()`.
    ///
    /// # Errors
    /// Why it was not kept, or does not decode as a `T`.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        match (&self.json, &self.unfit) {
            (None, Some(why)) => Err(why.clone()),
            (json, _) => serde_json::from_str(json.as_deref().unwrap_or("null"))
                .map_err(|error| format!("the result does not decode: {error}")),
        }
    }
}

/// Without the JSON, which may contain secrets.
impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.json.as_ref().map(String::len);
        f.debug_struct("Output").field("bytes", &bytes).field("unfit", &self.unfit).finish()
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished(_) => f.write_str("has finished"),
            Self::Discarded(reason) => write!(f, "was discarded: {reason}"),
            Self::Cancelled(reason) => write!(f, "was cancelled: {reason}"),
            Self::Dead(error) => write!(f, "is a dead letter: {error}"),
            Self::NothingKept => f.write_str("has ended, and no record of it is kept"),
        }
    }
}

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
