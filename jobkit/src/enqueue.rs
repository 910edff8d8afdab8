//! Enqueueing jobs: the types and traits that go with [`Enqueue`] and [`enqueue_all`].

pub(crate) mod draft;
pub(crate) mod options;
pub(crate) mod statement;
mod topic;
pub mod wait;

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::PgPool;
use tracing::Instrument;

use self::options::Overrides;
pub use self::options::Pending;
pub use self::statement::Statement;
pub use self::topic::Topic;
#[doc(hidden)]
pub use self::topic::subscribed;
use crate::enqueue::wait::WaitError;
pub use crate::error::enqueue::EnqueueError;
use crate::hooks::{Sent, sent};
use crate::job_type::JobType;
use crate::limits::BATCH_BYTES;
use crate::meter;
pub use crate::store::Executor;
use crate::store::NewJob;
use crate::terms::Terms;
use crate::unique::Enqueued;
use crate::{JobId, store};

/// Enqueues jobs; implemented for every struct with `#[job]`.
pub trait Enqueue: JobType + Serialize + DeserializeOwned + Send + Sized {
    /// Enqueues the job: it exists if and only if the transaction of `executor` commits.
    ///
    /// `executor` is what you would pass to a sqlx query: `&pool`, `&mut *tx` (note the `*`) or
    /// `&mut *connection`. This is one statement that only inserts, so it waits for no lock (but
    /// see [`enqueue_unique`](Self::enqueue_unique)).
    ///
    /// It notifies sleeping workers. PostgreSQL cannot prepare a transaction that has notified
    /// (`PREPARE TRANSACTION`): to prepare yours, first run `set local jobkit.notify = 'off'` in
    /// it. The job is then found by the next poll.
    ///
    /// A handler gets exactly what was enqueued: the payload is read back once, and if that fails
    /// or yields a different value (NaN, which JSON lacks; a `u128` in a tagged enum), the call
    /// returns [`EnqueueError::Encode`], which names the field. (A release build reads back only
    /// payloads of at most 1 KiB, and larger ones that contain a null or a number of 19 digits or
    /// more.)
    ///
    /// # Errors
    /// [`EnqueueError::Encode`], [`EnqueueError::Encrypt`], [`EnqueueError::Misplaced`],
    /// [`EnqueueError::PayloadTooLarge`] and [`EnqueueError::Invalid`] before anything is sent, so
    /// that your transaction stays usable; [`EnqueueError::QueueFull`]; otherwise
    /// [`EnqueueError::Database`], but never for a deadline. If that is [`SchemaError::Missing`],
    /// [`migrate`](crate::migrate()) has not run; if it is [`SchemaError::Unfit`], it has to run
    /// again, or the schema is too new for this binary.
    ///
    /// [`SchemaError::Missing`]: crate::error::SchemaError::Missing
    /// [`SchemaError::Unfit`]: crate::error::SchemaError::Unfit
    fn enqueue<'c, X: Executor<'c>>(
        self,
        executor: X,
    ) -> impl Future<Output = Result<JobId, EnqueueError>> + Send {
        self.options().enqueue(executor)
    }

    /// Enqueues a job with a [unique key](crate::unique), and returns whether it is new or another
    /// job has the key. It may wait for an open transaction that is working with the same key, and
    /// for nothing else. ([`enqueue`](Self::enqueue) returns the id of whichever job has the key.)
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    fn enqueue_unique<'c, X: Executor<'c>>(
        self,
        executor: X,
    ) -> impl Future<Output = Result<Enqueued, EnqueueError>> + Send {
        self.options().enqueue_unique(executor)
    }

    /// Enqueues the job, waits at most this long for it to end, and returns its result. The job is
    /// committed before the wait, so this takes a pool and not a transaction. See [`wait`].
    ///
    /// # Errors
    /// A [`WaitError`] if the job has not ended by then, or did not succeed.
    fn enqueue_and_wait(
        self,
        pool: &PgPool,
        within: Duration,
    ) -> impl Future<Output = Result<Self::Output, WaitError>> + Send {
        self.options().enqueue_and_wait(pool, within)
    }

    /// Overrides the type's policy for this job: a delay, a queue, tags, ….
    fn options(self) -> Pending<Self> {
        Pending::new(self)
    }
}

impl<J: JobType + Serialize + DeserializeOwned + Send> Enqueue for J {}

/// Enqueues any number of jobs in one statement, and returns their ids in the same order.
///
/// Items are jobs of one type, plain or with [options](Enqueue::options).
///
/// ```no_run
/// # use jobkit::{Enqueue, Job, JobContext, job};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # #[job] struct Welcome { user: i64 }
/// # impl Job for Welcome { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
/// # async fn f(mut tx: sqlx::PgTransaction<'_>) -> Result<(), jobkit::enqueue::EnqueueError> {
/// jobkit::enqueue_all((1..=500).map(|user| Welcome { user }.options()), &mut *tx).await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// As [`Enqueue::enqueue`]; none of the jobs is enqueued then. [`EnqueueError::BatchTooLarge`]
/// above 256 MB of payload: split the jobs over several calls in one transaction.
pub fn enqueue_all<'c, J, I, X>(
    jobs: I,
    executor: X,
) -> impl Future<Output = Result<Vec<JobId>, EnqueueError>> + Send
where
    J: Into<Draft>,
    I: IntoIterator<Item = J>,
    X: Executor<'c>,
{
    let all = enqueue_all_unique(jobs, executor);
    async move { Ok(all.await?.into_iter().map(Enqueued::id).collect()) }
}

