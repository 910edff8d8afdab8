//! Replays of dead letters.

use std::future::IntoFuture;
use std::pin::Pin;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::dead_letter::{DeadLetter, DeadLetterId};
use super::reference::DeadLetterRef;
use super::statements::{self, Overrides};
use crate::JobId;
use crate::admin::encryption::sealed;
use crate::admin::{Admin, AdminError, refusal};
use crate::enqueue::draft;
use crate::error::DatabaseError;
use crate::limits::{self, ATTEMPTS, NAME_BYTES};
use crate::registry::{Known, Registry};
use crate::version::versioned;

/// Why a dead letter was not replayed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A job is already replaying it: another call was faster, or it was replayed automatically.
    #[error("the dead letter is already being replayed by job {0}")]
    AlreadyReplayed(JobId),
    /// A replay has succeeded.
    #[error("the dead letter was resolved by job {0}")]
    Resolved(JobId),
    /// Another job has the unique key that the replay would need.
    #[error("job {0} has the unique key of this dead letter; replay it when that job has ended")]
    KeyTaken(JobId),
    /// There is no such dead letter: it never existed or was removed.
    #[error("there is no such dead letter")]
    NotFound,
    /// The new payload does not decode into this kind of job.
    #[error("{0}")]
    Undecodable(String),
    /// Anything else: [`AdminError::Busy`] if an open transaction has held the dead letter for a
    /// second; [`AdminError::Invalid`] and [`AdminError::Encrypt`] for the overrides; otherwise the
    /// errors of every method of [`Admin`].
    #[error(transparent)]
    Failed(AdminError),
}

impl<E> From<E> for ReplayError
where
    AdminError: From<E>,
{
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl ReplayError {
    /// The error for an answer of the function.
    fn of(error: DatabaseError) -> Self {
        match error.code().as_deref() {
            Some("JK008" | "JK010") => Self::Undecodable(refusal(&error)),
            _ => Self::Failed(AdminError::from(error).or_busy()),
        }
    }
}

type Replaying<'a, T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// A replay of a dead letter, returned by [`DeadLetterRef::replay`].
#[derive(Debug)]
#[must_use = "nothing is replayed until this is awaited"]
pub struct Replay<'a> {
    admin: &'a Admin,
    id: DeadLetterId,
    overrides: Overrides,
}

impl Replay<'_> {
    /// The queue of the job, instead of the old one; 1 to 128 bytes.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.overrides.queue = Some(queue.into());
        self
    }

    /// Runs the job no earlier than at this time, instead of immediately; a time in the past means
    /// now.
    pub fn run_at(mut self, time: DateTime<Utc>) -> Self {
        self.overrides.run_at = Some(time);
        self
    }

    /// Runs the job with this payload instead of the stored one, which the dead letter keeps unless
    /// the job fails again. At most 1 MiB as JSON, with the metadata.
    ///
    /// If this process has the kind linked, in the version of the dead letter, the payload must
    /// decode into its type, and the job gets the concurrency key of the new payload. Otherwise the
    /// payload is not checked, and the job keeps the old key. The dead-letter key and the unique
    /// key never change.
    pub fn args(mut self, args: Value) -> Self {
        self.overrides.args = Some(args);
        self
    }

    /// How many attempts the job gets, 1 to 1000; by default as many as the old one.
    pub fn attempts(mut self, attempts: u16) -> Self {
        self.overrides.max_attempts = Some(attempts);
        self
    }

    async fn run(mut self) -> Result<JobId, ReplayError> {
        self.overrides.run_at = self.overrides.run_at.map(limits::run_at).transpose()?;
        let Overrides { queue, max_attempts, .. } = &self.overrides;
        queue.as_ref().map_or(Ok(()), |queue| limits::name("queue", queue, NAME_BYTES))?;
        limits::range("number of attempts", max_attempts.unwrap_or(1), ATTEMPTS, "1 to 1000")?;
        let mut link = self.admin.link();
        if let Some(args) = &self.overrides.args {
            let text = args.to_string();
            limits::payload(&text, 0)?;
            let entry = link.call(&statements::whole_dead_letters(&[self.id.0])).await?.pop();
            let entry = entry.ok_or(ReplayError::NotFound)?;
            self.overrides.concurrency = concurrency(&entry, &text)?;
            if let Some(sealed) = sealed(&mut link, &entry.summary.kind, args).await? {
                self.overrides.args = Some(sealed);
            }
        }
        let replay = statements::replay(self.id, self.admin.actor(), &self.overrides);
        let (outcome, job) = link.call(&replay).await.map_err(ReplayError::of)?;
        link.close().await;
        match (&*outcome, job) {
            ("replay", Some(job)) => Ok(job),
            ("already", Some(job)) => Err(ReplayError::AlreadyReplayed(job)),
            ("taken", Some(job)) => Err(ReplayError::KeyTaken(job)),
            ("resolved", Some(job)) => Err(ReplayError::Resolved(job)),
            _ => Err(ReplayError::NotFound),
        }
    }
}

impl<'a> IntoFuture for Replay<'a> {
    type Output = Result<JobId, ReplayError>;
    type IntoFuture = Replaying<'a, JobId, ReplayError>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// The concurrency group and key of a new payload, if its kind is linked.
fn concurrency(entry: &DeadLetter, text: &str) -> Result<Option<[Option<String>; 2]>, ReplayError> {
    limits::payload(text, entry.metadata.as_ref().map_or(0, |metadata| metadata.reveal().len()))?;
    let registry = Registry::linked();
    let name = versioned(&entry.summary.kind, entry.version);
    let Some(known) = registry.get(&name) else { return Ok(None) };
    let Known { registration, kind, version } = known;
    let key = registration.key_of(kind, *version, text.as_bytes());
    let key = key.map_err(ReplayError::Undecodable)?;
    let key = draft::key("concurrency key", key)?;
    let keyed = registration.policy().concurrency.zip(key);
    Ok(Some(match keyed {
        Some((concurrency, key)) => [Some(concurrency.group.to_owned()), Some(key)],
        None => [None, None],
    }))
}

impl<'a> DeadLetterRef<'a> {
    /// Replays the dead letter: enqueues it as a new job with all its attempts. Await it directly,
    /// or first override what is stored.
    ///
    /// It happens once: later and concurrent calls return an error with the job that was made. If
    /// that job succeeds, the dead letter is resolved. If it fails, or is cancelled or discarded,
    /// the dead letter is open again, with the history of both.
    ///
    /// ```no_run
    /// # use jobkit::Admin;
    /// # use jobkit::admin::dead_letters::{DeadLetterId, ReplayError};
    /// # async fn f(admin: Admin, id: DeadLetterId) -> Result<(), ReplayError> {
    /// let job = admin.dead_letter(id).replay().await?;
    /// // or
    /// let args = serde_json::json!({"account": "account-7", "cents": 100});
    /// match admin.dead_letter(id).replay().queue("slow").args(args).attempts(1).await {
    ///     Err(ReplayError::AlreadyReplayed(other)) => assert_eq!(other, job),
    ///     other => println!("{other:?}"),
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// See [`ReplayError`].
    pub fn replay(self) -> Replay<'a> {
        Replay { admin: self.admin, id: self.id, overrides: Overrides::default() }
    }
}
