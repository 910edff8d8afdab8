//! Events of the worker as a whole, for hooks.

use std::sync::Arc;

use super::start::Parts;
use crate::hooks::Event;

impl Parts {
    /// Calls hooks when the worker has started, and when it is stopping.
    pub(super) fn tell_hooks(&self) {
        let Some(hooks) = self.hooks.clone() else { return };
        let (ledger, stopping) = (Arc::clone(&self.ledger), self.stops.claims.clone());
        hooks.tell(Event::Started { worker: ledger.worker() });
        tokio::spawn(async move {
            stopping.cancelled().await;
            hooks.tell(Event::Stopping { worker: ledger.worker() });
        });
    }
}
