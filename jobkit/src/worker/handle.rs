use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::counters::{Counters, Counts};
use super::settings::Settings;
use super::shared::ledger::Ledger;
use super::shared::running::Running;
use super::signals::Signals;
use crate::StopReason;
use crate::hooks::{Event, Hooks};

/// How long dropped handlers may take to end.
const LEAVING: Duration = Duration::from_millis(500);

/// A running worker. Call [`run_until_signal`](Self::run_until_signal), or [`stop`](Self::stop) it
/// before the process ends.
///
/// Dropping it instead aborts the worker: handlers are dropped, and their jobs run again elsewhere
/// once the lease has lapsed, charged as a crash.
#[must_use = "dropping the handle aborts the worker"]
#[derive(Debug)]
pub struct WorkerHandle {
    engine: Engine,
}

/// The running parts, in the order in which they stop.
#[derive(Debug)]
pub(super) struct Engine {
    pub(super) claimers: Vec<JoinHandle<()>>,
    pub(super) settler: JoinHandle<()>,
    pub(super) duties: Vec<JoinHandle<()>>,
    pub(super) heartbeat: oneshot::Receiver<()>,
    pub(super) settings: Settings,
    pub(super) ledger: Arc<Ledger>,
    pub(super) running: Arc<Running>,
    pub(super) counters: Arc<Counters>,
    pub(super) stops: Stops,
    pub(super) hooks: Option<Arc<Hooks<Event>>>,
}

/// One signal for each part that stops separately.
#[derive(Debug, Default)]
pub(super) struct Stops {
    pub(super) claims: CancellationToken,
    /// The owner has stopped the worker and its handlers: jobs that outlast it are given back in
    /// the end.
    pub(super) in_order: CancellationToken,
    /// End handlers without their grace periods.
    pub(super) hurry: CancellationToken,
    pub(super) duties: CancellationToken,
    /// Write what is left and end.
    pub(super) settler: CancellationToken,
    /// End without writing what is left.
    pub(super) give_up: CancellationToken,
    pub(super) heartbeat: CancellationToken,
    /// Faults injected by a test.
    #[cfg(feature = "testing")]
    pub(super) faults: super::faults::Faults,
}

impl WorkerHandle {
    pub(super) fn new(engine: Engine) -> Self {
        Self { engine }
    }

    /// What the worker has done so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let unheard = self.engine.hooks.as_ref().map_or(0, |hooks| hooks.unheard());
        Counts { unheard, ..self.engine.counters.read() }
    }

    /// How many jobs run right now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.engine.running.count()
    }

    /// Whether jobs run, or have an outcome that is not written yet.
    pub(super) fn holds_jobs(&self) -> bool {
        !self.engine.ledger.snapshot().held.is_empty()
    }

    /// The id under which this worker is registered; it changes if the worker is reaped because it
    /// could not renew its lease.
    #[must_use]
    pub fn id(&self) -> i64 {
        self.engine.ledger.worker()
    }

    /// Makes the next write of outcomes fail, to test handlers against it: a job may run again
    /// although it succeeded, or its outcome may be written late.
    #[cfg(feature = "testing")]
    pub fn fail_next_settle(&self, fault: crate::testing::SettleFault) {
        self.engine.stops.faults.set(fault);
    }

    /// Completes when the worker claims no more jobs: it is being stopped, by its owner or by an
    /// operator through the database, or the schema has become too new for this binary. In the last
    /// case, running jobs continue until [`stop`](Self::stop) is called.
    ///
    /// The future outlives the handle, so a server can stop in step with the worker:
    ///
    /// ```ignore
    /// let server = axum::serve(listener, app).with_graceful_shutdown(worker.stopping());
    /// tokio::try_join!(server.into_future(), worker.run_until_signal())?;
    /// ```
    pub fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        self.engine.stops.claims.clone().cancelled_owned()
    }

    /// Stops gracefully. The worker claims no more jobs. Handlers are told
    /// ([`JobContext::stopping`]) and may finish within the stop grace; then they are asked to end
    /// ([`JobContext::cancelled`]). After the cancel grace they are dropped, and their jobs are
    /// given back without charging an attempt. Outcomes are written, and the heartbeat ends last.
    ///
    /// This takes at most as long as [`Worker::stop_within`], unless longer graces are set. Work
    /// that cannot be stopped (a handler that blocks its thread, or a closure of
    /// [`JobContext::blocking`]) is left behind: the lease of its job is renewed until it returns
    /// and the job is given back, or until the process ends.
    ///
    /// [`JobContext::blocking`]: crate::JobContext::blocking
    /// [`JobContext::stopping`]: crate::JobContext::stopping
    /// [`JobContext::cancelled`]: crate::JobContext::cancelled
    /// [`Worker::stop_within`]: crate::Worker::stop_within
    pub async fn stop(mut self) {
        self.engine.stop().await;
    }

    /// Runs until SIGTERM or SIGINT (not on Unix: Ctrl-C), or until the worker is
    /// [`stopping`](Self::stopping) for another reason; then [stops](Self::stop) it cleanly. A
    /// second signal immediately drops whatever still runs; those jobs are also given back,
    /// uncharged.
    ///
    /// From this call on, the signals no longer end the process: the code after this call has to.
    /// They are received on a thread of their own, and handlers are told immediately, even if one
    /// of them blocks the only thread of the runtime; but then this call cannot return, nor the
    /// runtime end, before that handler does. Closures of [`JobContext::blocking`] delay neither.
    ///
    /// # Errors
    /// If signals cannot be received; the worker is stopped then.
    ///
    /// [`JobContext::blocking`]: crate::JobContext::blocking
    pub async fn run_until_signal(mut self) -> io::Result<()> {
        let _signals = match Signals::listen(self.engine.on_signal()) {
            Ok(signals) => signals,
            Err(error) => {
                self.stop().await;
                return Err(error);
            }
        };
        self.stopping().await;
        self.engine.stop().await;
        Ok(())
    }
}

