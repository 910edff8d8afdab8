use std::sync::Arc;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::StopReason;
use crate::lock::Lock;
use crate::stop::{Stop, WorkerWide};

/// The running handlers of this worker, and how to stop them: told, asked, dropped.
#[derive(Debug, Default)]
pub(crate) struct Running {
    handlers: Lock<Handlers>,
    worker: Arc<WorkerWide>,
    left: Notify,
}

#[derive(Debug, Default)]
struct Handlers {
    /// Each job at its place, and how to stop it; `None` if the handler has left.
    running: Vec<Option<(i64, Arc<Stop>)>>,
    /// The free places.
    free: Vec<usize>,
    /// Drops all handlers that have begun since it was last used.
    abort: Arc<CancellationToken>,
    /// Set when no more handlers may begin.
    closed: bool,
}

impl Handlers {
    fn iter(&self) -> impl Iterator<Item = &(i64, Arc<Stop>)> {
        self.running.iter().flatten()
    }

    fn count(&self) -> usize {
        self.running.len() - self.free.len()
    }
}

/// A running handler, and how to stop it. It has ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Handler {
    running: Arc<Running>,
    place: usize,
    /// Tells and asks; the handler sees it through its context.
    pub(crate) stop: Arc<Stop>,
    /// Drops the handler's future, and all others.
    pub(crate) abort: Arc<CancellationToken>,
}

impl Running {
    /// Registers the handler of a job, unless no more may begin.
    pub(crate) fn enter(self: &Arc<Self>, job: i64) -> Option<Handler> {
        let mut handlers = self.handlers.lock();
        if handlers.closed {
            return None;
        }
        let place = handlers.free.pop().unwrap_or(handlers.running.len());
        let stop = Arc::new(Stop::of_worker(&self.worker));
        let entered = Some((job, Arc::clone(&stop)));
        match handlers.running.get_mut(place) {
            Some(free) => *free = entered,
            None => handlers.running.push(entered),
        }
        Some(Handler { running: Arc::clone(self), place, stop, abort: Arc::clone(&handlers.abort) })
    }

    /// From here on no handler begins, and running ones are told that the worker is stopping.
    pub(crate) fn close(&self) {
        self.handlers.lock().closed = true;
        self.worker.stopping.cancel();
    }

    fn leave(&self, place: usize) {
        let mut handlers = self.handlers.lock();
        handlers.running[place] = None;
        handlers.free.push(place);
        if handlers.count() == 0 {
            self.left.notify_waiters();
        }
    }

    /// The jobs of the running handlers.
    pub(crate) fn jobs(&self) -> Vec<i64> {
        self.handlers.lock().iter().map(|(job, _)| *job).collect()
    }

    /// Logs kinds that hold their threads for long, each once.
    pub(crate) fn warn_of_holders(&self) {
        let handlers = self.handlers.lock();
        let long = |(_, stop): &(_, Arc<Stop>)| Some((Arc::clone(stop), stop.hold.is_long()?));
        let long: Vec<_> = handlers.iter().filter_map(long).collect();
        drop(handlers);
        long.into_iter().for_each(|(stop, held)| stop.warn_once(held));
    }

    /// Whether a handler runs, or blocking work of one.
    pub(crate) fn is_busy(&self) -> bool {
        self.count() > 0 || self.worker.work.is_under_way()
    }

    /// Completes when no handler and no blocking work runs.
    pub(crate) async fn idle(&self) {
        while self.is_busy() {
            self.empty().await;
            self.worker.work.over().await;
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.handlers.lock().count()
    }

    /// Asks every handler to stop.
    pub(crate) fn ask_all(&self, reason: StopReason) {
        self.handlers.lock().iter().for_each(|(_, stop)| stop.ask(reason));
    }

    /// Drops every handler, having told it why.
    pub(crate) fn abort_all(&self, reason: StopReason) {
        let mut handlers = self.handlers.lock();
        handlers.iter().for_each(|(_, stop)| stop.ask(reason));
        std::mem::take(&mut handlers.abort).cancel();
    }

    /// Asks the handlers of these jobs to stop.
    pub(crate) fn ask_jobs(&self, jobs: &[i64], reason: StopReason) {
        let handlers = self.handlers.lock();
        let of_jobs = handlers.iter().filter(|(job, _)| jobs.contains(job));
        of_jobs.for_each(|(_, stop)| stop.ask(reason));
    }

    /// Completes when no handler runs.
    pub(crate) async fn empty(&self) {
        loop {
            let left = self.left.notified();
            tokio::pin!(left);
            // Enabled first: a handler that leaves between the check and the wait must be noticed.
            left.as_mut().enable();
            if self.count() == 0 {
                return;
            }
            left.await;
        }
    }
}

/// Also if its task is dropped, as when the runtime ends.
impl Drop for Handler {
    fn drop(&mut self) {
        self.running.leave(self.place);
    }
}
