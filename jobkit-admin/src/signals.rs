//! Signals for live pages: something has changed, or the stream must end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, pending};
use tokio::sync::watch;

/// Browsers that are notified at a time; others poll.
const LISTENERS: usize = 64;

/// Completes when the server stops.
pub(crate) type Stop = Shared<BoxFuture<'static, ()>>;

/// Never completes.
pub(crate) fn never() -> Stop {
    pending().boxed().shared()
}

/// Tells every stream that this dashboard changed something.
pub(crate) struct Signals {
    pub(crate) changed: watch::Sender<()>,
    pub(crate) listeners: Arc<AtomicUsize>,
    pub(crate) stop: Stop,
}

impl Signals {
    pub(crate) fn new(stop: Stop) -> Self {
        Self { changed: watch::Sender::new(()), listeners: Arc::default(), stop }
    }

    pub(crate) fn tell(&self) {
        self.changed.send_replace(());
    }
}

/// Counts as a listener while it exists.
pub(crate) struct Listener(Arc<AtomicUsize>);

impl Listener {
    pub(crate) fn admit(listeners: &Arc<AtomicUsize>) -> Option<Self> {
        let listener = Self(listeners.clone());
        (listeners.fetch_add(1, Ordering::Relaxed) < LISTENERS).then_some(listener)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