impl Engine {
    /// What each signal does, by its number, on the thread that receives them: the parts of a stop
    /// that must not wait for a blocked runtime. Doing it twice is harmless.
    fn on_signal(&self) -> impl FnMut(u32) + Send + use<> {
        let (claims, hurry) = (self.stops.claims.clone(), self.stops.hurry.clone());
        let running = Arc::clone(&self.running);
        let (grace, cancel_grace) = (self.settings.stop_grace(), self.settings.cancel_grace());
        let limit = grace + cancel_grace + self.settings.last_writes();
        let limit = limit.max(self.settings.stop_within);
        move |number| match number {
            1 => {
                tracing::info!(jobs = running.count(), "jobkit: a signal: the worker stops");
                claims.cancel();
                running.close();
                tokio::spawn(hold_to(Arc::clone(&running), grace, limit));
            }
            _ => hurry.cancel(),
        }
    }

    async fn stop(&mut self) {
        self.stops.claims.cancel();
        self.stops.duties.cancel();
        self.running.close();
        let ask_at = Instant::now() + self.settings.stop_grace();
        let drop_at = ask_at + self.settings.cancel_grace();
        self.end_handlers(ask_at, drop_at).await;
        self.stops.in_order.cancel();
        self.end_services(drop_at).await;
        if let Some(hooks) = &self.hooks {
            let stopped = Event::Stopped { worker: self.ledger.worker() };
            hooks.end(stopped, self.settings.last_hooks()).await;
        }
        tracing::info!("jobkit: worker stopped");
    }

    async fn end_handlers(&self, ask_at: Instant, drop_at: Instant) {
        if !self.ended_by(ask_at).await {
            tracing::info!(jobs = self.running.count(), "jobkit: asking jobs to stop");
            self.running.ask_all(StopReason::Stopping);
        }
        if !self.ended_by(drop_at).await {
            self.running.abort_all(StopReason::Stopping);
            let leaving = LEAVING.min(self.settings.last_writes() / 2);
            if timeout(leaving, self.running.empty()).await.is_err() {
                let jobs = self.running.count();
                tracing::warn!(
                    jobs,
                    "jobkit: jobs block their threads; the lease is kept until they or the process \
                     end"
                );
            }
        }
    }

    /// Whether all handlers have ended by then; in a hurry, this does not wait.
    async fn ended_by(&self, at: Instant) -> bool {
        tokio::select! {
            biased;
            () = self.running.empty() => true,
            () = self.stops.hurry.cancelled() => false,
            () = sleep_until(at) => false,
        }
    }

    /// Writes what is left and ends everything within the time after the graces. Whatever is late
    /// is aborted with the engine.
    async fn end_services(&mut self, graces_end: Instant) {
        let last_writes = self.settings.last_writes();
        let hurry = self.stops.hurry.is_cancelled();
        let end_at = if hurry { Instant::now() } else { graces_end } + last_writes;
        let (claimers, settler) = (&mut self.claimers, &mut self.settler);
        let written = async {
            // A claim in progress ends first: the jobs it brings are given back.
            for claimer in claimers {
                let _claimer_panicked = claimer.await;
            }
            self.stops.settler.cancel();
            let _settler_panicked = settler.await;
        };
        if timeout_at(end_at - last_writes / 4, written).await.is_err() {
            self.stops.give_up.cancel();
        }
        let ended = async {
            for duty in &mut self.duties {
                let _duty_panicked = duty.await;
            }
            self.stops.heartbeat.cancel();
            let _heart_panicked = (&mut self.heartbeat).await;
        };
        if timeout_at(end_at, ended).await.is_err() {
            tracing::warn!("jobkit: the database does not answer; leaving the rest to the lease");
        }
    }
}

/// Asks handlers to stop when their grace is over, and logs when the limit is.
async fn hold_to(running: Arc<Running>, grace: Duration, limit: Duration) {
    let limit_at = Instant::now() + limit;
    sleep(grace).await;
    running.ask_all(StopReason::Stopping);
    sleep_until(limit_at).await;
    let jobs = running.count();
    if jobs > 0 {
        tracing::warn!(
            jobs,
            "jobkit: the worker has not stopped in time, since handlers block its runtime; the \
             lease is kept until they or the process end"
        );
    }
}

/// Also if `stop` is dropped half-way. After a complete stop there is nothing left to end.
impl Drop for Engine {
    fn drop(&mut self) {
        self.claimers.iter().for_each(JoinHandle::abort);
        self.running.close();
        let in_order = self.stops.in_order.is_cancelled();
        let reason = if in_order { StopReason::Stopping } else { StopReason::LeaseLost };
        self.running.abort_all(reason);
        self.settler.abort();
        self.duties.iter().for_each(JoinHandle::abort);
        self.stops.heartbeat.cancel();
    }
}
