//! A worker that only runs while there is something to do.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::signals::Signals;
use super::{Worker, WorkerHandle};
use crate::error::{DatabaseError, RunError, StartError};
use crate::store::{Link, next_work};
use crate::worker::shared::slots::Named;

/// How long the worker must be idle before it rests.
const IDLE: Duration = Duration::from_secs(60);
/// How often to check whether there is something to do.
const LOOK: Duration = Duration::from_secs(60);
/// How often to check, in this process, whether the worker is busy.
const GLANCE: Duration = Duration::from_millis(100);

/// A worker that rests while there is nothing to do: it is then not registered and has no
/// connection, so that a database that suspends when idle can do so. Returned by
/// [`Worker::on_demand`].
///
/// While it rests, it looks for work once a minute, with one statement over a short-lived
/// connection, or when the next job, schedule or replay is due, if that is sooner. Jobs enqueued
/// meanwhile start that much later, or immediately if a [`Caller`] wakes it.
#[must_use = "nothing runs until `run_until_signal` or `run_until` is awaited"]
pub struct OnDemand<F> {
    build: F,
    idle_after: Duration,
    look_every: Duration,
    called: Arc<Notify>,
}

/// Wakes an [`OnDemand`] of the same process, for code that enqueues there. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Caller(Arc<Notify>);

impl Caller {
    /// Makes the worker look for work now. Call it after the commit of your transaction.
    pub fn call(&self) {
        self.0.notify_one();
    }
}

impl Worker {
    /// A worker that runs only while there is something to do, for a database that suspends when it
    /// is idle. `build` creates the worker each time it has to start.
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use jobkit::Worker;
    /// # async fn f(pool: sqlx::PgPool) -> Result<(), jobkit::error::RunError> {
    /// Worker::on_demand(move || Worker::new(pool.clone()).queue("mail", 5))
    ///     .idle_after(Duration::from_secs(30))
    ///     .run_until_signal()
    ///     .await
    /// # }
    /// ```
    pub fn on_demand<F: Fn() -> Self>(build: F) -> OnDemand<F> {
        OnDemand { build, idle_after: IDLE, look_every: LOOK, called: Arc::default() }
    }
}

impl<F: Fn() -> Worker> OnDemand<F> {
    /// How long the worker must have had nothing to do before it rests, 1 s or more; a minute by
    /// default. Jobs due within that time keep it running.
    pub fn idle_after(mut self, idle: Duration) -> Self {
        self.idle_after = idle;
        self
    }

    /// How often a resting worker checks whether there is something to do, 1 s or more; a minute by
    /// default.
    pub fn look_every(mut self, every: Duration) -> Self {
        self.look_every = every;
        self
    }

    /// A handle to wake the worker from within this process.
    #[must_use]
    pub fn caller(&self) -> Caller {
        Caller(Arc::clone(&self.called))
    }

    /// Runs until SIGTERM or SIGINT (not on Unix: Ctrl-C), and then stops gracefully. The worker
    /// starts immediately once, so that problems show, and its kinds and schedules are announced.
    ///
    /// # Errors
    /// [`RunError::Start`], as [`Worker::start`], but after the first successful start, errors that
    /// may pass are retried; [`RunError::Invalid`] for the times; [`RunError::Signals`] if the
    /// process cannot listen for signals.
    pub async fn run_until_signal(self) -> Result<(), RunError> {
        let mut signals = Signals::listen(log).map_err(RunError::Signals)?;
        self.run_until(async move { signals.next().await }).await
    }

    /// Like [`run_until_signal`](Self::run_until_signal), but until `stop` completes.
    ///
    /// # Errors
    /// [`RunError::Start`], as [`Worker::start`], but after the first successful start, errors that
    /// may pass are retried; [`RunError::Invalid`] for the times.
    pub async fn run_until(self, stop: impl Future<Output = ()>) -> Result<(), RunError> {
        for (what, time) in
            [("seconds of idleness", self.idle_after), ("seconds between looks", self.look_every)]
        {
            crate::limits::range(what, time.as_secs(), 1..=24 * 60 * 60, "1 to 86400")?;
        }
        let mut stop = pin!(stop);
        let mut worker = (self.build)().start().await?;
        loop {
            let ended = self.work(&worker, stop.as_mut()).await;
            worker.stop().await;
            if ended {
                return Ok(());
            }
            tracing::info!("jobkit: nothing to do; the worker rests");
            worker = tokio::select! {
                started = self.rest() => started?,
                () = &mut stop => return Ok(()),
            };
        }
    }

    /// Works until there is nothing to do or the worker should end. Returns whether it should end.
    async fn work(&self, worker: &WorkerHandle, stop: Pin<&mut impl Future<Output = ()>>) -> bool {
        tokio::select! {
            () = stop => true,
            () = worker.stopping() => true,
            () = self.idle(worker) => false,
        }
    }

    /// Completes when the worker has had nothing to do for long, and nothing is due soon.
    async fn idle(&self, worker: &WorkerHandle) {
        let (mut claimed, mut since) = (worker.counts().claimed, Instant::now());
        loop {
            sleep(GLANCE.max(self.idle_after / 10)).await;
            let now = worker.counts().claimed;
            if worker.holds_jobs() || now != claimed {
                (claimed, since) = (now, Instant::now());
            } else if since.elapsed() >= self.idle_after {
                // If the database cannot be queried, there may be something to do.
                let next = self.next_work().await.unwrap_or(Some(Duration::ZERO));
                if next.is_none_or(|next| next > self.idle_after) {
                    return;
                }
                since = Instant::now();
            }
        }
    }

    /// Rests until there is something to do, and starts the worker for it.
    async fn rest(&self) -> Result<WorkerHandle, StartError> {
        loop {
            let next = match self.next_work().await {
                Ok(next) => next,
                Err(error) => {
                    tracing::warn!(%error, "jobkit: cannot check for work");
                    None
                }
            };
            if next == Some(Duration::ZERO) {
                match (self.build)().start().await {
                    // The database may just be waking up, or a lock may be held.
                    Err(error) if may_pass(&error) => {
                        tracing::warn!(%error, "jobkit: cannot start the worker");
                    }
                    started => return started,
                }
            }
            let until = next.filter(|next| !next.is_zero()).unwrap_or(self.look_every);
            let _called = timeout(until.min(self.look_every), self.called.notified()).await;
        }
    }

    /// How long until there is something to do; `None` if nothing is known.
    async fn next_work(&self) -> Result<Option<Duration>, DatabaseError> {
        let worker = (self.build)();
        let names = || worker.queues.iter().flat_map(|pool| &pool.names);
        let queues: Vec<_> = names().map(|named| &*named.name).collect();
        let prefixes: Vec<_> = names().filter_map(Named::prefix).collect();
        let mut link = Link::new("look", worker.source.clone(), worker.settings.deadlines());
        let next = link.call(&next_work(&queues, &prefixes)).await;
        link.close().await;
        next
    }
}

fn log(_number: u32) {
    tracing::info!("jobkit: a signal: the worker stops");
}

/// Whether a failed start may succeed later without anybody's intervention.
fn may_pass(error: &StartError) -> bool {
    use DatabaseError as E;
    match error {
        StartError::Database(E::Unreachable(_) | E::Deadline(_) | E::ReadOnly) => true,
        StartError::Database(error @ E::Failed(_)) => !error.is_final(),
        _ => false,
    }
}
