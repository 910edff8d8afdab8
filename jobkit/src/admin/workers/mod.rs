//! Workers: what they serve and what they run.

use std::collections::HashMap;

use crate::admin::Admin;
use crate::admin::AdminError;

pub(super) mod statements;
mod worker;

pub use self::worker::{GoneWorker, RunningJob, ServedQueue, WorkerDetail, WorkerSummary};

/// What [`Admin::stop_worker`] achieved.
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

impl Admin {
    /// The first 500 workers by name: live ones, and dead ones whose jobs were not taken back yet.
    pub async fn workers(&self) -> Result<Vec<WorkerSummary>, AdminError> {
        self.ask(&statements::workers(None, false)).await
    }

    /// A worker and its running jobs; `None` if it has ended or never existed.
    pub async fn worker(&self, id: i64) -> Result<Option<WorkerDetail>, AdminError> {
        let mut link = self.link();
        let summary = link.call(&statements::workers(Some(id), false)).await?.pop();
        let jobs = link.call(&statements::worker_jobs(id)).await?;
        link.close().await;
        Ok(summary.map(|summary| WorkerDetail { summary, jobs }))
    }

    /// A worker that ended within the last day, because it stopped or its lease lapsed; `None` if
    /// there is no such worker, it is still there, or it ended earlier.
    pub async fn gone_worker(&self, id: i64) -> Result<Option<GoneWorker>, AdminError> {
        self.ask(&statements::gone_worker(id)).await
    }

    /// The names of workers by id, including those that ended within the last day. Only the first
    /// 500 ids are looked up.
    pub async fn worker_names(&self, ids: &[i64]) -> Result<HashMap<i64, String>, AdminError> {
        let ids = &ids[..ids.len().min(500)];
        if ids.is_empty() {
            return Ok(HashMap::new());
        }
        let names = self.ask(&statements::worker_names(ids)).await?;
        Ok(names.into_iter().collect())
    }

    /// Asks a worker to stop. From its next heartbeat it stops as by
    /// [`WorkerHandle::stop`](crate::WorkerHandle::stop): it claims no more, and its handlers are
    /// told and may end within its stop grace. After that they are asked to stop, dropped after its
    /// cancel grace, and released without charging an attempt. It keeps renewing its lease, and is
    /// shown as stopping, until its process ends it. The process learns of it by
    /// [`WorkerHandle::stopping`](crate::WorkerHandle::stopping), as
    /// [`run_until_signal`](crate::WorkerHandle::run_until_signal) does.
    ///
    /// # Errors
    /// [`AdminError::Busy`] if an open transaction has locked the worker's row for a second.
    pub async fn stop_worker(&self, id: i64) -> Result<StopRequest, AdminError> {
        let stop = statements::stop_worker(id, self.actor());
        let outcome = self.ask(&stop).await.map_err(AdminError::or_busy)?;
        Ok(match &*outcome {
            "stop" => StopRequest::Requested,
            "already" => StopRequest::Already,
            _ => StopRequest::NotFound,
        })
    }
}
