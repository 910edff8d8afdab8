//! What a member does with its batch.

use sqlx::PgConnection;

use super::OpenBatch;
use crate::enqueue::{Draft, drafts};
use crate::error::EnqueueError;
use crate::unique::Enqueued;
use crate::{BatchId, JobContext};

impl<S> JobContext<S> {
    /// The [batch](crate::batch) of which this job is a member.
    #[must_use]
    pub fn batch(&self) -> Option<BatchId> {
        self.attempt.facts.batch
    }

    /// Adds members to the batch of this job, in your transaction. The batch does not end before
    /// that transaction does.
    ///
    /// An attempt that fails after the commit adds them again when it is retried, as any enqueue
    /// of a handler does: give them [unique keys](crate::unique) if that matters.
    ///
    /// # Errors
    /// Those of [`Batch::enqueue`](crate::Batch::enqueue); [`EnqueueError::BatchClosed`] if this
    /// job is no member of a batch, no longer runs, or the batch was cancelled.
    pub fn add_to_batch<'c, J: Into<Draft>>(
        &self,
        jobs: impl IntoIterator<Item = J>,
        connection: &'c mut PgConnection,
    ) -> impl Future<Output = Result<Vec<Enqueued>, EnqueueError>> + Send + 'c {
        let members = drafts(jobs);
        let (id, batch) = (self.id(), self.batch());
        async move {
            let none = || EnqueueError::BatchClosed(format!("job {id} is in no batch"));
            let batch = OpenBatch { id: batch.ok_or_else(none)? };
            batch.add_parts(members?, Some(id.0), false, connection).await
        }
    }
}
