//! Jobs: searching them, looking one up, and changing one.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use self::statements::OneJob;
use crate::admin::AdminError;
use crate::admin::{Admin, let_hands_change};
use crate::enqueue::wait::End;
use crate::store::Link;
use crate::{JobId, limits};

mod detail;
mod enqueue;
pub(super) mod list;
mod query;
mod report;
pub(super) mod statements;
mod summary;

pub use self::detail::JobDetail;
pub use self::enqueue::{ByKind, ByNameError};
pub use self::query::{JobQuery, Listing, QueryError};
pub use self::report::{AttemptReport, Checkpoint, LogLine, Progress};
pub use self::summary::{CursorError, Ended, JobCursor, JobPage, JobSummary, State};

/// What [`Admin::cancel`] or [`Admin::discard`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancelled {
    /// It has ended as requested, unless it was running and just then succeeded.
    Now,
    /// It runs, or is just being taken: its worker has been asked, and whatever becomes of the
    /// attempt but success, the job ends as cancelled.
    Requested,
    /// There is no such live job: it never existed or has ended.
    NotFound,
}

/// What [`Admin::reschedule`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rescheduled {
    /// It has its new time.
    Moved,
    /// It runs or is just being claimed: it stays as it is.
    Running,
    /// It is marked as cancelled: it stays as it is, and will only end.
    CancelRequested,
    /// There is no such live job: it never existed or has ended.
    NotFound,
}

impl Admin {
    /// Looks up a job in any state; `None` if it never existed or is no longer kept.
    pub async fn job(&self, id: JobId) -> Result<Option<JobDetail>, AdminError> {
        let mut link = self.list_link();
        let mut job = None;
        // Between the two lookups it may move from one place to the other, and even back.
        for attempt in 0..Self::TRIES {
            let_hands_change(attempt).await;
            job = link.call(&OneJob(id.0)).await?;
            if job.is_some() {
                break;
            }
        }
        link.close().await;
        Ok(job)
    }

    /// Waits at most this long until a job has ended, and says how it ended; `None` if it has not.
    /// All waits of an `Admin` and its clones share two connections, which are open while somebody
    /// waits. See [`wait`](crate::enqueue::wait).
    ///
    /// # Errors
    /// [`Deadline`](crate::error::DatabaseError::Deadline) if the database could not be asked by
    /// then.
    pub async fn await_end(&self, id: JobId, within: Duration) -> Result<Option<End>, AdminError> {
        Ok(self.waits.end_of(id, within).await?)
    }

    /// Cancels a job in any state. A waiting job ends at once, and a permit it holds goes to the
    /// next job of its key. A running one is asked to stop at its worker's next heartbeat, and is
    /// never retried.
    pub async fn cancel(&self, id: JobId) -> Result<Cancelled, AdminError> {
        self.end(id, "cancel", "cancelled").await
    }

    /// Discards a job: like [`cancel`](Self::cancel), but the history has it as discarded for this
    /// reason (4,096 bytes at most). A running job is only asked to stop; unless it succeeds, it
    /// ends as cancelled, without the reason.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the reason.
    pub async fn discard(&self, id: JobId, reason: &str) -> Result<Cancelled, AdminError> {
        limits::reason(reason)?;
        self.end(id, "discard", reason).await
    }

    async fn end(
        &self,
        id: JobId,
        outcome: &'static str,
        reason: &str,
    ) -> Result<Cancelled, AdminError> {
        let mut link = self.link();
        let detail = json!({ "reason": (outcome == "discard").then_some(reason) });
        let mark = statements::cancel_mark(&[id.0], outcome, self.actor(), &detail);
        if link.call(&mark).await?.is_empty() {
            link.close().await;
            return Ok(Cancelled::NotFound);
        }
        let mut cancelled = Cancelled::Requested;
        for attempt in 0..Self::TRIES {
            let_hands_change(attempt).await;
            let take = statements::cancel_take(&[id.0], outcome, reason);
            if !link.call(&take).await?.is_empty() {
                // If it is not found, its own claim may have ended it.
                if attempt == 0 {
                    cancelled = Cancelled::Now;
                }
                break;
            }
        }
        link.close().await;
        Ok(cancelled)
    }

    /// Reschedules a waiting job; `None` or a time in the past means now. A permit it holds goes to
    /// the next job of its key, and the job acquires one again when it is due.
    ///
    /// # Errors
    /// [`AdminError::Busy`] if a transaction holds it all the while, such as that of a producer
    /// that found it by its unique key.
    pub async fn reschedule(
        &self,
        id: JobId,
        at: Option<DateTime<Utc>>,
    ) -> Result<Rescheduled, AdminError> {
        let at = at.map(limits::run_at).transpose()?;
        let mut link = self.link();
        let rescheduled = reschedule(&mut link, id, at, self.actor()).await?;
        link.close().await;
        Ok(rescheduled)
    }
}

async fn reschedule(
    link: &mut Link,
    id: JobId,
    run_at: Option<DateTime<Utc>>,
    actor: Option<&str>,
) -> Result<Rescheduled, AdminError> {
    let reschedule = statements::reschedule(&[id.0], run_at, actor, &Value::Null);
    // A claim may hold a job for 100 ms before it puts it back.
    for attempt in 0..6 {
        let_hands_change(attempt).await;
        if !link.call(&reschedule).await?.is_empty() {
            return Ok(Rescheduled::Moved);
        }
        let Some(job) = link.call(&statements::job_state(id.0)).await? else {
            return Ok(Rescheduled::NotFound);
        };
        match job.state {
            State::Finished | State::Dead => return Ok(Rescheduled::NotFound),
            _ if job.cancel_requested => return Ok(Rescheduled::CancelRequested),
            State::Running => return Ok(Rescheduled::Running),
            State::Scheduled | State::Ready | State::Blocked => {}
        }
    }
    Err(AdminError::Busy)
}
