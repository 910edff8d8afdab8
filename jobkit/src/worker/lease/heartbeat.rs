mod keep;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::StopReason;
use crate::error::DatabaseError;
use crate::meter;
use crate::reports::Reports;
use crate::schedule::ZoneRules;
use crate::store::{
    Link, Says, deregister, interval, lost_jobs, measure, register, release_lost, renew_lease,
    report,
};
use crate::worker::counters::Counters;
use crate::worker::halves;
use crate::worker::lease::Lease;
use crate::worker::settings::Settings;
use crate::worker::shared::ledger::{Ledger, Snapshot};
use crate::worker::shared::measures::{self, Measures};
use crate::worker::shared::running::Running;
use crate::worker::shared::slots::{Slots, listed};
use crate::worker::shared::wake::Wake;
use crate::worker::ticker::{backoff, jitter};

/// Keeps the lease, on a thread and a connection of its own, so that a handler that blocks the
/// runtime does not lose it.
///
/// It stops handlers when the lease cannot be renewed, before other workers may start their jobs.
/// Judging other workers is the reaper's job. If it did not run for a lease, the claims of this
/// worker would be reaped.
pub(crate) struct Heartbeat {
    pub(crate) link: Link,
    pub(crate) settings: Settings,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) lease: Arc<Lease>,
    pub(crate) running: Arc<Running>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) measures: Arc<Measures>,
    pub(crate) reports: Arc<Reports>,
    pub(crate) kinds: Vec<String>,
    pub(crate) declaration: Option<i64>,
    /// Set when the worker stops, through its owner or on request.
    pub(crate) stopping: CancellationToken,
    /// Set when its owner stops the worker gracefully.
    pub(crate) in_order: CancellationToken,
    /// Whether an operator's request to stop was seen.
    pub(crate) stop_seen: bool,
}

impl Heartbeat {
    /// Starts the thread. The receiver completes when it has ended, or only continues for work that
    /// cannot be stopped.
    pub(crate) fn spawn(self, stop: CancellationToken) -> std::io::Result<oneshot::Receiver<()>> {
        let (ended, end) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("jobkit-heartbeat".to_owned()).spawn(move || {
            runtime.block_on(self.run(stop, ended));
        })?;
        Ok(end)
    }

    async fn run(mut self, stop: CancellationToken, ended: oneshot::Sender<()>) {
        let (lease, running) = (Arc::clone(&self.lease), Arc::clone(&self.running));
        tokio::select! {
            () = self.beat_until(&stop) => {}
            () = watch(&lease, &running) => {}
        }
        let mut ended = Some(ended);
        let mut tell = || ended.take().map(|ended| ended.send(()));
        if running.is_busy() {
            // The worker does not wait for this.
            tell();
            self.keep().await;
        }
        self.end().await;
        tell();
    }

