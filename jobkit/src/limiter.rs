//! Limiters: how often running jobs do something, over all processes.
//!
//! The rate of a kind says how often its jobs *begin*. A limiter is asked in the middle of a run,
//! by any handler, as often as it likes: [`JobContext::limiter`](crate::JobContext::limiter). Its
//! rate is declared with [`Worker::limiter`](crate::Worker::limiter). Operators see limiters among
//! the groups of concurrency keys, and change and pause them in the same way.

use std::time::{Duration, Instant};

use crate::context::{Attempt, JobContext};
pub use crate::denied::Denied;
use crate::error::{ContextError, InvalidValue};
use crate::limits::{self, KEY_BYTES, NAME_BYTES};
use crate::policy::Rate;
use crate::reach::Reach;

/// How long a job waits for its slot where nothing else is said.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long it may.
const LONGEST: Duration = Duration::from_secs(60);

/// How much sooner than its slot a job comes back, to wait for the rest: it must not be missed.
const LEAD: Duration = Duration::from_secs(1);

/// Whoever has waited for longer looks whether the limiter was paused meanwhile.
const LOOK_AFTER: Duration = Duration::from_millis(50);

/// A limiter, as a running job sees it: from [`JobContext::limiter`](crate::JobContext::limiter).
#[derive(Debug, Clone)]
#[must_use = "nothing is limited until a slot is acquired"]
pub struct Limiter<'a> {
    attempt: &'a Attempt,
    name: &'a str,
    key: Option<String>,
    most: Duration,
}

impl<S> JobContext<S> {
    /// A [limiter](crate::limiter), to ask for a slot in the middle of a run. It limits how often
    /// jobs do something, over all processes and whatever their kinds. A worker
    /// [declares](crate::Worker::limiter) it.
    ///
    /// ```
    /// # use jobkit::JobContext;
    /// # async fn run(cx: JobContext) -> jobkit::Result {
    /// cx.limiter("stripe").acquire().await?;
    /// # Ok(()) }
    /// ```
    pub fn limiter<'a>(&'a self, name: &'a str) -> Limiter<'a> {
        Limiter { attempt: &self.attempt, name, key: None, most: PATIENCE }
    }
}

impl<'a> Limiter<'a> {
    /// Takes slots of this key only, such as an account: each key has the full rate. Without a key,
    /// all jobs share the key that has the limiter's name.
    pub fn key(self, key: impl ToString) -> Self {
        Self { key: Some(key.to_string()), ..self }
    }

    /// How long [`acquire`](Self::acquire) may wait: ten seconds by default, at least a second and
    /// at most a minute. To not wait at all, use [`try_acquire`](Self::try_acquire).
    pub fn within(self, most: Duration) -> Self {
        Self { most: most.clamp(LEAD, LONGEST), ..self }
    }

    /// Takes a slot, and waits in this process until it comes, with nothing locked. Slots are given
    /// in the order of asking, and the wait is known from the start. If it would be longer than
    /// allowed, the slot is kept for this job, and [`Denied::Later`] says when to come back.
    ///
    /// ```
    /// # use jobkit::JobContext;
    /// # async fn charge() -> std::io::Result<()> { Ok(()) }
    /// # async fn run(cx: JobContext) -> jobkit::Result {
    /// cx.limiter("stripe").key("acct_7").acquire().await?;
    /// charge().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// A slot that is not used (the job was cancelled, or came late) goes to nobody else. While the
    /// limiter is paused, nobody gets a slot; jobs that wait already get a later one.
    ///
    /// # Errors
    /// See [`Denied`].
    pub async fn acquire(&self) -> Result<(), Denied> {
        let began = Instant::now();
        while let Some(reach) = self.reach()? {
            let most = self.most.saturating_sub(began.elapsed());
            let wait = match self.ask(reach, Some(most)).await? {
                (wait, true) => wait,
                (wait, false) => return Err(Denied::Later(wait.saturating_sub(LEAD))),
            };
            if !wait.is_zero() {
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    reason = self.attempt.stop.until_told() => return Err(Denied::Stopped(reason)),
                }
            }
            let (name, key) = self.names();
            if wait < LOOK_AFTER || !reach.limiter_paused(name, key).await? {
                break;
            }
        }
        Ok(())
    }

    /// Takes a slot if one is free now. Otherwise returns how long it would be until the next one,
    /// and neither takes nor reserves a slot.
    ///
    /// # Errors
    /// [`Denied::Unknown`], [`Denied::Invalid`] and [`Denied::Database`].
    pub async fn try_acquire(&self) -> Result<Option<Duration>, Denied> {
        let Some(reach) = self.reach()? else { return Ok(None) };
        let (wait, taken) = self.ask(reach, None).await?;
        Ok((!taken).then_some(wait))
    }

    /// Lets nobody have a slot for this long, 30 days at most, in any process: for an answer such
    /// as `429 Too Many Requests`. Of two pauses, the one that ends later holds. Returns false if
    /// no worker has declared the limiter.
    ///
    /// # Errors
    /// [`ContextError::Invalid`] for the time, the name or the key; [`ContextError::Database`].
    pub async fn pause(&self, pause: Duration) -> Result<bool, ContextError> {
        let pause = limits::pause(pause)?;
        let Some(reach) = self.reach()? else { return Ok(false) };
        let (name, key) = self.names();
        Ok(reach.pause_key(name, key, pause).await?)
    }

    fn names(&self) -> (&str, &str) {
        (self.name, self.key.as_deref().unwrap_or(self.name))
    }

    /// The database; none in a test of the user's own.
    fn reach(&self) -> Result<Option<&dyn Reach>, InvalidValue> {
        let (name, key) = self.names();
        limits::name("name of a limiter", name, NAME_BYTES)?;
        limits::text("key of a limiter", key, KEY_BYTES)?;
        Ok(self.attempt.reach.as_deref())
    }

    async fn ask(
        &self,
        reach: &dyn Reach,
        most: Option<Duration>,
    ) -> Result<(Duration, bool), Denied> {
        let (name, key) = self.names();
        let slot = reach.take_slot(name, key, self.attempt.id, most).await?;
        slot.ok_or_else(|| Denied::Unknown(name.to_owned()))
    }
}

/// A limiter of [`Worker::limiter`](crate::Worker::limiter).
#[derive(Debug)]
pub(crate) struct Declaration {
    pub(crate) name: String,
    pub(crate) rate: Rate,
}

impl Declaration {
    pub(crate) fn check(&self) -> Result<(), InvalidValue> {
        limits::name("name of a limiter", &self.name, NAME_BYTES)?;
        limits::rate(self.rate)
    }
}
