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
    pub async fn add_to_batch<J: Into<Draft>>(
        &self,
        jobs: impl IntoIterator<Item = J> + Send,
        connection: &mut PgConnection,
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        let none = || EnqueueError::BatchClosed(format!("job {} is in no batch", self.id()));
        let batch = OpenBatch { id: self.batch().ok_or_else(none)? };
        let members = drafts(jobs)?;
        batch.add_parts(members, Some(self.id().0), false, connection).await
    }
}