    async fn beat_until(&mut self, stop: &CancellationToken) {
        let mut failures = 0;
        let mut stopping_told = false;
        loop {
            let rest = match self.beat().await {
                Ok(()) => {
                    failures = 0;
                    jitter(self.settings.heartbeat(), 0.1)
                }
                Err(error) => {
                    self.lease.falter();
                    failures += 1;
                    tracing::warn!(failures, %error, "jobkit: heartbeat failed");
                    backoff(failures).min(self.settings.heartbeat())
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(rest) => {}
                // Others should know immediately that this worker no longer serves anything.
                () = self.stopping.cancelled(), if !stopping_told => stopping_told = true,
            }
        }
    }

    async fn beat(&mut self) -> Result<(), DatabaseError> {
        let (sent, slept) = (Instant::now(), self.lease.slept());
        // Before the beat: calls that are concluded now are no longer in progress.
        let snapshot = self.ledger.snapshot();
        let worker = snapshot.worker;
        let stopping = self.stopping.is_cancelled();
        let beat = renew_lease(worker, stopping, snapshot.begun);
        let used = self.link.is_open();
        let pulse = match self.link.call(&beat).await {
            // A connection that ended while idle says nothing about the server: retrying on another
            // one does not count as a failed beat.
            Err(DatabaseError::Unreachable(_)) if used => self.link.call(&beat).await?,
            pulse => pulse?,
        };
        if !pulse.alive {
            return self.begin_anew().await;
        }
        if self.lease.slept() > slept {
            // It may have been renewed before the machine slept, for an unknown time.
            return Err(DatabaseError::Deadline(self.lease.slept() - slept));
        }
        meter::lease_left(self.lease.ends().1.saturating_duration_since(Instant::now()));
        self.lease.renew(sent, pulse.lapsed);
        self.running.ask_jobs(&pulse.cancel, StopReason::Cancelled);
        if pulse.stop && !self.stop_seen {
            self.stop_seen = true;
            tracing::info!("jobkit: asked to stop; no new claims");
            self.stopping.cancel();
            self.running.close();
            tokio::spawn(wind_down(Arc::clone(&self.running), self.settings.stop_grace()));
        }
        // The lease is renewed whether or not this succeeds.
        if let Err(error) = self.release_lost(&snapshot).await {
            tracing::warn!(%error, "jobkit: could not give back claims whose answer was lost");
        }
        self.add_measures().await;
        // Another beat is due by then, and reports must not cost the lease.
        self.write_reports(worker, sent + self.settings.heartbeat()).await;
        Ok(())
    }

    /// Adds what was measured since the last beat, in one statement, if anything was. If the server
    /// refuses it, it is kept for the next beat; without an answer it is dropped, so that nothing
    /// is counted twice.
    async fn add_measures(&mut self) {
        let counted = self.measures.take();
        if counted.is_empty() {
            return;
        }
        let queues = self.slots.queues();
        let rows = measures::rows(&counted, &queues);
        if let Err(error) = self.link.call(&measure(&rows)).await {
            let refused = error.code();
            if refused.as_deref() == Some("55P03") {
                tracing::debug!("jobkit.measure: these rows are locked; trying again later");
            } else {
                tracing::warn!(%error, "jobkit: could not write measures");
            }
            if refused.is_some() {
                self.measures.put_back(counted);
            }
        }
    }

    /// Writes the reports of attempts since the last beat, usually in one statement. What does not
    /// fit a few statements, was refused, or was not begun by then, goes with the next beat.
    async fn write_reports(&mut self, worker: i64, until: Instant) {
        for _ in 0..STATEMENTS {
            if Instant::now() >= until {
                return;
            }
            let Some(batch) = self.reports.take() else { return };
            let call = report(worker, &batch.rows, &batch.over, &batch.unkept);
            if let Err(error) = self.link.call(&call).await {
                tracing::debug!(%error, "jobkit: could not write the reports of attempts");
                self.reports.put_back(batch);
                return;
            }
        }
    }

    /// Gives back claims that calls of this worker may have made although their answer was lost, or
    /// if that fails as a whole, as many of their jobs as possible.
    async fn release_lost(&mut self, snapshot: &Snapshot) -> Result<(), DatabaseError> {
        let Snapshot { worker, concluded, ref held, ref suspect, .. } = *snapshot;
        let release = |jobs| release_lost(worker, concluded, held, suspect, jobs);
        let mut released = 0;
        match self.link.call(&release(None)).await {
            Err(error) if error.may_be_one_job() => {
                let jobs = self.link.call(&lost_jobs(worker, concluded, held)).await?;
                let part = |jobs| release(Some(jobs));
                let stuck = halves::by_halves(&mut self.link, &jobs, &mut released, part).await?;
                halves::report(&mut self.link, "release", worker, &stuck).await;
            }
            answer => released = answer?,
        }
        self.ledger.cleared(snapshot);
        if released > 0 {
            tracing::warn!(jobs = released, "jobkit: gave back claims whose answer was lost");
            self.counters.unanswered.add(usize::try_from(released).unwrap_or(0));
            self.wake.ring();
        }
        Ok(())
    }

    /// This worker was reaped, so its jobs belong to others now. It continues with a new id.
    async fn begin_anew(&mut self) -> Result<(), DatabaseError> {
        tracing::warn!(worker = self.ledger.worker(), "jobkit: reaped; beginning anew");
        self.running.abort_all(StopReason::LeaseLost);
        let sent = Instant::now();
        let worker = fastrand::i64(1..);
        let (name, lease) = (&self.settings.name, interval(self.settings.lease));
        let says = Says::new(self.declaration, ZoneRules::current());
        let serves = listed(self.slots.pools());
        let call = register(worker, name, &self.kinds, lease, &serves, &says);
        self.link.call(&call).await?;
        self.ledger.begin_anew(worker);
        // Handlers of old claims that began meanwhile: from here on none does.
        self.running.abort_all(StopReason::LeaseLost);
        self.lease.renew(sent, true);
        // The claimer may be sleeping, and its hint for enqueues is gone with the old id.
        self.wake.ring();
        Ok(())
    }

    /// Ends. While claims are held (a handler does not stop, or outcomes could not be written) the
    /// worker's row stays, so that nobody takes the claims before the lease ends.
    async fn end(mut self) {
        let snapshot = self.ledger.snapshot();
        if snapshot.held.is_empty() {
            let worker = snapshot.worker;
            self.add_measures().await;
            self.write_reports(worker, Instant::now() + self.settings.lease).await;
            let mut ended = self.release_lost(&snapshot).await;
            if ended.is_ok() {
                ended = self.link.call(&deregister(worker)).await;
            }
            if let Err(error) = ended {
                tracing::warn!(%error, "jobkit: could not deregister; the lease will lapse");
            }
        }
        self.link.close().await;
    }
}

/// Asks the handlers of a worker that an operator stops to stop, after their grace. The owner of
/// the worker may do so, too: asking twice is harmless.
async fn wind_down(running: Arc<Running>, grace: Duration) {
    sleep(grace).await;
    running.ask_all(StopReason::Stopping);
}

/// The maximum number of statements with reports in a beat.
const STATEMENTS: usize = 8;

/// How often to check whether the machine, and with it its timers, has slept.
const LOOK: Duration = Duration::from_millis(500);

/// Stops the handlers when the lease ends: asks them a margin before, drops them at its end. Also
/// reports handlers that hold their threads.
async fn watch(lease: &Lease, running: &Running) {
    loop {
        lease.slept();
        running.warn_of_holders();
        let (ask_at, drop_at) = lease.ends();
        let now = Instant::now();
        if now >= drop_at {
            running.abort_all(StopReason::LeaseLost);
            sleep(Duration::from_millis(50)).await;
        } else if now >= ask_at {
            running.ask_all(StopReason::LeaseLost);
            sleep((drop_at - now).min(Duration::from_millis(50))).await;
        } else {
            sleep((ask_at - now).min(LOOK)).await;
        }
    }
}
