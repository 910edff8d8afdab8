use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::PgExecutor;
use tracing::Instrument;

use crate::declared::Declared;
use crate::limits::{
    self, ATTEMPTS, BATCH_BYTES, KEY_BYTES, NAME_BYTES, PAYLOAD_BYTES, PRIORITIES, TAGS,
};
use crate::options::Overrides;
use crate::store::NewJob;
use crate::{Error, JobId, Pending, store};

/// Enqueues jobs; implemented for every struct with `#[job]`.
pub trait Enqueue: Declared + Serialize + Send + Sized {
    /// Enqueues the job: it exists if and only if the transaction of `executor` commits.
    ///
    /// `executor` is what you would pass to a sqlx query: `&pool`, `&mut *tx` (mind the star) or
    /// `&mut *connection`. It is one statement that only inserts, so it waits for nobody.
    ///
    /// It notifies workers that sleep, and a transaction that has notified cannot be prepared
    /// (`PREPARE TRANSACTION`): say `set local jobkit.notify = 'off'` in it before. The job is
    /// found by the next poll then.
    ///
    /// # Errors
    /// [`Error::Encode`], [`Error::PayloadTooLarge`], [`Error::Length`] and [`Error::Nul`] before
    /// anything is sent, so that your transaction stays usable; [`Error::SchemaMissing`] when
    /// [`migrate`](crate::migrate()) has not run; otherwise what the database says.
    fn enqueue<'c, X: PgExecutor<'c>>(
        self,
        executor: X,
    ) -> impl Future<Output = Result<JobId, Error>> + Send {
        self.options().enqueue(executor)
    }

    /// Sets something other than the type's policy for this one job: a delay, a queue, tags, ….
    fn options(self) -> Pending<Self> {
        Pending::new(self)
    }
}

impl<J: Declared + Serialize + Send> Enqueue for J {}

/// Enqueues any number of jobs in one statement, and returns their ids in the same order.
///
/// Items are jobs of one type, plain or with [options](Enqueue::options).
///
/// ```no_run
/// # use jobkit::{Enqueue, Job, JobContext, job};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # #[job] struct Welcome { user: i64 }
/// # impl Job for Welcome { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
/// # async fn f(mut tx: sqlx::PgTransaction<'_>) -> Result<(), jobkit::Error> {
/// jobkit::enqueue_all((1..=500).map(|user| Welcome { user }.options()), &mut *tx).await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// As [`Enqueue::enqueue`]; then none of them is enqueued. [`Error::BatchTooLarge`] above 256 MB
/// of payload: split the jobs over several calls in one transaction.
pub fn enqueue_all<'c, J, I, X>(
    jobs: I,
    executor: X,
) -> impl Future<Output = Result<Vec<JobId>, Error>> + Send
where
    J: Into<Draft>,
    I: IntoIterator<Item = J>,
    X: PgExecutor<'c>,
{
    // Collected before the future exists, so that it is Send whatever the iterator is.
    let drafts: Result<Vec<NewJob>, Error> = jobs.into_iter().map(|job| job.into().0).collect();
    async move { insert(drafts?, executor).await }
}

/// A job ready to be stored, as [`enqueue_all`] takes it.
#[derive(Debug)]
pub struct Draft(Result<NewJob, Error>);

impl<J: Declared + Serialize + Send> From<J> for Draft {
    fn from(job: J) -> Self {
        Self(NewJob::new(&job, Overrides::default()))
    }
}

impl<J: Declared + Serialize + Send> From<Pending<J>> for Draft {
    fn from(pending: Pending<J>) -> Self {
        Self(pending.draft())
    }
}

