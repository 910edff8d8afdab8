use std::sync::Arc;

use tokio::sync::watch;

/// The number of running closures of blocking work, of one attempt or of a whole worker. Only the
/// closure itself or the end of the process ends one.
#[derive(Debug)]
pub(crate) struct Work(watch::Sender<usize>);

impl Default for Work {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Work {
    /// A closure begins. It counts until the returned guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> UnderWay {
        self.0.send_modify(|closures| *closures += 1);
        UnderWay(Arc::clone(self))
    }

    pub(crate) fn is_under_way(&self) -> bool {
        *self.0.borrow() > 0
    }

    /// Completes when none is running.
    pub(crate) async fn over(&self) {
        let mut look = self.0.subscribe();
        let _it_is_not_closed = look.wait_for(|closures| *closures == 0).await;
    }
}

/// A closure that has not returned.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Work>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.0.send_modify(|closures| *closures -= 1);
    }
}
