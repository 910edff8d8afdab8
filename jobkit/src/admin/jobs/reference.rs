//! One job: looking it up, waiting for its end, and changing it.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::detail::JobDetail;
use super::statements::{self, OneJob};
use super::summary::State;
use crate::admin::AdminError;
use crate::admin::{Admin, let_hands_change};
use crate::enqueue::wait::End;
use crate::store::Link;
use crate::{JobId, limits};

/// What [`JobRef::cancel`] or [`JobRef::discard`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancelled {
    /// It has ended as requested, unless it was running and just then succeeded.
    Now,
    /// It is running or just being claimed: its worker is asked to stop it. Unless the attempt
    /// succeeds, the job ends as cancelled.
    Requested,
    /// There is no such live job: it never existed or has ended.
    NotFound,
}

/// What [`JobRef::reschedule`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Rescheduled {
    /// It was moved to the new time.
    Moved,
    /// Nothing was changed: it is running or just being claimed.
    Running,
    /// Nothing was changed: it is marked as cancelled, and will only end.
    CancelRequested,
    /// There is no such live job: it never existed or has ended.
    NotFound,
}

/// A job, referred to by its id. It need not exist. [`Admin::job`] returns it.
///
/// ```no_run
/// # use jobkit::{Admin, JobId};
/// # use jobkit::admin::AdminError;
/// # async fn f(admin: Admin, id: JobId) -> Result<(), AdminError> {
/// let job = admin.job(id);
/// if let Some(found) = job.get().await?
///     && found.summary.kind == "charge_card"
/// {
///     job.discard("paid by hand").await?;
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// A job that does not exist is not an error: each method says what it then returns. For the errors
/// of every method, see [`Admin`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is asked or done until one of its methods is awaited"]
pub struct JobRef<'a> {
    pub(in crate::admin) admin: &'a Admin,
    pub(in crate::admin) id: JobId,
}

impl Admin {
    /// A job by its id, to look it up or to change it.
    pub fn job(&self, id: JobId) -> JobRef<'_> {
        JobRef { admin: self, id }
    }
}

impl JobRef<'_> {
    /// Looks up the job in any state; `None` if it never existed or is no longer kept.
    pub async fn get(self) -> Result<Option<JobDetail>, AdminError> {
        let mut link = self.admin.list_link();
        let mut job = None;
        // Between the two lookups it may move from one place to the other, and even back.
        for attempt in 0..Admin::TRIES {
            let_hands_change(attempt).await;
            job = link.call(&OneJob(self.id.0)).await?;
            if job.is_some() {
                break;
            }
        }
        link.close().await;
        Ok(job)
    }

    /// Waits until the job has ended, at most this long, and returns how it ended; `None` if it has
    /// not. All waits of an `Admin` and its clones share two connections, which are open while
    /// somebody waits. See [`wait`](crate::enqueue::wait).
    ///
    /// # Errors
    /// [`Deadline`](crate::error::DatabaseError::Deadline) if the database could not be queried by
    /// then.
    pub async fn await_end(self, within: Duration) -> Result<Option<End>, AdminError> {
        Ok(self.admin.waits.end_of(self.id, within).await?)
    }

    /// Cancels the job in any state. A waiting job ends at once, and a permit it holds goes to the
    /// next job of its key. A running one is asked to stop at its worker's next heartbeat, and is
    /// never retried.
    pub async fn cancel(self) -> Result<Cancelled, AdminError> {
        self.end("cancel", "cancelled").await
    }

    /// Discards the job: like [`cancel`](Self::cancel), but the history has it as discarded for
    /// this reason (4,096 bytes at most). A running job is only asked to stop; unless it succeeds,
    /// it ends as cancelled, without the reason.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the reason.
    pub async fn discard(self, reason: &str) -> Result<Cancelled, AdminError> {
        limits::reason(reason)?;
        self.end("discard", reason).await
    }

    async fn end(self, outcome: &'static str, reason: &str) -> Result<Cancelled, AdminError> {
        let Self { admin, id } = self;
        let mut link = admin.link();
        let detail = json!({ "reason": (outcome == "discard").then_some(reason) });
        let mark = statements::cancel_mark(&[id.0], outcome, admin.actor(), &detail);
        if link.call(&mark).await?.is_empty() {
            link.close().await;
            return Ok(Cancelled::NotFound);
        }
        let mut cancelled = Cancelled::Requested;
        for attempt in 0..Admin::TRIES {
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

    /// Reschedules the job if it waits; `None` or a time in the past means now. A permit it holds
    /// goes to the next job of its key, and the job acquires one again when it is due.
    ///
    /// # Errors
    /// [`AdminError::Busy`] if another transaction keeps it locked, such as one of a producer that
    /// found it by its unique key.
    pub async fn reschedule(self, at: Option<DateTime<Utc>>) -> Result<Rescheduled, AdminError> {
        let at = at.map(limits::run_at).transpose()?;
        let mut link = self.admin.link();
        let rescheduled = reschedule(&mut link, self.id, at, self.admin.actor()).await?;
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
