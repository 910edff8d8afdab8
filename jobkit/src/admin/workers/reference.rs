//! One worker: looking it up, and asking it to stop.

use super::statements;
use super::worker::{GoneWorker, WorkerDetail};
use crate::admin::Admin;
use crate::admin::AdminError;

/// What [`WorkerRef::stop`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopRequest {
    /// The worker sees it with its next heartbeat.
    Requested,
    /// It was already asked or is already stopping.
    Already,
    /// There is no such worker: it has ended, was reaped, or never existed.
    NotFound,
}

/// A worker of any process, referred to by its id. It need not exist. [`Admin::worker`] returns it.
/// For a worker of this process, use its [`WorkerHandle`](crate::WorkerHandle).
///
/// ```no_run
/// # async fn f(admin: jobkit::Admin) -> Result<(), jobkit::admin::AdminError> {
/// for found in admin.workers().await? {
///     if found.name.starts_with("host-7:") {
///         admin.worker(found.id).stop().await?;
///     }
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// A worker that does not exist is not an error: each method says what it then returns. For the
/// errors of every method, see [`Admin`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is asked or done until one of its methods is awaited"]
pub struct WorkerRef<'a> {
    admin: &'a Admin,
    id: i64,
}

impl Admin {
    /// A worker by its id, to look it up or to stop it.
    pub fn worker(&self, id: i64) -> WorkerRef<'_> {
        WorkerRef { admin: self, id }
    }
}

impl WorkerRef<'_> {
    /// The worker and its running jobs; `None` if it has ended or never existed.
    pub async fn get(self) -> Result<Option<WorkerDetail>, AdminError> {
        let mut link = self.admin.link();
        let summary = link.call(&statements::workers(Some(self.id), false)).await?.pop();
        let jobs = link.call(&statements::worker_jobs(self.id)).await?;
        link.close().await;
        Ok(summary.map(|summary| WorkerDetail { summary, jobs }))
    }

    /// What is kept about the worker if it ended within the last day, because it stopped or its
    /// lease lapsed; `None` if it never existed, still exists, or ended earlier.
    pub async fn gone(self) -> Result<Option<GoneWorker>, AdminError> {
        self.admin.ask(&statements::gone_worker(self.id)).await
    }

    /// Asks the worker to stop. At its next heartbeat it stops as with
    /// [`WorkerHandle::stop`](crate::WorkerHandle::stop): it claims no more jobs, and its handlers
    /// are told and may finish within its stop grace. Handlers that still run are then asked to
    /// stop, dropped after its cancel grace, and their jobs released without charging an attempt.
    /// The worker keeps renewing its lease, and is shown as stopping, until its process ends it.
    /// The process is told through [`WorkerHandle::stopping`](crate::WorkerHandle::stopping), as
    /// [`run_until_signal`](crate::WorkerHandle::run_until_signal) does.
    ///
    /// # Errors
    /// [`AdminError::Busy`] if an open transaction has locked the worker's row for a second.
    pub async fn stop(self) -> Result<StopRequest, AdminError> {
        let stop = statements::stop_worker(self.id, self.admin.actor());
        let outcome = self.admin.ask(&stop).await.map_err(AdminError::or_busy)?;
        Ok(match &*outcome {
            "stop" => StopRequest::Requested,
            "already" => StopRequest::Already,
            _ => StopRequest::NotFound,
        })
    }
}
