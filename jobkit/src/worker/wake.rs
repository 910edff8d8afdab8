use tokio::sync::Notify;

/// The claimer's alarm clock. A wake-up carries no data: it makes the claimer look sooner, never
/// tells it what to find.
#[derive(Debug, Default)]
pub(crate) struct Wake(Notify);

impl Wake {
    /// Something may be ready.
    pub(crate) fn ring(&self) {
        self.0.notify_one();
    }

    /// Completes at the next ring, or at once if one was missed.
    pub(crate) async fn rung(&self) {
        self.0.notified().await;
    }
}
