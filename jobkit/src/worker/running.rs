use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    handlers: Mutex<Handlers>,
    left: Notify,
}

#[derive(Debug, Default)]
struct Handlers {
    /// By the claim's worker and number, and the job.
    by_key: HashMap<(i64, i64, i64), Arc<Handler>>,
    /// Drops all handlers that began since it was last used.
    abort: Arc<CancellationToken>,
    /// No handler begins any more.
    closed: bool,
}

/// The two stop signals of one handler.
#[derive(Debug)]
pub(crate) struct Handler {
    /// Asks; the handler sees it through its context.
    pub(crate) cancel: CancellationToken,
    /// Drops the handler's future, and those of all others.
    pub(crate) abort: Arc<CancellationToken>,
    reason: Mutex<Option<StopReason>>,
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
    fn handlers(&self) -> MutexGuard<'_, Handlers> {
        self.handlers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A handler begins, unless the worker is done with them; the key is the claim's worker and
    /// number, and the job.
    pub(crate) fn enter(&self, key: (i64, i64, i64)) -> Option<Arc<Handler>> {
        let mut handlers = self.handlers();
        if handlers.closed {
            return None;
        }
        let handler = Arc::new(Handler {
            cancel: CancellationToken::new(),
            abort: Arc::clone(&handlers.abort),
            reason: Mutex::default(),
        });
        handlers.by_key.insert(key, Arc::clone(&handler));
        Some(handler)
    }

    /// From here on no handler begins: those that run are all there will be.
    pub(crate) fn close(&self) {
        self.handlers().closed = true;
    }

    /// A handler has ended.
    pub(crate) fn leave(&self, key: (i64, i64, i64)) {
        let mut handlers = self.handlers();
        handlers.by_key.remove(&key);
        if handlers.by_key.is_empty() {
            self.left.notify_waiters();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.handlers().by_key.len()
    }

    /// Asks every handler to stop.
    pub(crate) fn ask_all(&self, reason: StopReason) {
        self.handlers().by_key.values().for_each(|handler| handler.ask(reason));
    }

    /// Drops every handler, having told it why.
    pub(crate) fn abort_all(&self, reason: StopReason) {
        let mut handlers = self.handlers();
        handlers.by_key.values().for_each(|handler| handler.ask(reason));
        std::mem::take(&mut handlers.abort).cancel();
    }

    /// Asks the handlers of these jobs to stop.
    pub(crate) fn ask_jobs(&self, jobs: &[i64], reason: StopReason) {
        let handlers = self.handlers();
        let of_jobs = handlers.by_key.iter().filter(|(key, _)| jobs.contains(&key.2));
        of_jobs.for_each(|(_, handler)| handler.ask(reason));
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
