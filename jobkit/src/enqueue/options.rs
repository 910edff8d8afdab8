use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::PgPool;

use crate::JobId;
use crate::enqueue::Executor;
use crate::enqueue::draft::{Uniqueness, insert_one, key, payload, unique};
use crate::enqueue::wait::hub::Hub;
use crate::enqueue::wait::{self, WaitError};
use crate::error::EnqueueError;
use crate::job_type::JobType;
use crate::limits::{self, ATTEMPTS, NAME_BYTES, PRIORITIES, TAGS};
use crate::store::NewJob;
use crate::terms::Terms;
use crate::unique::{Enqueued, OnDuplicate, While};

/// A job to be enqueued, with options that override its type's policy.
///
/// ```no_run
/// # use std::time::Duration;
/// # use jobkit::{Enqueue, Job, JobContext, job};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # #[job] struct Welcome { user: i64 }
/// # impl Job for Welcome { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
/// # async fn f(pool: sqlx::PgPool) -> Result<(), jobkit::enqueue::EnqueueError> {
/// let an_hour = Duration::from_secs(3600);
/// Welcome { user: 7 }.options().after(an_hour).priority(-1).enqueue(&pool).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[must_use = "nothing is enqueued until `enqueue` is called and awaited"]
pub struct Pending<J> {
    job: J,
    overrides: Overrides,
}

/// Without the payload, which may contain secrets.
impl<J> fmt::Debug for Pending<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("job", &std::any::type_name::<J>())
            .field("overrides", &self.overrides)
            .finish()
    }
}

impl<J: JobType + Serialize + DeserializeOwned + Send> Pending<J> {
    pub(crate) fn new(job: J) -> Self {
        Self { job, overrides: Overrides::default() }
    }

    /// Runs the job no earlier than this long from now, by the database's clock; the year 9999 is
    /// the latest.
    pub fn after(mut self, delay: Duration) -> Self {
        self.overrides.after = Some(delay);
        self
    }

    /// Runs the job no earlier than this time; a time in the past means now, and the year 9999 is
    /// the latest.
    pub fn at(mut self, time: DateTime<Utc>) -> Self {
        self.overrides.at = Some(time);
        self
    }

    /// The job's priority, −3 to 3; a smaller number runs first.
    pub fn priority(mut self, priority: i16) -> Self {
        self.overrides.priority = Some(priority);
        self
    }

