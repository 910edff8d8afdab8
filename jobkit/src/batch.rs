//! Batches: sets of jobs with a callback, which runs once all of them have ended.
//!
//! ```no_run
//! # use jobkit::{Batch, Job, JobContext, job};
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # #[job] struct ReadPage { document: i64, page: u32 }
//! # impl Job for ReadPage { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # #[job] struct Merge { document: i64 }
//! # impl Job for Merge { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
//! # async fn f(mut tx: sqlx::PgTransaction<'_>) -> Result<(), jobkit::enqueue::EnqueueError> {
//! let document = 7;
//! Batch::of((1..=200).map(|page| ReadPage { document, page }))
//!     .then(Merge { document })
//!     .enqueue(&mut tx)
//!     .await?;
//! tx.commit().await?;
//! # Ok(()) }
//! ```
//!
//! The jobs of a batch are its *members*. A member ends when it finishes, is discarded, cancelled
//! or coalesced, expires, is superseded, or becomes a dead letter; a retry is no end. A callback is
//! an ordinary job, with its own queue, priority and keys. It exists from the start, so it can be
//! seen and cancelled, and becomes ready exactly once, usually within 50 ms of the last end.
//!
//! Millions of members are added page by page, by [`open`](Batch::open) and
//! [`add`](OpenBatch::add). A member may add members while it runs
//! ([`JobContext::add_to_batch`](crate::JobContext::add_to_batch)). A callback reads how its batch
//! ended ([`JobContext::batch_end`](crate::JobContext::batch_end)) and what its members returned.

mod callback;
mod member;

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use tracing::Instrument;

pub use crate::batch_end::BatchEnd;
use crate::enqueue::{Draft, drafts, enqueued, parts};
use crate::error::EnqueueError;
pub use crate::id::BatchId;
use crate::store::{self, Call, NewJob};
pub use crate::unique::Enqueued;

/// A set of jobs to be enqueued together, and what runs once they have ended.
#[derive(Debug, Default)]
#[must_use = "nothing is enqueued until `enqueue` or `open` is called and awaited"]
pub struct Batch {
    members: Vec<Draft>,
    callbacks: Vec<(&'static str, Draft)>,
    hold_dead: bool,
}

impl Batch {
    /// A batch of these jobs, plain or with [options](crate::Enqueue::options). Jobs of other kinds
    /// are added by [`with`](Self::with).
    pub fn of<J: Into<Draft>>(jobs: impl IntoIterator<Item = J>) -> Self {
        Self::default().with(jobs)
    }

    /// A batch that has no jobs yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds more jobs, of any kind.
    pub fn with<J: Into<Draft>>(mut self, jobs: impl IntoIterator<Item = J>) -> Self {
        self.members.extend(jobs.into_iter().map(Into::into));
        self
    }

    /// Runs this job when all members have ended, however they did. The last one set counts.
    pub fn then(self, callback: impl Into<Draft>) -> Self {
        self.callback("then", callback.into())
    }

    /// Runs this job when all members have finished successfully. If one ended otherwise, it is
    /// discarded.
    pub fn then_if_all(self, callback: impl Into<Draft>) -> Self {
        self.callback("if_all", callback.into())
    }

    /// Runs this job as soon as a member becomes a dead letter, while others may still run. If none
    /// does, it is discarded when the batch ends.
    pub fn or_else(self, callback: impl Into<Draft>) -> Self {
        self.callback("else", callback.into())
    }

    /// Keeps the batch open while a member is a dead letter: it ends once that is resolved by a
    /// replay, which counts as finished, or discarded.
    pub fn hold_dead(self) -> Self {
        Self { hold_dead: true, ..self }
    }

    fn callback(mut self, role: &'static str, callback: Draft) -> Self {
        self.callbacks.retain(|(other, _)| *other != role);
        self.callbacks.push((role, callback));
        self
    }

