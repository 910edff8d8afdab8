use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::lock::Lock;

/// Why an attempt is to end; from [`JobContext::stopping`](crate::JobContext::stopping) and
/// [`JobContext::cancelled`](crate::JobContext::cancelled).
///
/// Whichever it is, a handler that leaves its work unfinished may return
/// [`JobError::release`](crate::JobError::release).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The worker stops. What is released goes back at once, uncharged, and so does what fails once
    /// the stop grace is over.
    Stopping,
    /// Somebody cancelled the job. Whatever the handler returns but success, it ends as cancelled.
    Cancelled,
    /// The worker's lease is about to lapse, and the job to be somebody else's. What is released or
    /// fails goes back, uncharged, if that can still be written.
    LeaseLost,
    /// The kind's timeout is over. What is released or fails is a failed attempt that timed out.
    TimedOut,
    /// The handler has ended: this is for tasks that it has left behind.
    Ended,
}

/// What tells one attempt to end: that it should, as its worker stops; that it must.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    /// Tells all attempts of the worker.
    stopping: Arc<CancellationToken>,
    /// Asks this one, and what it has left behind.
    cancel: CancellationToken,
    reason: Lock<Option<StopReason>>,
}

impl Stop {
    pub(crate) fn of_worker(stopping: &Arc<CancellationToken>) -> Self {
        Self { stopping: Arc::clone(stopping), ..Self::default() }
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
        let told = || self.stopping.is_cancelled().then_some(StopReason::Stopping);
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
            () = self.stopping.cancelled() => {}
        }
        self.reason().unwrap_or(StopReason::Ended)
    }
}