    /// The queue of the job, at most 128 bytes.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.overrides.queue = Some(queue.into());
        self
    }

    /// How many attempts the job gets, 1 to 1000.
    pub fn max_attempts(mut self, attempts: u16) -> Self {
        self.overrides.max_attempts = Some(attempts);
        self
    }

    /// How long after it is due the job may still start for the first time, instead of what its
    /// type says: 1 second to 366 days. A job that has not started by then ends as expired.
    ///
    /// Like [`retry_for`](Self::retry_for), it is stored in seconds, in the column `terms` of the
    /// job.
    pub fn expires(mut self, after: Duration) -> Self {
        self.overrides.expires = Some(after);
        self
    }

    /// How long after its first failure the job is retried, instead of what its type says: 1 second
    /// to 366 days. If the next attempt would come later, the job becomes a dead letter.
    pub fn retry_for(mut self, budget: Duration) -> Self {
        self.overrides.retry_for = Some(budget);
        self
    }

    /// Tags to find the job by; at most 32, of at most 128 bytes each.
    pub fn tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.overrides.tags = tags.into_iter().map(Into::into).collect();
        self
    }

    /// Anything you want to keep alongside the payload. It is stored, shown, and available to the
    /// handler. jobkit does not interpret it, except for the key `jobkit` of an object. It counts
    /// towards the payload's limit of 1 MiB.
    pub fn metadata(mut self, metadata: serde_json::Value) -> Self {
        self.overrides.metadata = Some(metadata);
        self
    }

    /// Makes the job unique by this key, of at most 512 bytes, instead of its type's key: see
    /// [`unique`](crate::unique).
    pub fn unique_key(mut self, key: impl Into<String>) -> Self {
        self.overrides.unique.key = Some(key.into());
        self.overrides.unique.coalesces = false;
        self
    }

    /// Makes the job coalesce by this key, of at most 512 bytes, instead of its type's key: of the
    /// waiting jobs of a key, only the newest runs, on behalf of all. A job has either a unique key
    /// or a coalesce key: the last one set counts.
    pub fn coalesce_key(mut self, key: impl Into<String>) -> Self {
        self.overrides.unique.key = Some(key.into());
        self.overrides.unique.coalesces = true;
        self
    }

    /// The group that its coalesce key belongs to, instead of the kind; 1 to 128 bytes.
    pub fn coalesce_group(self, group: impl Into<String>) -> Self {
        self.unique_group(group)
    }

    /// The group that its unique key belongs to, instead of the kind; 1 to 128 bytes.
    pub fn unique_group(mut self, group: impl Into<String>) -> Self {
        self.overrides.unique.group = Some(group.into());
        self
    }

    /// How long the job holds its unique key.
    pub fn unique_while(mut self, holds: While) -> Self {
        self.overrides.unique.holds = Some(holds);
        self
    }

    /// The minimum time for which the job holds its unique key, from now on and even if it ends
    /// sooner: 1 second to 366 days.
    pub fn unique_for(mut self, at_least: Duration) -> Self {
        self.overrides.unique.at_least = Some(at_least);
        self
    }

    /// What happens to this job if another job has its unique key.
    pub fn on_duplicate(mut self, what: OnDuplicate) -> Self {
        self.overrides.unique.on_duplicate = Some(what);
        self
    }

    /// Enqueues the job, see [`Enqueue::enqueue`](crate::Enqueue::enqueue).
    ///
    /// # Errors
    /// As [`Enqueue::enqueue`](crate::Enqueue::enqueue); [`EnqueueError::Invalid`] also if an
    /// option is out of range.
    pub fn enqueue<'c, X: Executor<'c>>(
        self,
        executor: X,
    ) -> impl Future<Output = Result<JobId, EnqueueError>> + Send {
        let draft = self.draft();
        async move { insert_one(draft?, executor).await.map(Enqueued::id) }
    }

    /// Enqueues the job and returns what became of it: see
    /// [`Enqueue::enqueue_unique`](crate::Enqueue::enqueue_unique).
    ///
    /// # Errors
    /// As [`enqueue`](Self::enqueue).
    pub fn enqueue_unique<'c, X: Executor<'c>>(
        self,
        executor: X,
    ) -> impl Future<Output = Result<Enqueued, EnqueueError>> + Send {
        let draft = self.draft();
        async move { insert_one(draft?, executor).await }
    }

    /// Enqueues the job and waits at most this long for it to end: see
    /// [`Enqueue::enqueue_and_wait`](crate::Enqueue::enqueue_and_wait).
    ///
    /// # Errors
    /// As [`Enqueue::enqueue_and_wait`](crate::Enqueue::enqueue_and_wait).
    pub fn enqueue_and_wait(
        self,
        pool: &PgPool,
        within: Duration,
    ) -> impl Future<Output = Result<J::Output, WaitError>> + Send {
        let (hub, enqueued) = (Hub::of(pool), self.enqueue(pool));
        async move {
            let id = enqueued.await?;
            // From here on, no error may suggest that the job was not enqueued.
            wait::output(id, hub.end_of(id, within).await.unwrap_or(None), within)
        }
    }

    pub(crate) fn draft(self) -> Result<NewJob, EnqueueError> {
        NewJob::new(&self.job, self.overrides)
    }
}

/// What differs from the type's policy.
#[derive(Debug, Clone, Default)]
pub(crate) struct Overrides {
    pub(crate) after: Option<Duration>,
    pub(crate) at: Option<DateTime<Utc>>,
    pub(crate) priority: Option<i16>,
    pub(crate) queue: Option<String>,
    pub(crate) max_attempts: Option<u16>,
    pub(crate) expires: Option<Duration>,
    pub(crate) retry_for: Option<Duration>,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Option<serde_json::Value>,
    pub(crate) unique: Uniqueness,
}

impl NewJob {
    /// Checks a job, so that nothing in it can fail in the database.
    pub(crate) fn new<J: JobType + Serialize + DeserializeOwned>(
        job: &J,
        overrides: Overrides,
    ) -> Result<Self, EnqueueError> {
        let policy = J::POLICY;
        let terms = Terms::said(overrides.expires, overrides.retry_for)?;
        let (args, metadata) = payload(&policy, job, overrides.metadata.as_ref())?;
        let queue = overrides.queue.unwrap_or_else(|| policy.queue.to_owned());
        limits::name("queue", &queue, NAME_BYTES)?;
        limits::name("kind", policy.kind, NAME_BYTES)?;
        let group = policy.concurrency.map(|concurrency| concurrency.group);
        group.map_or(Ok(()), |group| limits::name("concurrency group", group, NAME_BYTES))?;
        let concurrency_key = key("concurrency key", job.concurrency_key())?;
        let unique = unique(job, overrides.unique)?;
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
            version: Some(policy.version.cast_signed()).filter(|version| *version != 1),
            queue,
            priority,
            max_attempts,
            after: overrides.after.map(limits::wait).transpose()?,
            at: overrides.at.map(limits::run_at).transpose()?,
            group,
            key: policy.concurrency.and(concurrency_key),
            dead_letter_key,
            args,
            tags: overrides.tags,
            metadata,
            terms,
            unique,
        })
    }
}
