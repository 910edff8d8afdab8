mod blocking;
mod completion;
mod progress;
mod report;
mod steps;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use tracing::Span;

pub(crate) use self::completion::{Completed, Completing};
#[cfg(any(feature = "logs", test))]
pub(crate) use self::report::Line;
#[cfg(feature = "logs")]
pub(crate) use self::report::shown;
pub(crate) use self::report::{Listener, Report, Reported, State};
pub(crate) use self::steps::Steps;
use crate::error::ContextError;
use crate::hooks::Carrier;
use crate::limits;
use crate::reach::Reach;
use crate::stop::Stop;
use crate::{BatchId, JobError, JobId, StopReason};

/// What a handler knows about its job: its id, attempt and state, and when to stop.
///
/// Cheap to clone.
#[derive(Debug)]
pub struct JobContext<S = ()> {
    pub(crate) attempt: Arc<Attempt>,
    state: Arc<S>,
}

/// The facts about a job for its handler, from the claim.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) kind: String,
    /// The number of the attempt, from 1.
    pub(crate) attempt: u32,
    pub(crate) max_attempts: u32,
    pub(crate) snoozes: u32,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Option<Box<RawValue>>,
    pub(crate) carried: Carrier,
    /// The batch of which it is a member.
    pub(crate) batch: Option<BatchId>,
}

/// One attempt, the same for every state type.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) id: JobId,
    pub(crate) facts: Facts,
    pub(crate) queue: Arc<str>,
    /// How many jobs of the queue may run together with it in one chunk.
    pub(crate) beside: usize,
    pub(crate) deadline: Option<Instant>,
    pub(crate) stop: Arc<Stop>,
    pub(crate) span: Span,
    /// `None` in the user's own tests.
    pub(crate) reach: Option<Arc<dyn Reach>>,
    pub(crate) report: Report,
    /// How long the job is kept after a success.
    pub(crate) keep: Option<Duration>,
    pub(crate) completing: Completing,
    pub(crate) steps: Steps,
}

impl Facts {
    pub(crate) fn for_test() -> Self {
        Self {
            kind: "test".to_owned(),
            attempt: 1,
            max_attempts: 20,
            created_at: Utc::now(),
            ..Self::default()
        }
    }
}

impl Attempt {
    pub(crate) fn for_test() -> Self {
        Self {
            id: JobId(0),
            facts: Facts::for_test(),
            queue: "test".into(),
            beside: usize::MAX,
            deadline: None,
            stop: Arc::default(),
            span: Span::none(),
            reach: None,
            report: Report::unheard(),
            keep: None,
            completing: Completing::default(),
            steps: Steps::default(),
        }
    }
}

impl<S> JobContext<S> {
    pub(crate) fn new(attempt: Arc<Attempt>, state: Arc<S>) -> Self {
        Self { attempt, state }
    }

    /// A context without a job: job 0, first attempt of 20, never asked to stop.
    pub(crate) fn for_test(state: S) -> Self {
        Self::new(Arc::new(Attempt::for_test()), Arc::new(state))
    }

    /// The job's id, the same in every attempt. It is not an idempotency key: after a fail-over to
    /// a server that lags behind, or after a backup is restored, ids that were already used are
    /// given to other jobs. Use what identifies the effect in your domain (the order, the invoice),
    /// or [`idempotency_key`](Self::idempotency_key).
    #[must_use]
    pub fn id(&self) -> JobId {
        self.attempt.id
    }

    /// A string that is the same in every attempt and that no other job has, even if its
    /// [`id`](Self::id) is used again: it includes the time of the enqueue, to the microsecond. Use
    /// it with systems that take an idempotency key, if nothing in your domain identifies the
    /// effect.
    ///
    /// A second job for the same order has a different key. So does the replay of a dead letter,
    /// which is a new job and may have another payload.
    #[must_use]
    pub fn idempotency_key(&self) -> String {
        format!("{}-{:x}", self.id(), self.created_at().timestamp_micros())
    }

    /// The instant that this job is for, if a [schedule](crate::schedule) enqueued it: which night
    /// to report on, however late it runs.
    #[must_use]
    pub fn instant(&self) -> Option<DateTime<Utc>> {
        let metadata = self.attempt.facts.metadata.as_deref()?;
        crate::schedule::scheduled(metadata.get()).map(|(_, instant)| instant)
    }

