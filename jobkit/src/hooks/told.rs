use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::{AlreadySet, Event, Sent};
use crate::error::DatabaseError;
use crate::lock::Lock;
use crate::panics::message;

/// How many events may wait for their hooks.
const ROOM: usize = 1024;

pub(crate) type Hook<E> = Box<dyn Fn(&E) + Send>;

/// The thread that runs hooks, and the queue before it.
#[derive(Debug)]
pub(crate) struct Hooks<E> {
    sender: SyncSender<E>,
    ended: Lock<Option<oneshot::Receiver<()>>>,
    unheard: AtomicU64,
}

impl<E: Debug + Send + 'static> Hooks<E> {
    /// Starts the thread, which ends after the event for which `last` is true, or with these hooks.
    pub(crate) fn start(hooks: Vec<Hook<E>>, last: fn(&E) -> bool) -> std::io::Result<Self> {
        let (sender, events) = sync_channel(ROOM);
        let (ending, ended) = oneshot::channel();
        std::thread::Builder::new().name("jobkit-hooks".to_owned()).spawn(move || {
            hear(&events, &hooks, last);
            let _nobody_waits = ending.send(());
        })?;
        Ok(Self { sender, ended: Lock::new(Some(ended)), unheard: AtomicU64::new(0) })
    }

    /// Tells the hooks, unless too many events wait already.
    pub(crate) fn tell(&self, event: E) {
        if self.sender.try_send(event).is_err() {
            let unheard = self.unheard.fetch_add(1, Ordering::Relaxed) + 1;
            if unheard.is_power_of_two() {
                tracing::warn!(unheard, "jobkit: hooks are too slow; events were dropped");
            }
        }
    }

    /// How many events were dropped.
    pub(crate) fn unheard(&self) -> u64 {
        self.unheard.load(Ordering::Relaxed)
    }

    /// Sends the last event, and waits until the hooks have run, at most this long.
    pub(crate) async fn end(&self, mut event: E, patience: Duration) {
        let Some(ended) = self.ended.lock().take() else { return };
        let heard = async {
            while let Err(TrySendError::Full(refused)) = self.sender.try_send(event) {
                event = refused;
                sleep(Duration::from_millis(2)).await;
            }
            let _heard = ended.await;
        };
        if timeout(patience, heard).await.is_err() {
            tracing::warn!("jobkit: hooks are too slow; the worker stopped without them");
        }
    }
}

/// Runs the hooks for each event.
fn hear<E: Debug>(events: &Receiver<E>, hooks: &[Hook<E>], last: fn(&E) -> bool) {
    for event in events {
        for hook in hooks {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| hook(&event))) {
                tracing::error!(panic = message(&*panic), ?event, "jobkit: a hook panicked");
                // Dropping it may panic as well.
                std::mem::forget(panic);
            }
        }
        if last(&event) {
            return;
        }
    }
}

impl Hooks<Event> {
    /// Those of a worker; none without one.
    ///
    /// # Errors
    /// Where the system has no thread left.
    pub(crate) fn of_worker(hooks: Vec<Hook<Event>>) -> Result<Option<Arc<Self>>, DatabaseError> {
        if hooks.is_empty() {
            return Ok(None);
        }
        let last = |event: &Event| matches!(event, Event::Stopped { .. });
        let started = Self::start(hooks, last);
        let started =
            started.map_err(|error| DatabaseError::Unreachable(sqlx::Error::Io(error)))?;
        Ok(Some(Arc::new(started)))
    }
}

static ON_ENQUEUE: OnceLock<Hooks<Sent>> = OnceLock::new();

/// From now on, calls `hook` for all jobs that this process enqueues by type, or by the name of
/// their kind with [`Admin`](crate::Admin). It is not called for jobs that other processes,
/// schedules or replays enqueue, nor for a [`Statement`](crate::enqueue::Statement) that another
/// driver sends.
///
/// It runs like the hooks of workers: on a thread of its own, after the fact.
///
/// # Errors
/// [`AlreadySet`] if this process has already called it.
///
/// # Panics
/// Where the system has no thread left.
pub fn on_enqueue(hook: impl Fn(&Sent) + Send + 'static) -> Result<(), AlreadySet> {
    if ON_ENQUEUE.get().is_some() {
        return Err(AlreadySet);
    }
    let hooks = Hooks::start(vec![Box::new(hook)], |_| false).expect("a thread can be started");
    ON_ENQUEUE.set(hooks).map_err(|_| AlreadySet)
}

/// Reports jobs that were sent, if there is a hook.
pub(crate) fn sent(tell: impl FnOnce() -> Sent) {
    if let Some(hooks) = ON_ENQUEUE.get() {
        let sent = tell();
        if !sent.jobs.is_empty() {
            hooks.tell(sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn hooks(hooks: Vec<Hook<u32>>) -> Hooks<u32> {
        Hooks::start(hooks, |event| *event == 0).expect("a thread can be started")
    }

    #[tokio::test]
    async fn a_hook_that_panics_hears_of_the_next_event() {
        let (heard, hears) = channel();
        let loud: Hook<u32> = Box::new(|event| assert!(*event != 1, "no ones"));
        let quiet: Hook<u32> = Box::new(move |event| heard.send(*event).expect("the test waits"));
        let hooks = hooks(vec![loud, quiet]);
        [1, 2].into_iter().for_each(|event| hooks.tell(event));
        hooks.end(0, Duration::from_secs(30)).await;
        assert_eq!(hears.iter().collect::<Vec<_>>(), [1, 2, 0]);
    }

    #[tokio::test]
    async fn what_finds_no_room_is_dropped_and_nobody_waits() {
        let (go, gone) = channel::<()>();
        let hooks = hooks(vec![Box::new(move |_| gone.recv().unwrap_or_default())]);
        // One may be in the hook's hands.
        (0..3 * ROOM).for_each(|_| hooks.tell(7));
        let told = 3 * ROOM as u64 - hooks.unheard();
        assert!([0, 1].contains(&(told - ROOM as u64)), "{told}");
        hooks.end(0, Duration::from_millis(1)).await;
        drop(go);
    }
}
