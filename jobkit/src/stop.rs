use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use tokio_util::sync::CancellationToken;

use crate::hold::{Held, Hold};
use crate::lock::Lock;
use crate::work::{UnderWay, Work};

/// Why an attempt is to end; from [`JobContext::stopping`](crate::JobContext::stopping) and
/// [`JobContext::cancelled`](crate::JobContext::cancelled).
///
/// Whichever it is, a handler that leaves its work unfinished may return
/// [`JobError::release`](crate::JobError::release).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The worker is stopping. A job that is released goes back at once, uncharged; so does one
    /// that fails once the stop grace is over.
    Stopping,
    /// Somebody cancelled the job. Unless the handler returns success, it ends as cancelled.
    Cancelled,
    /// The worker's lease is about to lapse, and another worker may take the job. A job that is
    /// released or fails goes back, uncharged, if that can still be written.
    LeaseLost,
    /// The kind's timeout is over. If the handler releases the job or fails, that is a failed
    /// attempt that timed out.
    TimedOut,
    /// The handler has ended; only tasks that it has left behind see this.
    Ended,
}

/// What the attempts of a worker have in common.
#[derive(Debug, Default)]
pub(crate) struct WorkerWide {
    /// Tells them all that the worker stops.
    pub(crate) stopping: CancellationToken,
    /// The blocking work of all of them.
    pub(crate) work: Arc<Work>,
    /// The kinds of which the log says that they hold their threads.
    holders: Lock<HashSet<&'static str>>,
}

/// What tells one attempt to end: that it should, as its worker stops; that it must. And what there
/// is of it that heeds nothing.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    worker: Arc<WorkerWide>,
    /// Asks this one, and what it has left behind.
    cancel: CancellationToken,
    reason: Lock<Option<StopReason>>,
    /// Its blocking work, once there is some.
    work: OnceLock<Arc<Work>>,
    pub(crate) hold: Hold,
}

impl Stop {
    pub(crate) fn of_worker(worker: &Arc<WorkerWide>) -> Self {
        Self { worker: Arc::clone(worker), ..Self::default() }
    }

    /// Blocking work begins: it is this attempt's, and its worker's.
    pub(crate) fn begin_work(&self) -> [UnderWay; 2] {
        [self.work.get_or_init(Arc::default).begin(), self.worker.work.begin()]
    }

    /// The blocking work of each of these is that of all: one call runs them.
    pub(crate) fn work_together<'a>(stops: impl Iterator<Item = &'a Self>) {
        let work = Arc::default();
        stops.for_each(|stop| drop(stop.work.set(Arc::clone(&work))));
    }

    /// Whether blocking work of this attempt is under way.
    pub(crate) fn is_working(&self) -> bool {
        self.work.get().is_some_and(|work| work.is_under_way())
    }

    /// Completes when no blocking work of this attempt is under way.
    pub(crate) async fn work_over(&self) {
        if let Some(work) = self.work.get() {
            work.over().await;
        }
    }

    /// Runs the handler, and looks how long it holds its thread.
    pub(crate) async fn timed<F: Future>(&self, handler: F) -> F::Output {
        self.hold.timed(handler, |held| self.warn_once(held)).await
    }

    /// Says in the log that handlers of a kind hold their threads, unless that was said.
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
        // A lost lease outweighs the rest: whatever else was wanted, it can't be recorded here.
        if known.is_none() || reason == StopReason::LeaseLost {
            *known = Some(reason);
        }
        drop(known);
        self.cancel.cancel();
    }

    /// It has ended: tasks that were given its token end as well.
    pub(crate) fn end(&self) {
        self.cancel.cancel();
    }

    /// Why it was asked to end, if it was.
    pub(crate) fn asked(&self) -> Option<StopReason> {
        *self.reason.lock()
    }

    /// Why it is to end, now or before long.
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

    /// Completes when it should end, if not before that must.
    pub(crate) async fn until_told(&self) -> StopReason {
        tokio::select! {
            () = self.cancel.cancelled() => {}
            () = self.worker.stopping.cancelled() => {}
        }
        self.reason().unwrap_or(StopReason::Ended)
    }
}