    /// The kind the job was stored under.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.attempt.facts.kind
    }

    /// The queue the job was taken from.
    #[must_use]
    pub fn queue(&self) -> &str {
        &self.attempt.queue
    }

    /// The number of this attempt, counted from 1. Crashed attempts count, snoozes don't.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt.facts.attempt
    }

    /// How many attempts the job has in total.
    #[must_use]
    pub fn max_attempts(&self) -> u32 {
        self.attempt.facts.max_attempts
    }

    /// How often the job has been snoozed or told to wait so far.
    #[must_use]
    pub fn snoozes(&self) -> u32 {
        self.attempt.facts.snoozes
    }

    /// When the job was enqueued, by the database's clock.
    #[must_use]
    pub fn created_at(&self) -> DateTime<Utc> {
        self.attempt.facts.created_at
    }

    /// The tags given at enqueue.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        &self.attempt.facts.tags
    }

    /// The metadata given at enqueue, as JSON text.
    #[must_use]
    pub fn metadata(&self) -> Option<&RawValue> {
        self.attempt.facts.metadata.as_deref()
    }

    /// The values that the job carries from its enqueue, as set by
    /// [`propagate`](crate::hooks::propagate).
    #[must_use]
    pub fn carried(&self) -> Carrier {
        self.attempt.facts.carried.clone()
    }

    /// The state given with [`Worker::state`](crate::Worker::state).
    #[must_use]
    pub fn state(&self) -> &S {
        &self.state
    }

    /// When the kind's timeout will ask this attempt to stop; `None` without a timeout.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.attempt.deadline
    }

    /// How much of the timeout is left; `None` without a timeout, zero once it has passed.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        self.deadline().map(|at| at.saturating_duration_since(Instant::now()))
    }

    /// Completes as soon as the worker is told to stop, or when [`cancelled`](Self::cancelled)
    /// completes. The handler may go on for the [stop grace](crate::Worker::stop_grace); if it
    /// needs longer, it should save its position, and return
    /// [`JobError::release`](crate::JobError::release):
    ///
    /// ```
    /// # use jobkit::{JobContext, JobError};
    /// # async fn import(page: u32) -> std::io::Result<()> { Ok(()) }
    /// # async fn run(cx: JobContext) -> jobkit::Result {
    /// for page in 0..1_000 {
    ///     tokio::select! {
    ///         imported = import(page) => imported?,
    ///         _reason = cx.stopping() => return Err(JobError::release()),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn stopping(&self) -> StopReason {
        self.attempt.stop.until_told().await
    }

    /// Completes when this attempt must end: the worker is stopping and its stop grace is over, the
    /// job was cancelled, the lease is about to lapse, or the timeout is over. A handler that has
    /// not returned within the [cancel grace](crate::Worker::cancel_grace) is dropped.
    pub async fn cancelled(&self) -> StopReason {
        self.attempt.stop.until_asked().await
    }

    /// Why this attempt should end, once [`stopping`](Self::stopping) has completed. For code that
    /// checks between steps.
    #[must_use]
    pub fn stop_reason(&self) -> Option<StopReason> {
        self.attempt.stop.reason()
    }

    /// The signal behind [`cancelled`](Self::cancelled), to pass on to other code.
    #[must_use]
    pub fn cancel_token(&self) -> &CancellationToken {
        self.attempt.stop.token()
    }

    /// Pauses the concurrency key of this job, in all processes and for at most 30 days: no other
    /// job of the key starts before then, while running jobs continue. Of two pauses, the one that
    /// ends later applies. Returns false if the job has no key.
    ///
    /// Use it for a response such as `429 Too Many Requests`; see
    /// [`retry_after`](Self::retry_after).
    ///
    /// # Errors
    /// [`ContextError::Invalid`] for the time; [`ContextError::Database`].
    pub async fn pause_key(&self, pause: Duration) -> Result<bool, ContextError> {
        let pause = limits::pause(pause)?;
        match &self.attempt.reach {
            Some(reach) => Ok(reach.pause_key_of(self.id(), pause).await?),
            None => Ok(false),
        }
    }

    /// Pauses any key, given by its group (by default the kind) and the key itself. For a key of a
    /// [limiter](Self::limiter), the group is the limiter's name. Returns false if no worker has
    /// announced the group.
    ///
    /// # Errors
    /// Those of [`pause_key`](Self::pause_key).
    pub async fn pause_key_of(
        &self,
        group: &str,
        key: &str,
        pause: Duration,
    ) -> Result<bool, ContextError> {
        let pause = limits::pause(pause)?;
        match &self.attempt.reach {
            Some(reach) => Ok(reach.pause_key(group, key, pause).await?),
            None => Ok(false),
        }
    }

    /// Pauses the concurrency key of this job, and creates the error that makes the job itself run
    /// again after the pause (within 24 hours). Return it when a service asks you to slow down. It
    /// is not a failure and charges no attempt, for a day or for as long as `retry_for` allows: see
    /// [`JobError::wait`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use jobkit::JobContext;
    /// # struct Answer { status: u16, retry_after: u64 }
    /// # async fn send() -> std::io::Result<Answer> { Ok(Answer { status: 429, retry_after: 30 }) }
    /// # async fn run(cx: JobContext) -> jobkit::Result {
    /// let answer = send().await?;
    /// if answer.status == 429 {
    ///     let rest = Duration::from_secs(answer.retry_after);
    ///     return Err(cx.retry_after(rest, "too many requests").await);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// If the pause fails, its error is logged, and the job still runs again.
    pub async fn retry_after(
        &self,
        rest: Duration,
        error: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> JobError {
        if let Err(error) = self.pause_key(rest).await {
            tracing::warn!(job.id = self.id().0, %error, "jobkit: the key could not be paused");
        }
        JobError::wait(rest, error)
    }

    /// The span of this attempt (`jobkit.run`, with id, kind, queue and attempt); the handler runs
    /// inside it. Enter it in tasks you spawn.
    #[must_use]
    pub fn span(&self) -> &Span {
        &self.attempt.span
    }
}

impl<S> Clone for JobContext<S> {
    fn clone(&self) -> Self {
        Self { attempt: Arc::clone(&self.attempt), state: Arc::clone(&self.state) }
    }
}
