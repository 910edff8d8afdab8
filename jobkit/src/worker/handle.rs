use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::counters::{Counters, Counts};
use super::run::running::{Running, StopReason};
use super::settings::Settings;
use super::settle::ledger::Ledger;

/// Patience for outcomes that cannot be written while stopping.
const LAST_WRITES: Duration = Duration::from_secs(10);

/// A running worker. [`stop`](Self::stop) it before the process ends.
///
/// Dropping it instead aborts: handlers are dropped, and their jobs run again elsewhere once the
/// lease has lapsed, charged as a crash.
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
}

/// One signal for each part that stops separately.
#[derive(Debug, Default)]
pub(super) struct Stops {
    pub(super) claims: CancellationToken,
    pub(super) duties: CancellationToken,
    /// Write what is left and end.
    pub(super) settler: CancellationToken,
    /// End without writing what is left.
    pub(super) give_up: CancellationToken,
    pub(super) heartbeat: CancellationToken,
}

impl WorkerHandle {
    pub(super) fn new(engine: Engine) -> Self {
        Self { engine }
    }

    /// What the worker has done so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.engine.counters.read()
    }

    /// How many jobs run right now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.engine.running.count()
    }

    /// The id this worker is registered under; it changes when the worker was reaped while it
    /// could not renew its lease.
    #[must_use]
    pub fn id(&self) -> i64 {
        self.engine.ledger.worker()
    }

    /// Completes when the worker claims no more: it was asked to stop through the database, or
    /// the schema has moved on beyond this binary. In the first case running jobs have the stop
    /// grace, as in [`stop`](Self::stop); in the other they go on until that is called.
    pub async fn stopping(&self) {
        self.engine.stops.claims.cancelled().await;
    }

    /// Stops in order: no new claims; running jobs may end within the stop grace; then they are
    /// asked to stop, dropped after the cancel grace and given back without charging an attempt;
    /// outcomes are written; the heartbeat is last.
    pub async fn stop(mut self) {
        self.engine.stop().await;
    }
}

impl Engine {
    async fn stop(&mut self) {
        self.stops.claims.cancel();
        // A claim under way ends first: its jobs must be among those waited for.
        for claimer in &mut self.claimers {
            let _claimer_panicked = claimer.await;
        }
        self.running.close();
        let grace = self.settings.stop_grace;
        if timeout(grace, self.running.empty()).await.is_err() {
            tracing::info!(jobs = self.running.count(), "jobkit: asking jobs to stop");
            self.running.ask_all(StopReason::Stopping);
            let grace = self.settings.cancel_grace + std::time::Duration::from_millis(500);
            if timeout(grace, self.running.empty()).await.is_err() {
                let jobs = self.running.count();
                tracing::warn!(jobs, "jobkit: handlers block their threads; left to the lease");
            }
        }
        self.stops.duties.cancel();
        self.stops.settler.cancel();
        if timeout(LAST_WRITES, &mut self.settler).await.is_err() {
            self.stops.give_up.cancel();
            let _settler_panicked = (&mut self.settler).await;
        }
        for duty in &mut self.duties {
            let _duty_panicked = duty.await;
        }
        self.stops.heartbeat.cancel();
        let _heart_panicked = (&mut self.heartbeat).await;
        tracing::info!("jobkit: worker stopped");
    }
}

/// Also when `stop` is dropped half-way. After a complete stop there is nothing left to end.
impl Drop for Engine {
    fn drop(&mut self) {
        self.claimers.iter().for_each(JoinHandle::abort);
        self.running.close();
        self.running.abort_all(StopReason::LeaseLost);
        self.settler.abort();
        self.duties.iter().for_each(JoinHandle::abort);
        self.stops.heartbeat.cancel();
    }
}