/// Enqueues any number of jobs in one statement, as [`enqueue_all`] does, and returns what became
/// of each, in the same order. If several of them have the same unique key, the first is enqueued
/// and the others are its duplicates.
///
/// # Errors
/// As [`enqueue_all`].
pub fn enqueue_all_unique<'c, J, I, X>(
    jobs: I,
    executor: X,
) -> impl Future<Output = Result<Vec<Enqueued>, EnqueueError>> + Send
where
    J: Into<Draft>,
    I: IntoIterator<Item = J>,
    X: Executor<'c>,
{
    // Collected before the future is created, so that it is Send even if the iterator is not.
    let drafts = drafts(jobs);
    async move { enqueue_drafts(drafts?, executor).await }
}

/// The jobs as they are stored.
pub(crate) fn drafts<J: Into<Draft>>(
    jobs: impl IntoIterator<Item = J>,
) -> Result<Vec<NewJob>, EnqueueError> {
    let mut jobs: Vec<NewJob> =
        jobs.into_iter().map(|job| job.into().0).collect::<Result<_, _>>()?;
    Terms::carry(jobs.iter_mut().map(|job| &mut job.terms));
    Ok(jobs)
}

/// A job ready to be stored, as [`enqueue_all`] takes it.
#[derive(Debug)]
pub struct Draft(pub(crate) Result<NewJob, EnqueueError>);

impl<J: JobType + Serialize + DeserializeOwned + Send> From<J> for Draft {
    fn from(job: J) -> Self {
        Self(NewJob::new(&job, Overrides::default()))
    }
}

impl<J: JobType + Serialize + DeserializeOwned + Send> From<Pending<J>> for Draft {
    fn from(pending: Pending<J>) -> Self {
        Self(pending.draft())
    }
}

pub(crate) async fn enqueue_drafts<'c, X: Executor<'c>>(
    drafts: Vec<NewJob>,
    executor: X,
) -> Result<Vec<Enqueued>, EnqueueError> {
    if drafts.is_empty() {
        return Ok(Vec::new());
    }
    fits(&drafts)?;
    let (kind, queue, jobs) = (drafts[0].kind, &drafts[0].queue, drafts.len());
    let span = tracing::debug_span!("jobkit.enqueue", job.kind = kind, %queue, jobs);
    if drafts.iter().any(|job| job.unique.is_some()) {
        let answers = store::enqueue_unique(&drafts, executor);
        let answers = answers.instrument(span).await?;
        let enqueued = answers.into_iter().map(|(id, answer)| Enqueued::of(id, &answer));
        return Ok(told(kind, enqueued.collect()));
    }
    let ids = store::enqueue_all(&drafts, executor).instrument(span).await?;
    Ok(told(kind, ids.into_iter().map(|id| Enqueued::New(JobId(id))).collect()))
}

/// The most members of a batch in one statement.
const PART: usize = 10_000;

/// Jobs in parts that fit in a statement each; at least one, perhaps empty.
///
/// # Errors
/// A job alone is too large.
pub(crate) fn parts(jobs: &[NewJob]) -> Result<Vec<&[NewJob]>, EnqueueError> {
    let (mut parts, mut begin, mut bytes) = (Vec::new(), 0, 0);
    for (at, job) in jobs.iter().enumerate() {
        if at - begin == PART || at > begin && bytes + job.bytes() > BATCH_BYTES {
            parts.push(&jobs[begin..at]);
            (begin, bytes) = (at, 0);
        }
        bytes += job.bytes();
    }
    parts.push(&jobs[begin..]);
    parts.iter().try_for_each(|part| fits(part))?;
    Ok(parts)
}

/// What became of jobs of any kinds, in their order; hooks are told of the new ones.
pub(crate) fn enqueued(jobs: &[NewJob], answers: Vec<(i64, String)>) -> Vec<Enqueued> {
    let all: Vec<_> = answers.into_iter().map(|(id, answer)| Enqueued::of(id, &answer)).collect();
    let mut begin = 0;
    for kind in jobs.chunk_by(|job, next| job.kind == next.kind) {
        let end = (begin + kind.len()).min(all.len());
        told(kind[0].kind, all[begin..end].to_vec());
        begin = end;
    }
    all
}

/// Tells hooks of the new jobs among them.
fn told(kind: &'static str, enqueued: Vec<Enqueued>) -> Vec<Enqueued> {
    meter::enqueued(kind, enqueued.len());
    sent(|| Sent::of(kind.into(), &enqueued));
    enqueued
}

/// Whether jobs are few enough for one statement.
pub(crate) fn fits(drafts: &[NewJob]) -> Result<(), EnqueueError> {
    let bytes = drafts.iter().map(NewJob::bytes).sum();
    if bytes > BATCH_BYTES {
        return Err(EnqueueError::BatchTooLarge { bytes, limit: BATCH_BYTES });
    }
    Ok(())
}