    /// Enqueues the batch in your transaction. (Outside of one, each statement would be its own,
    /// and behind a transaction pooler fail.) Without members, it ends at once and its callbacks
    /// run.
    ///
    /// It takes a statement for the callbacks and one for every 10,000 members. It waits for no
    /// lock, unless a job has a [unique key](crate::unique). A job that is skipped because another
    /// one has its unique key is no member.
    ///
    /// # Errors
    /// Those of [`Enqueue::enqueue`](crate::Enqueue::enqueue), of any member or callback;
    /// [`EnqueueError::CallbackExists`]; [`EnqueueError::Database`] if a callback has a delay or a
    /// coalesce key. After an error, roll your transaction back.
    pub async fn enqueue(
        mut self,
        connection: &mut PgConnection,
    ) -> Result<EnqueuedBatch, EnqueueError> {
        let members = drafts(std::mem::take(&mut self.members))?;
        let batch = self.create(connection).await?;
        let jobs = batch.add_parts(members, None, true, connection).await?;
        Ok(EnqueuedBatch { id: batch.id, jobs })
    }

    /// Creates the batch and leaves it open, so that more members can be [added](OpenBatch::add),
    /// in this transaction or in later ones. It ends only after it is [closed](OpenBatch::close).
    ///
    /// # Errors
    /// Those of [`enqueue`](Self::enqueue).
    pub async fn open(mut self, connection: &mut PgConnection) -> Result<OpenBatch, EnqueueError> {
        let members = drafts(std::mem::take(&mut self.members))?;
        let batch = self.create(connection).await?;
        if !members.is_empty() {
            batch.add_parts(members, None, false, connection).await?;
        }
        Ok(batch)
    }

    async fn create(self, connection: &mut PgConnection) -> Result<OpenBatch, EnqueueError> {
        let (roles, callbacks): (Vec<_>, Vec<_>) = self.callbacks.into_iter().unzip();
        let callbacks = drafts(callbacks)?;
        let span = tracing::debug_span!("jobkit.open_batch");
        let id = store::open_batch(&callbacks, &roles, self.hold_dead, connection);
        Ok(OpenBatch { id: BatchId(id.instrument(span).await?) })
    }
}

/// A batch that was enqueued.
#[derive(Debug, Clone)]
pub struct EnqueuedBatch {
    id: BatchId,
    jobs: Vec<Enqueued>,
}

impl EnqueuedBatch {
    /// The id of the batch.
    #[must_use]
    pub fn id(&self) -> BatchId {
        self.id
    }

    /// What became of each job, in the order given. Only [new](Enqueued::New) ones are members.
    #[must_use]
    pub fn jobs(&self) -> &[Enqueued] {
        &self.jobs
    }
}

/// A batch to which its creator may still add members. It can be stored or sent in a payload, to be
/// filled elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OpenBatch {
    id: BatchId,
}

impl OpenBatch {
    /// The id of the batch.
    #[must_use]
    pub fn id(self) -> BatchId {
        self.id
    }

    /// Enqueues more members. Until your transaction ends, the batch does not.
    ///
    /// # Errors
    /// Those of [`Batch::enqueue`]; [`EnqueueError::BatchClosed`] if the batch was closed or
    /// cancelled, or has ended.
    pub fn add<'c, J: Into<Draft>>(
        self,
        jobs: impl IntoIterator<Item = J>,
        connection: &'c mut PgConnection,
    ) -> impl Future<Output = Result<Vec<Enqueued>, EnqueueError>> + Send + 'c {
        // Before the future is created, so that it is Send even if the iterator is not.
        let members = drafts(jobs);
        async move { self.add_parts(members?, None, false, connection).await }
    }

    /// Says that there are no more members to come: the batch ends when all have ended. Closing it
    /// twice changes nothing.
    ///
    /// # Errors
    /// [`EnqueueError::Database`].
    pub async fn close(self, connection: &mut PgConnection) -> Result<(), EnqueueError> {
        Ok(store::close_batch(self.id.0).call(connection).await?)
    }

    /// Adds members in as many statements as they need, and perhaps closes the batch in the last
    /// one.
    async fn add_parts(
        self,
        members: Vec<NewJob>,
        member: Option<i64>,
        close: bool,
        connection: &mut PgConnection,
    ) -> Result<Vec<Enqueued>, EnqueueError> {
        let (mut added, parts) = (Vec::with_capacity(members.len()), parts(&members)?);
        let last = parts.len() - 1;
        for (at, part) in parts.into_iter().enumerate() {
            let (batch, jobs) = (self.id.0, part.len());
            let span = tracing::debug_span!("jobkit.add_to_batch", batch, jobs);
            let close = close && at == last;
            let answers = store::add_to_batch(batch, part, member, close, connection);
            let answers = answers.instrument(span).await?;
            added.extend(enqueued(part, answers));
        }
        Ok(added)
    }
}
