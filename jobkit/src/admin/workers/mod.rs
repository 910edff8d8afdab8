//! Workers: what they serve and what they run.

use std::collections::HashMap;

use crate::admin::Admin;
use crate::admin::AdminError;

mod reference;
pub(super) mod statements;
mod worker;

pub use self::reference::{StopRequest, WorkerRef};
pub use self::worker::{GoneWorker, RunningJob, ServedQueue, WorkerDetail, WorkerSummary};

impl Admin {
    /// The first 500 workers by name: live ones, and dead ones whose jobs were not taken back yet.
    pub async fn workers(&self) -> Result<Vec<WorkerSummary>, AdminError> {
        self.ask(&statements::workers(None, false)).await
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
}
