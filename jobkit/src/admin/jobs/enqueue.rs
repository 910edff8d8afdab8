//! Enqueueing by the name of a kind, as SQL does.

use std::future::IntoFuture;
use std::pin::Pin;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::statements;
use crate::JobId;
use crate::admin::encryption::sealed;
use crate::admin::{Admin, AdminError, refusal};
use crate::enqueue::draft::{Uniqueness, key, key_names};
use crate::error::{DatabaseError, QueueFull};
use crate::hooks::{Sent, sent};
use crate::limits::{self, LENGTHS, NAME_BYTES};
use crate::registry::Registry;
use crate::terms::Terms;
use crate::unique::{Enqueued, OnDuplicate, While};

/// Why a job was not enqueued by the name of its kind, or an event not published by the name of its
/// topic. Nothing was stored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ByNameError {
    /// Nobody has announced the kind: see [`announce`](crate::announce()).
    #[error("nobody has announced the kind `{0}`; check the name, or start a worker that has it")]
    UnknownKind(String),
    /// The kind needs a concurrency key and none was given, or it takes none and one was.
    #[error("{0}")]
    Key(String),
    /// An option or the payload is invalid.
    #[error("{0}")]
    Option(String),
    /// The queue is full: as many jobs wait in it as its limit allows.
    #[error(transparent)]
    QueueFull(#[from] QueueFull),
    /// The payload does not decode into this kind of job.
    #[error("{0}")]
    Undecodable(String),
    /// Anything else: [`AdminError::Invalid`] about the job's options, [`AdminError::Encrypt`];
    /// otherwise the errors of every method of [`Admin`].
    #[error(transparent)]
    Failed(AdminError),
}

impl<E> From<E> for ByNameError
where
    AdminError: From<E>,
{
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl ByNameError {
    /// The error that an answer of `jobkit.enqueue` or `jobkit.publish` is.
    pub(in crate::admin) fn of(error: DatabaseError, kind: &str) -> Self {
        if let Some(full) = QueueFull::of(&error) {
            return Self::QueueFull(full);
        }
        match error.code().as_deref() {
            Some("JK003") => Self::UnknownKind(kind.to_owned()),
            Some("JK004") => Self::Key(refusal(&error)),
            Some("JK005" | "JK008" | "JK010") => Self::Option(refusal(&error)),
            _ => error.into(),
        }
    }
}

/// Options of the job. Those that are not set come from the kind.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    pub(super) queue: Option<String>,
    pub(super) run_at: Option<DateTime<Utc>>,
    pub(super) priority: Option<i32>,
    pub(super) max_attempts: Option<i32>,
    pub(super) expires: Option<Duration>,
    pub(super) retry_for: Option<Duration>,
    pub(super) concurrency_key: Option<String>,
    pub(super) tags: Option<Vec<String>>,
    pub(super) metadata: Option<Value>,
    pub(super) dead_letter_key: Option<String>,
    pub(super) version: Option<u16>,
    pub(super) unique: Uniqueness,
}

/// A job to be enqueued by the name of its kind, returned by [`Admin::enqueue`].
#[derive(Debug)]
#[must_use = "nothing is enqueued until this is awaited"]
pub struct ByKind<'a> {
    admin: &'a Admin,
    kind: String,
    args: Value,
    wishes: Wishes,
}

