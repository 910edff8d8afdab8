use std::ops::Deref;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::session::Session;
use crate::encryption;
use crate::error::DatabaseError;
use crate::policy::Policy;
use crate::store::{Call, StoredJob, stored_jobs};
use crate::stored::Stored;
use crate::{JobId, JobType};

/// A waiting or running job. It dereferences to its payload.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Enqueued<J> {
    /// The payload.
    pub job: J,
    /// Its id.
    pub id: JobId,
    /// Where it waits: `ready`, `scheduled` or `blocked`; or `running`.
    pub state: String,
    /// Its queue.
    pub queue: String,
    /// Its priority; a smaller number runs first.
    pub priority: i16,
    /// How many attempts have been charged.
    pub attempts: u32,
    /// How many it has in total.
    pub max_attempts: u16,
    /// When it is due.
    pub run_at: DateTime<Utc>,
    /// How long until it is due, by the database's clock; zero if it is due.
    pub due_in: Duration,
    /// When it was enqueued.
    pub created_at: DateTime<Utc>,
    /// Its concurrency key.
    pub concurrency_key: Option<String>,
    /// Its dead-letter key.
    pub dead_letter_key: Option<String>,
    /// Its unique key, or the key by which it coalesces.
    pub unique_key: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its metadata.
    pub metadata: Option<Value>,
    /// How long after it is due it may start, if that was set for this job.
    pub expires: Option<Duration>,
    /// For how long it is retried, if that was set for this job.
    pub retry_for: Option<Duration>,
}

impl<J> Deref for Enqueued<J> {
    type Target = J;

    fn deref(&self) -> &J {
        &self.job
    }
}

impl<J: JobType + DeserializeOwned> Enqueued<J> {
    fn read(stored: StoredJob) -> sqlx::Result<Self> {
        let (policy, args) = (J::POLICY, stored.args.as_bytes());
        let opened = encryption::opened(&policy, &stored.kind, stored.version, args);
        let opened = opened.map_err(|error| sqlx::Error::Decode(error.to_string().into()))?;
        let job = Stored::new(&opened, stored.version, &policy).job();
        let job = job.map_err(|error| sqlx::Error::Decode(error.into()))?;
        Ok(Self {
            job,
            id: JobId(stored.id),
            state: stored.state,
            queue: stored.queue,
            priority: stored.priority,
            attempts: stored.attempt,
            max_attempts: stored.max_attempts,
            run_at: stored.run_at,
            due_in: stored.due_in.unwrap_or_default(),
            created_at: stored.created_at,
            concurrency_key: stored.concurrency_key,
            dead_letter_key: stored.dead_letter_key,
            unique_key: stored.unique_key,
            tags: stored.tags,
            metadata: stored.metadata,
            expires: stored.expires,
            retry_for: stored.retry_for,
        })
    }
}

/// The waiting and running jobs of this type, ordered by id; in a transaction, including those that
/// it has enqueued itself. Use it for checks that an assertion about one job cannot express. It
/// returns all of them; to check only some, `retain` these.
///
/// ```no_run
/// # use jobkit::{Enqueue, Job, JobContext, job};
/// # #[derive(serde::Serialize, serde::Deserialize)] #[job] struct Welcome { user: i64 }
/// # impl Job for Welcome { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
/// # async fn f(mut tx: sqlx::PgTransaction<'_>) -> Result<(), Box<dyn std::error::Error>> {
/// use jobkit::testing::enqueued;
///
/// Welcome { user: 7 }.enqueue(&mut *tx).await?;
/// let mut jobs = enqueued::<Welcome>(&mut *tx).await?;
/// jobs.retain(|job| job.user == 7);
/// assert_eq!((jobs.len(), &*jobs[0].queue), (1, "default"));
/// # Ok(()) }
/// ```
///
/// # Errors
/// Any [`DatabaseError`] except [`DatabaseError::Deadline`]. [`DatabaseError::Failed`] also if a
/// payload does not decode.
pub async fn enqueued<J: JobType + DeserializeOwned>(
    mut session: impl Session,
) -> Result<Vec<Enqueued<J>>, DatabaseError> {
    Ok(read(stored::<J>(&mut session).await?)?)
}

/// The live jobs of a type, as they are stored.
pub(super) async fn stored<J: JobType>(session: &mut dyn Session) -> sqlx::Result<Vec<StoredJob>> {
    let Policy { kind, aliases, .. } = J::POLICY;
    let kinds: Vec<&str> = [kind].into_iter().chain(aliases.iter().copied()).collect();
    stored_jobs(&kinds).call(&mut **session.connection().await?).await
}

/// Decodes them. The error says what is wrong with one that does not decode.
pub(super) fn read<J: JobType + DeserializeOwned>(
    stored: Vec<StoredJob>,
) -> sqlx::Result<Vec<Enqueued<J>>> {
    stored.into_iter().map(Enqueued::read).collect()
}
