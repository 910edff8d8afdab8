//! What a callback learns of its batch.

use crate::batch_end::BatchEnd;
use crate::end::End;
use crate::error::ContextError;
use crate::{BatchId, JobContext, JobId};

/// The most members of one page.
const PAGE: usize = 10_000;

impl<S> JobContext<S> {
    /// How the batch ended of which this job is a callback; `None` if it is a callback of none. In
    /// a replay of a dead callback, it is the same batch.
    ///
    /// # Errors
    /// [`ContextError::Database`].
    pub async fn batch_end(&self) -> Result<Option<BatchEnd>, ContextError> {
        match &self.attempt.reach {
            Some(reach) => Ok(reach.batch_end(self.id()).await?),
            None => Ok(None),
        }
    }

    /// The members of a batch that have ended, page by page in the order of their ids: the next
    /// ones after this job, as many as you ask for, up to 10,000. Each has how it ended, with its
    /// result, as [`End`] has it.
    ///
    /// These are the members whose record is kept: dead letters, and others for as long as their
    /// kind's `retention` says. So give the kind of the members one that outlasts the batch.
    ///
    /// ```
    /// # use jobkit::JobContext;
    /// # use jobkit::enqueue::wait::End;
    /// # async fn run(cx: JobContext) -> jobkit::Result {
    /// let Some(batch) = cx.batch_end().await? else { return Ok(()) };
    /// let mut after = None;
    /// loop {
    ///     let page = cx.batch_members(batch.id, after, 1_000).await?;
    ///     for (job, end) in &page {
    ///         if let End::Finished(output) = end {
    ///             println!("job {job} returned {:?}", output.json());
    ///         }
    ///     }
    ///     let Some((last, _)) = page.last() else { return Ok(()) };
    ///     after = Some(*last);
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ContextError::Database`].
    pub async fn batch_members(
        &self,
        batch: BatchId,
        after: Option<JobId>,
        rows: usize,
    ) -> Result<Vec<(JobId, End)>, ContextError> {
        let Some(reach) = &self.attempt.reach else { return Ok(Vec::new()) };
        let rows = i64::try_from(rows.min(PAGE)).unwrap_or(i64::MAX);
        Ok(reach.members_ended(batch, after.map_or(0, |job| job.0), rows).await?)
    }
}