impl ByKind<'_> {
    /// The queue of the job; 1 to 128 bytes.
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.wishes.queue = Some(queue.into());
        self
    }

    /// Runs no earlier than at this time; a time in the past means now.
    pub fn at(mut self, time: DateTime<Utc>) -> Self {
        self.wishes.run_at = Some(time);
        self
    }

    /// The job's priority, −3 to 3; a smaller number runs first.
    pub fn priority(mut self, priority: i32) -> Self {
        self.wishes.priority = Some(priority);
        self
    }

    /// How many attempts it gets, 1 to 1000.
    pub fn max_attempts(mut self, attempts: i32) -> Self {
        self.wishes.max_attempts = Some(attempts);
        self
    }

    /// Ends the job as expired if it has not started this long after it was due, 1 second to 366
    /// days.
    pub fn expires(mut self, after: Duration) -> Self {
        self.wishes.expires = Some(after);
        self
    }

    /// How long after its first failure the job is retried at most, 1 second to 366 days.
    pub fn retry_for(mut self, budget: Duration) -> Self {
        self.wishes.retry_for = Some(budget);
        self
    }

    /// Its concurrency key. If none is given and this process has the kind linked, the key is
    /// computed from the payload.
    pub fn concurrency_key(mut self, key: impl Into<String>) -> Self {
        self.wishes.concurrency_key = Some(key.into());
        self
    }

    /// Its dead-letter key.
    pub fn dead_letter_key(mut self, key: impl Into<String>) -> Self {
        self.wishes.dead_letter_key = Some(key.into());
        self
    }

    /// The version of the kind's payload, 1 to 32767; 1 by default.
    pub fn version(mut self, version: u16) -> Self {
        self.wishes.version = Some(version);
        self
    }

    /// Its tags, 32 at most.
    pub fn tags<T: Into<String>>(mut self, tags: impl IntoIterator<Item = T>) -> Self {
        self.wishes.tags = Some(tags.into_iter().map(Into::into).collect());
        self
    }

    /// Metadata that is kept beside the payload.
    pub fn metadata(mut self, metadata: Value) -> Self {
        self.wishes.metadata = Some(metadata);
        self
    }

    /// Makes it [unique](crate::unique) by this key, of at most 512 bytes. (A unique key that its
    /// type declares is ignored here.)
    pub fn unique_key(mut self, key: impl Into<String>) -> Self {
        self.wishes.unique.key = Some(key.into());
        self.wishes.unique.coalesces = false;
        self
    }

    /// Makes it [coalesce](crate::enqueue::Pending::coalesce_key) by this key, of at most 512
    /// bytes. (A key that its type declares is ignored here.)
    pub fn coalesce_key(mut self, key: impl Into<String>) -> Self {
        self.wishes.unique.key = Some(key.into());
        self.wishes.unique.coalesces = true;
        self
    }

    /// The group that its coalesce key belongs to, instead of the kind.
    pub fn coalesce_group(self, group: impl Into<String>) -> Self {
        self.unique_group(group)
    }

    /// The group that its unique key belongs to, instead of the kind.
    pub fn unique_group(mut self, group: impl Into<String>) -> Self {
        self.wishes.unique.group = Some(group.into());
        self
    }

    /// How long the job holds its unique key.
    pub fn unique_while(mut self, holds: While) -> Self {
        self.wishes.unique.holds = Some(holds);
        self
    }

    /// The minimum time for which the job holds its unique key.
    pub fn unique_for(mut self, at_least: Duration) -> Self {
        self.wishes.unique.at_least = Some(at_least);
        self
    }

    /// What happens to this job if another job has its unique key.
    pub fn on_duplicate(mut self, what: OnDuplicate) -> Self {
        self.wishes.unique.on_duplicate = Some(what);
        self
    }

    /// Enqueues the job and says what became of it. Awaiting the builder directly returns only the
    /// id of the new job, or of the one that has its unique key.
    ///
    /// # Errors
    /// [`ByNameError`] says which.
    pub async fn enqueue_unique(self) -> Result<Enqueued, ByNameError> {
        self.run().await
    }

    async fn run(mut self) -> Result<Enqueued, ByNameError> {
        self.check()?;
        let mut terms = Terms::said(self.wishes.expires, self.wishes.retry_for)?;
        Terms::carry([&mut terms]);
        let Self { admin, kind, args, wishes } = &self;
        let mut link = admin.link();
        let sealed = sealed(&mut link, kind, args).await?;
        let args = sealed.as_ref().unwrap_or(args);
        let enqueue = statements::enqueue_by_kind(admin.actor(), kind, args, wishes, &terms);
        let answer = link.call(&enqueue).await;
        let (job, answer) = answer.map_err(|error| ByNameError::of(error, kind))?;
        link.close().await;
        let enqueued = Enqueued::of(job, &answer);
        sent(|| Sent::of(self.kind.clone().into(), &[enqueued]));
        Ok(enqueued)
    }

    /// Refuses values that cannot be sent to the database, and payloads that a linked kind cannot
    /// decode.
    fn check(&mut self) -> Result<(), ByNameError> {
        limits::name("kind", &self.kind, NAME_BYTES)?;
        let text = self.args.to_string();
        let metadata = self.wishes.metadata.as_ref().map(Value::to_string).unwrap_or_default();
        limits::payload(&text, metadata.len())?;
        limits::json("metadata", "nesting of the metadata", &metadata)?;
        let wishes = &mut self.wishes;
        wishes.run_at = wishes.run_at.map(limits::run_at).transpose()?;
        if let Some(queue) = &wishes.queue {
            limits::name("queue", queue, NAME_BYTES)?;
        }
        for tag in wishes.tags.iter().flatten() {
            limits::name("tag", tag, NAME_BYTES)?;
        }
        if let Some(registration) = Registry::linked().of_kind(&self.kind) {
            let own = registration
                .key_of(&self.kind, wishes.version.unwrap_or(1), text.as_bytes())
                .map_err(ByNameError::Undecodable)?;
            if registration.policy().concurrency.is_some() && wishes.concurrency_key.is_none() {
                wishes.concurrency_key = own;
            }
        }
        let [what, group] = key_names(wishes.unique.coalesces);
        wishes.unique.key = key(what, wishes.unique.key.take())?;
        if let Some(name) = &wishes.unique.group {
            limits::name(group, name, NAME_BYTES)?;
        }
        let seconds = wishes.unique.at_least.map_or(1, |at_least| at_least.as_secs());
        limits::range("seconds that a unique key is held", seconds, LENGTHS, "1 to 31622400")?;
        wishes.concurrency_key = key("concurrency key", wishes.concurrency_key.take())?;
        wishes.dead_letter_key = key("dead-letter key", wishes.dead_letter_key.take())?;
        Ok(())
    }
}

impl<'a> IntoFuture for ByKind<'a> {
    type Output = Result<JobId, ByNameError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async { self.run().await.map(Enqueued::id) })
    }
}

impl Admin {
    /// Enqueues a job by the name of its kind, for programs and people that do not have its type.
    /// It calls `jobkit.enqueue`, and is recorded in the audit. Await it directly, or first set
    /// options that override what was announced for the kind.
    ///
    /// If this process has the kind linked, the payload must decode into its type. An application
    /// should enqueue with [`Enqueue`](crate::Enqueue) instead, in its own transaction.
    ///
    /// ```no_run
    /// # async fn f(admin: jobkit::Admin) -> anyhow::Result<()> {
    /// let args = serde_json::json!({"order_id": 7});
    /// let job = admin.enqueue("send_receipt", args).queue("slow").await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ByNameError`] says which.
    pub fn enqueue(&self, kind: impl Into<String>, args: Value) -> ByKind<'_> {
        ByKind { admin: self, kind: kind.into(), args, wishes: Wishes::default() }
    }
}