impl NewJob {
    /// Checks a job, so that nothing in it can fail in the database.
    pub(crate) fn new<J: Declared + Serialize>(
        job: &J,
        overrides: Overrides,
    ) -> Result<Self, Error> {
        let policy = J::POLICY;
        let (args, metadata) = payload(job, overrides.metadata.as_ref())?;
        let queue = overrides.queue.unwrap_or_else(|| policy.queue.to_owned());
        limits::name("queue", &queue, NAME_BYTES)?;
        limits::name("kind", policy.kind, NAME_BYTES)?;
        let group = policy.concurrency.map(|concurrency| concurrency.group);
        group.map_or(Ok(()), |group| limits::name("concurrency group", group, NAME_BYTES))?;
        let concurrency_key = key("concurrency key", job.concurrency_key())?;
        let dead_letter_key = key("dead-letter key", job.dead_letter_key())?;
        for tag in &overrides.tags {
            limits::name("tag", tag, NAME_BYTES)?;
        }
        limits::range("number of tags", overrides.tags.len(), 0..=TAGS, "0 to 32")?;
        let priority = overrides.priority.unwrap_or(policy.priority);
        limits::range("priority", priority, PRIORITIES, "−3 to 3")?;
        let max_attempts = overrides.max_attempts.unwrap_or(policy.max_attempts);
        limits::range("number of attempts", max_attempts, ATTEMPTS, "1 to 1000")?;
        Ok(Self {
            kind: policy.kind,
            queue,
            priority,
            max_attempts,
            after: overrides.after,
            at: overrides.at.map(limits::run_at).transpose()?,
            group,
            key: policy.concurrency.and(concurrency_key),
            dead_letter_key,
            args,
            tags: overrides.tags,
            metadata,
        })
    }
}

/// The JSON of a job and of its metadata.
fn payload<J: Declared + Serialize>(
    job: &J,
    metadata: Option<&serde_json::Value>,
) -> Result<(Box<RawValue>, Option<Box<RawValue>>), Error> {
    let kind = J::POLICY.kind;
    let encode = |source| Error::Encode { kind, source };
    let args = serde_json::value::to_raw_value(job).map_err(encode)?;
    let metadata = metadata.map(serde_json::value::to_raw_value).transpose().map_err(encode)?;
    if limits::escapes_surrogate(args.get()) {
        serde_json::from_str::<serde_json::Value>(args.get()).map_err(encode)?;
    }
    let text = metadata.as_deref().map_or("", RawValue::get);
    let bytes = args.get().len() + text.len();
    if bytes > PAYLOAD_BYTES {
        return Err(Error::PayloadTooLarge { kind, bytes, limit: PAYLOAD_BYTES });
    }
    limits::json("payload", "nesting of the payload", args.get())?;
    limits::json("metadata", "nesting of the metadata", text)?;
    Ok((args, metadata))
}

/// A key that fits.
pub(crate) fn key(what: &'static str, key: Option<String>) -> Result<Option<String>, Error> {
    limits::text(what, key.as_deref().unwrap_or(""), KEY_BYTES)?;
    Ok(key)
}

pub(crate) async fn insert_one<'c, X: PgExecutor<'c>>(
    draft: NewJob,
    executor: X,
) -> Result<JobId, Error> {
    let (kind, queue) = (draft.kind, &draft.queue);
    let span = tracing::debug_span!("jobkit.enqueue", job.kind = kind, %queue, jobs = 1);
    Ok(JobId(store::enqueue(draft, executor).instrument(span).await?))
}

async fn insert<'c, X: PgExecutor<'c>>(
    drafts: Vec<NewJob>,
    executor: X,
) -> Result<Vec<JobId>, Error> {
    if drafts.is_empty() {
        return Ok(Vec::new());
    }
    let bytes = drafts.iter().map(NewJob::bytes).sum();
    if bytes > BATCH_BYTES {
        return Err(Error::BatchTooLarge { bytes, limit: BATCH_BYTES });
    }
    let (kind, queue, jobs) = (drafts[0].kind, &drafts[0].queue, drafts.len());
    let span = tracing::debug_span!("jobkit.enqueue", job.kind = kind, %queue, jobs);
    let ids = store::enqueue_all(drafts, executor).instrument(span).await?;
    Ok(ids.into_iter().map(JobId).collect())
}
