//! What tells live pages that something has changed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::watch;

/// Browsers that are notified at a time; others poll.
const LISTENERS: usize = 64;

/// Tells every stream that something was changed here.
pub(crate) struct Signals {
    pub(crate) changed: watch::Sender<()>,
    pub(crate) listeners: Arc<AtomicUsize>,
}

impl Default for Signals {
    fn default() -> Self {
        Self { changed: watch::Sender::new(()), listeners: Arc::default() }
    }
}

impl Signals {
    pub(crate) fn tell(&self) {
        self.changed.send_replace(());
    }
}

/// One of the listeners, for as long as it is there.
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
