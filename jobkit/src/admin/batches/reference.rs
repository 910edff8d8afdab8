//! One batch: its counts, its callbacks and members, and cancelling it.

use super::batch::{BatchDetail, BatchSummary, Members};
use super::statements;
use crate::admin::jobs::JobSummary;
use crate::admin::{Admin, AdminError};
use crate::{BatchId, JobId, limits};

/// What [`BatchRef::cancel`] achieved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchCancelled {
    /// Nobody adds members from now on, and this operation cancels those that have not ended.
    By(i64),
    /// Nothing was changed: there is no open batch with this id. It never existed or has ended.
    NotFound,
}

/// A batch, referred to by its id. It need not exist. [`Admin::batch`] returns it.
///
/// ```no_run
/// # use jobkit::batch::BatchId;
/// # use jobkit::admin::batches::{BatchCancelled, Members};
/// # async fn f(admin: jobkit::Admin, id: BatchId) -> Result<(), jobkit::admin::AdminError> {
/// let batch = admin.batch(id);
/// if batch.get().await?.is_some_and(|now| now.summary.counts.dead > 100) {
///     println!("{:?}", batch.members(Members::Dead, None, 10).await?);
///     if let BatchCancelled::By(operation) = batch.cancel("too many failures").await? {
///         admin.operation(operation).run().await?;
///     }
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// A batch that does not exist is not an error: each method says what it then returns. For the
/// errors of every method, see [`Admin`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is asked or done until one of its methods is awaited"]
pub struct BatchRef<'a> {
    admin: &'a Admin,
    id: BatchId,
}

impl Admin {
    /// A batch by its id, to look into it or cancel it.
    pub fn batch(&self, id: BatchId) -> BatchRef<'_> {
        BatchRef { admin: self, id }
    }
}

impl BatchRef<'_> {
    /// The batch with its counts and callbacks; `None` if it never existed or is no longer kept.
    pub async fn get(self) -> Result<Option<BatchDetail>, AdminError> {
        let mut link = self.admin.link();
        let summary: Option<BatchSummary> =
            link.call(&statements::batches(Some(self.id.0), None, false, 1)).await?.pop();
        let callbacks = match summary {
            Some(_) => link.call(&statements::callbacks(self.id.0)).await?,
            None => Vec::new(),
        };
        link.close().await;
        Ok(summary.map(|summary| BatchDetail { summary, callbacks }))
    }

    /// Its next 1 to 500 members after this job, in the order of their ids (a `limit` outside this
    /// range is clamped); none for an unknown batch. Members that have ended are listed as long as
    /// they are kept: dead letters, and others for the retention of their kind.
    ///
    /// Jobs end while you page through them: one may appear twice or not at all.
    pub async fn members(
        self,
        which: Members,
        after: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<JobSummary>, AdminError> {
        let which = (which != Members::All).then(|| which.as_str());
        let after = after.map_or(i64::MIN, |job| job.0);
        let mut link = self.admin.list_link();
        let limit = limit.clamp(1, 500).into();
        let jobs = link.call(&statements::members(self.id.0, which, after, limit)).await?;
        link.close().await;
        Ok(jobs)
    }

    /// Cancels the members that have not ended, and keeps others from being added. Workers carry
    /// this out as an [operation](crate::admin::operations), which is in the audit with the reason;
    /// so does [`OperationRef::run`](crate::admin::operations::OperationRef::run). The reason may
    /// be empty. As long as that operation has not ended, another call returns the same one.
    ///
    /// Callbacks are no members: the batch ends as any other does, with cancelled members.
    ///
    /// # Errors
    /// [`AdminError::Invalid`] for the reason; [`AdminError::Busy`] if a transaction that adds
    /// members stays open for longer than a second.
    pub async fn cancel(self, reason: &str) -> Result<BatchCancelled, AdminError> {
        limits::reason(reason)?;
        let reason = Some(reason).filter(|reason| !reason.is_empty());
        let cancel = statements::cancel_batch(self.id.0, reason, self.admin.actor());
        let operation = self.admin.ask(&cancel).await.map_err(AdminError::or_busy)?;
        Ok(operation.map_or(BatchCancelled::NotFound, BatchCancelled::By))
    }
}
