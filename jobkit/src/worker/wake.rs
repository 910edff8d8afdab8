use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// The claimer's alarm clock. A wake-up carries no data: it makes the claimer look sooner, never
/// tells it what to find.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    bell: Notify,
    from_start: AtomicBool,
}

impl Wake {
    /// Something may be ready.
    pub(crate) fn ring(&self) {
        self.bell.notify_one();
    }

    /// Something old may be ready: it can lie below the low-water marks.
    pub(crate) fn ring_for_old(&self) {
        self.from_start.store(true, Ordering::Release);
        self.ring();
    }

    /// Whether old jobs were announced since the last time this was asked.
    pub(crate) fn take_from_start(&self) -> bool {
        self.from_start.swap(false, Ordering::AcqRel)
    }

    /// Completes at the next ring, or at once if one was missed.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }
}
