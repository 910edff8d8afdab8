use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// Why a running handler is asked to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// Somebody cancelled the job.
    Cancelled,
    /// The worker stops.
    Stopping,
    /// The lease is about to lapse, or has: the job is about to be somebody else's.
    LeaseLost,
}

/// The handlers this worker runs, and the way to stop them: first asked, then dropped.
#[derive(Debug, Default)]
pub(crate) struct Running {
    handlers: Mutex<HashMap<(i64, i64, i64), Handler>>,
    left: Notify,
}

/// The two stop signals of one handler.
#[derive(Debug, Clone, Default)]
pub(crate) struct Handler {
    /// Asks; the handler sees it through its context.
    pub(crate) cancel: CancellationToken,
    /// Drops the handler's future.
    pub(crate) abort: CancellationToken,
    reason: std::sync::Arc<Mutex<Option<StopReason>>>,
}

impl Handler {
    fn ask(&self, reason: StopReason) {
        let mut known = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        // A lost lease outweighs the rest: whatever else was wanted, it can't be recorded here.
        if known.is_none() || reason == StopReason::LeaseLost {
            *known = Some(reason);
        }
        drop(known);
        self.cancel.cancel();
    }

    /// Why it was asked to stop, if it was.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        *self.reason.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn handlers(&self) -> MutexGuard<'_, HashMap<(i64, i64, i64), Handler>> {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handler begins; the key is the claim's worker and number, and the job.
    pub(crate) fn enter(&self, key: (i64, i64, i64)) -> Handler {
        let handler = Handler::default();
        self.handlers().insert(key, handler.clone());
        handler
    }

    /// A handler has ended.
    pub(crate) fn leave(&self, key: (i64, i64, i64)) {
        self.handlers().remove(&key);
        self.left.notify_waiters();
    }

    pub(crate) fn count(&self) -> usize {
        self.handlers().len()
    }

    /// Asks every handler to stop.
    pub(crate) fn ask_all(&self, reason: StopReason) {
        self.handlers().values().for_each(|handler| handler.ask(reason));
    }

    /// Drops every handler, having told it why.
    pub(crate) fn abort_all(&self, reason: StopReason) {
        for handler in self.handlers().values() {
            handler.ask(reason);
            handler.abort.cancel();
        }
    }

    /// The handlers of these jobs.
    pub(crate) fn of_jobs(&self, jobs: &[i64]) -> Vec<Handler> {
        let handlers = self.handlers();
        handlers.iter().filter(|(key, _)| jobs.contains(&key.2)).map(|(_, h)| h.clone()).collect()
    }

    /// Asks one handler to stop.
    pub(crate) fn ask(handler: &Handler, reason: StopReason) {
        handler.ask(reason);
    }

    /// Completes when no handler runs.
    pub(crate) async fn empty(&self) {
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            // Enabled first: a handler that leaves between the look and the wait must be noticed.
            left.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            left.await;
        }
    }
}
