//! Workers: what they serve and what they run.

use super::Admin;
use crate::Error;
use crate::observed::worker::{WorkerDetail, WorkerSummary};
use crate::store::{WorkerJobs, Workers};

impl Admin {
    /// The workers by name, the first 500: those that are alive, and those that are not but whose
    /// jobs nobody has taken back yet.
    ///
    /// # Errors
    /// As all of [`Admin`].
    pub async fn workers(&self) -> Result<Vec<WorkerSummary>, Error> {
        self.ask(&Workers::default()).await
    }

    /// A worker and what it runs; `None` when it has ended, or never was.
    ///
    /// # Errors
    /// As all of [`Admin`].
    pub async fn worker(&self, id: i64) -> Result<Option<WorkerDetail>, Error> {
        let mut link = self.link();
        let summary = link.call(&Workers { only: Some(id), late: false }).await?.pop();
        let jobs = link.call(&WorkerJobs(id)).await?;
        link.close().await;
        Ok(summary.map(|summary| WorkerDetail { summary, jobs }))
    }
}
