use std::sync::Arc;

use tokio::sync::watch;

/// Blocking work on threads of its own, that of one attempt or that of a whole worker: how many
/// closures are under way. Nothing can end one but itself, or the end of the process.
#[derive(Debug)]
pub(crate) struct Work(watch::Sender<usize>);

impl Default for Work {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl Work {
    /// One more begins. It has ended when what this returns is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> UnderWay {
        self.0.send_modify(|closures| *closures += 1);
        UnderWay(Arc::clone(self))
    }

    pub(crate) fn is_under_way(&self) -> bool {
        *self.0.borrow() > 0
    }

    /// Completes when none is under way.
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
