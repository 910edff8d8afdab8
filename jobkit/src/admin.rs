use sqlx::PgPool;
use std::time::Duration;

use crate::store::{CancelMark, CancelTake, Deadlines, JobState, Link};
use crate::{Error, JobId};

/// The operator's view of the queue, for scripts, tests and dashboards.
///
/// Each call uses a connection of its own, made with the pool's options: its isolation level and
/// deadlines are jobkit's, whatever the pool's are.
#[derive(Debug, Clone)]
pub struct Admin {
    pool: PgPool,
}

/// Where a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Its time has not come: a delay, a retry's backoff, a snooze.
    Scheduled,
    /// It may be claimed.
    Ready,
    /// A worker runs it.
    Running,
    /// It has ended: success, discarded or cancelled; kept for its retention.
    Finished,
    /// It is a dead letter.
    Dead,
}

impl State {
    /// The state's name, as everything outside Rust has it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Dead => "dead",
        }
    }

    fn of(name: &str) -> Self {
        match name {
            "scheduled" => Self::Scheduled,
            "running" => Self::Running,
            "finished" => Self::Finished,
            "dead" => Self::Dead,
            _ => Self::Ready,
        }
    }
}

/// A job as [`Admin::job`] finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobSummary {
    /// Its id.
    pub id: JobId,
    /// Where it is.
    pub state: State,
    /// Its stored kind.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// Attempts charged so far.
    pub attempt: u32,
    /// Attempts it has in all.
    pub max_attempts: u32,
    /// The worker that runs it, or ended it.
    pub worker: Option<i64>,
}

/// What [`Admin::cancel`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancelled {
    /// It has ended: as cancelled, unless it was running and just then succeeded.
    Now,
    /// It runs, or is just being taken: its worker has been asked, and whatever becomes of the
    /// attempt but success, the job ends as cancelled.
    Requested,
    /// There is no such live job: it never was, or it has ended.
    NotFound,
}

impl Admin {
    /// How often a cancel looks for a job that is just changing hands.
    const CANCEL_TRIES: u32 = 3;

    /// The view of the database behind this pool.
    #[must_use]
    pub fn new(pool: &PgPool) -> Self {
        Self { pool: pool.clone() }
    }

    fn link(&self) -> Link {
        let call = Duration::from_secs(5);
        Link::new("admin", self.pool.clone(), Deadlines { call, lock: call.mul_f64(0.8) })
    }

    /// Looks a job up, wherever it is; `None` when it never was, or is not kept any more.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::SchemaMissing`], [`Error::Database`].
    pub async fn job(&self, id: JobId) -> Result<Option<JobSummary>, Error> {
        let mut link = self.link();
        let row = link.call(&JobState(id.0)).await?;
        link.close().await;
        Ok(row.map(|row| JobSummary {
            id,
            state: State::of(&row.state),
            kind: row.kind,
            queue: row.queue,
            attempt: u32::try_from(row.attempt).unwrap_or(0),
            max_attempts: u32::try_from(row.max_attempts).unwrap_or(0),
            worker: row.worker_id,
        }))
    }

    /// Cancels a job, whatever its state. A job that waits ends at once; a running one is asked
    /// to stop, by its worker's next heartbeat, and cannot be retried any more.
    ///
    /// # Errors
    /// [`Error::Unreachable`], [`Error::SchemaMissing`], [`Error::Database`].
    pub async fn cancel(&self, id: JobId) -> Result<Cancelled, Error> {
        let mut link = self.link();
        if link.call(&CancelMark(&[id.0])).await?.is_empty() {
            link.close().await;
            return Ok(Cancelled::NotFound);
        }
        let mut cancelled = Cancelled::Requested;
        for attempt in 1..=Self::CANCEL_TRIES {
            let take = CancelTake { jobs: &[id.0], outcome: "cancel", reason: "cancelled" };
            if !link.call(&take).await?.is_empty() {
                // After a miss it may as well have been its own claim that ended it.
                if attempt == 1 {
                    cancelled = Cancelled::Now;
                }
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        link.close().await;
        Ok(cancelled)
    }
}
