use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

use crate::lock::Lock;
use crate::store::Unblocked;

/// The claimers' alarm clock. A wake-up makes a claimer look sooner, but does not tell it what it
/// will find; it may only carry ids below which scans must not begin.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    bell: Notify,
    help: Notify,
    unblocked: Lock<Vec<Unblocked>>,
    held: AtomicBool,
}

impl Wake {
    /// Something may be ready.
    pub(crate) fn ring(&self) {
        self.bell.notify_one();
    }

    /// These jobs became ready, perhaps below the marks at which scans begin.
    pub(crate) fn ring_for(&self, unblocked: Vec<Unblocked>) {
        self.unblocked.lock().extend(unblocked);
        self.ring();
    }

    /// The jobs of rings since the last call.
    pub(crate) fn unblocked(&self) -> Vec<Unblocked> {
        std::mem::take(&mut self.unblocked.lock())
    }

    /// Whether a limit holds claims back: then the end of a job may leave room for another.
    pub(crate) fn hold(&self, held: bool) {
        self.held.store(held, Ordering::Relaxed);
    }

    /// Whether a limit held back the last claim.
    pub(crate) fn is_held(&self) -> bool {
        self.held.load(Ordering::Relaxed)
    }

    /// Jobs have ended.
    pub(crate) fn ring_if_held(&self) {
        if self.is_held() {
            self.ring();
        }
    }

    /// Tells the second claimer that there is more than one claimer can fetch.
    pub(crate) fn want_help(&self) {
        self.help.notify_one();
    }

    /// Completes when there is work for a second claimer.
    pub(crate) async fn help_wanted(&self) {
        self.help.notified().await;
    }

    /// Completes at the next ring, or immediately if one was missed.
    pub(crate) async fn rung(&self) {
        self.bell.notified().await;
    }
}
