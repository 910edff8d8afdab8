use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::hold::{Held, Hold};
use crate::lock::Lock;
use crate::work::{UnderWay, Work};

/// Why an attempt should end, as returned by [`JobContext::stopping`](crate::JobContext::stopping)
/// and [`JobContext::cancelled`](crate::JobContext::cancelled).
///
/// In each case, a handler that leaves its work unfinished may return
/// [`JobError::release`](crate::JobError::release).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The worker is stopping. A released job goes back immediately, uncharged; so does one that
    /// fails after the stop grace is over.
    Stopping,
    /// Somebody cancelled the job. Unless the handler returns success, it ends as cancelled.
    Cancelled,
    /// The worker's lease is about to lapse, and another worker may take the job. A job that is
    /// released or fails goes back, uncharged, if that can still be written.
    LeaseLost,
    /// The kind's timeout is over. If the handler releases the job or fails, that is a failed
    /// attempt that timed out.
    TimedOut,
    /// The handler has ended. Only tasks that it left behind see this.
    Ended,
}

/// What the attempts of a worker have in common.
#[derive(Debug, Default)]
pub(crate) struct WorkerWide {
    /// Tells all attempts that the worker is stopping.
    pub(crate) stopping: CancellationToken,
    /// The blocking work of all attempts.
    pub(crate) work: Arc<Work>,
    /// The kinds for which a held thread was logged.
    holders: Lock<HashSet<&'static str>>,
}

/// Tells one attempt that it should end, since its worker is stopping, or that it must; and tracks
/// its blocking work, which cannot be stopped.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    worker: Arc<WorkerWide>,
    /// Asks this attempt, and tasks that it left behind.
    cancel: CancellationToken,
    reason: Lock<Option<StopReason>>,
    /// Its blocking work, if it has any.
    work: OnceLock<Arc<Work>>,
    pub(crate) hold: Hold,
}

impl Stop {
    pub(crate) fn of_worker(worker: &Arc<WorkerWide>) -> Self {
        Self { worker: Arc::clone(worker), ..Self::default() }
    }

    /// Blocking work begins, which counts for this attempt and its worker.
    pub(crate) fn begin_work(&self) -> [UnderWay; 2] {
        [self.work.get_or_init(Arc::default).begin(), self.worker.work.begin()]
    }

    /// Shares the blocking work among attempts that one call runs.
    pub(crate) fn work_together<'a>(stops: impl Iterator<Item = &'a Self>) {
        let work = Arc::default();
        stops.for_each(|stop| drop(stop.work.set(Arc::clone(&work))));
    }

    /// Whether this attempt has blocking work in progress.
    pub(crate) fn is_working(&self) -> bool {
        self.work.get().is_some_and(|work| work.is_under_way())
    }

    /// Completes when this attempt has no blocking work in progress.
    pub(crate) async fn work_over(&self) {
        if let Some(work) = self.work.get() {
            work.over().await;
        }
    }

    /// Runs the handler, and measures how long it holds its thread.
    pub(crate) async fn timed<F: Future>(&self, handler: F) -> F::Output {
        self.hold.timed(handler, |held| self.warn_once(held)).await
    }

    /// Logs once per kind that its handlers hold their threads.
    pub(crate) fn warn_once(&self, held: Held) {
        if self.worker.holders.lock().insert(held.kind) {
            held.warn();
        }
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.cancel
    }

    /// Asks it to end.
    pub(crate) fn ask(&self, reason: StopReason) {
        let mut known = self.reason.lock();
        // A lost lease takes precedence: no other outcome can be recorded here.
        if known.is_none() || reason == StopReason::LeaseLost {
            *known = Some(reason);
        }
        drop(known);
        self.cancel.cancel();
    }

    /// The attempt has ended, so tasks that have its token end as well.
    pub(crate) fn end(&self) {
        self.cancel.cancel();
    }

    /// Why it was asked to end, if it was.
    pub(crate) fn asked(&self) -> Option<StopReason> {
        *self.reason.lock()
    }

    /// Why it should end, now or soon.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        let told = || self.worker.stopping.is_cancelled().then_some(StopReason::Stopping);
        let ended = || self.cancel.is_cancelled().then_some(StopReason::Ended);
        self.asked().or_else(told).or_else(ended)
    }

    /// Completes when it must end.
    pub(crate) async fn until_asked(&self) -> StopReason {
        self.cancel.cancelled().await;
        self.reason().unwrap_or(StopReason::Ended)
    }

    /// Completes when it should or must end.
    pub(crate) async fn until_told(&self) -> StopReason {
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.worker.stopping.cancelled() => {}
        }
        self.reason().unwrap_or(StopReason::Ended)
    }
}
