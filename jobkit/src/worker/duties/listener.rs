use std::sync::Arc;
use std::time::Duration;

use crate::Error;
use crate::store::Notifications;
use crate::worker::claim::wake::Wake;
use crate::worker::ticker::Duty;

/// How long silence is trusted before the connection is tested.
const SILENCE: Duration = Duration::from_secs(5);

/// Wakes the claimer when the database says that something was enqueued.
///
/// A hint only: it carries no data, and the claimer polls all the same. If it never ran, jobs
/// would start up to one poll later.
pub(crate) struct Listener {
    pub(crate) notifications: Notifications,
    pub(crate) wake: Arc<Wake>,
}

impl Duty for Listener {
    const NAME: &'static str = "listen";
    const INTERRUPTIBLE: bool = true;

    async fn step(&mut self) -> Result<Duration, Error> {
        // Rung after a reconnect, too: notifications sent in between were missed.
        if self.notifications.wait(SILENCE).await? {
            self.wake.ring();
        }
        Ok(Duration::ZERO)
    }

    async fn close(self) {
        self.notifications.close().await;
    }
}
