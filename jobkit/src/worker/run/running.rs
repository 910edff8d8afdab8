use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::lock::Lock;

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
    handlers: Lock<Handlers>,
    left: Notify,
}

#[derive(Debug, Default)]
struct Handlers {
    /// Each at its place; none where a handler has left.
    running: Vec<Option<Arc<Handler>>>,
    /// The places without one.
    free: Vec<usize>,
    /// Drops all handlers that began since it was last used.
    abort: Arc<CancellationToken>,
    /// No handler begins any more.
    closed: bool,
}

impl Handlers {
    fn iter(&self) -> impl Iterator<Item = &Handler> {
        self.running.iter().filter_map(Option::as_deref)
    }

    fn count(&self) -> usize {
        self.running.len() - self.free.len()
    }
}

/// The two stop signals of one handler.
#[derive(Debug)]
pub(crate) struct Handler {
    job: i64,
    place: usize,
    /// Asks; the handler sees it through its context.
    pub(crate) cancel: CancellationToken,
    /// Drops the handler's future, and those of all others.
    pub(crate) abort: Arc<CancellationToken>,
    reason: Lock<Option<StopReason>>,
}

impl Handler {
    fn ask(&self, reason: StopReason) {
        let mut known = self.reason.lock();
        // A lost lease outweighs the rest: whatever else was wanted, it can't be recorded here.
        if known.is_none() || reason == StopReason::LeaseLost {
            *known = Some(reason);
        }
        drop(known);
        self.cancel.cancel();
    }

    /// Why it was asked to stop, if it was.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        *self.reason.lock()
    }
}

impl Running {
    /// The handler of a job begins, unless the worker is done with them.
    pub(crate) fn enter(&self, job: i64) -> Option<Arc<Handler>> {
        let mut handlers = self.handlers.lock();
        if handlers.closed {
            return None;
        }
        let place = handlers.free.pop().unwrap_or(handlers.running.len());
        let handler = Arc::new(Handler {
            job,
            place,
            cancel: CancellationToken::new(),
            abort: Arc::clone(&handlers.abort),
            reason: Lock::default(),
        });
        let entered = Some(Arc::clone(&handler));
        match handlers.running.get_mut(place) {
            Some(free) => *free = entered,
            None => handlers.running.push(entered),
        }
        Some(handler)
    }

    /// From here on no handler begins: those that run are all there will be.
    pub(crate) fn close(&self) {
        self.handlers.lock().closed = true;
    }

    /// A handler has ended.
    pub(crate) fn leave(&self, handler: &Handler) {
        let mut handlers = self.handlers.lock();
        handlers.running[handler.place] = None;
        handlers.free.push(handler.place);
        if handlers.count() == 0 {
            self.left.notify_waiters();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.handlers.lock().count()
    }

    /// Asks every handler to stop.
    pub(crate) fn ask_all(&self, reason: StopReason) {
        self.handlers.lock().iter().for_each(|handler| handler.ask(reason));
    }

    /// Drops every handler, having told it why.
    pub(crate) fn abort_all(&self, reason: StopReason) {
        let mut handlers = self.handlers.lock();
        handlers.iter().for_each(|handler| handler.ask(reason));
        std::mem::take(&mut handlers.abort).cancel();
    }

    /// Asks the handlers of these jobs to stop.
    pub(crate) fn ask_jobs(&self, jobs: &[i64], reason: StopReason) {
        let handlers = self.handlers.lock();
        let of_jobs = handlers.iter().filter(|handler| jobs.contains(&handler.job));
        of_jobs.for_each(|handler| handler.ask(reason));
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
