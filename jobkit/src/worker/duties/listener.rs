use std::sync::Arc;
use std::time::Duration;

use crate::error::DatabaseError;
use crate::meter;
use crate::store::{News, Notifications};
use crate::worker::due::Due;
use crate::worker::shared::slots::Slots;
use crate::worker::shared::wake::Wake;
use crate::worker::ticker::Duty;

/// How long silence is trusted before the connection is tested.
const SILENCE: Duration = Duration::from_secs(5);

/// Wakes the claimer when something was enqueued and the promoter when something is due soon, and
/// recalls jobs claimed ahead when somebody pauses a queue or cancels such a job.
///
/// These are only hints: the claimer polls anyway, and nothing waits here for long. If it never
/// ran, jobs would start up to one poll later, and a tenth of a second after a pause.
pub(crate) struct Listener {
    pub(crate) notifications: Notifications,
    pub(crate) wake: Arc<Wake>,
    pub(crate) due: Arc<Due>,
    pub(crate) slots: Arc<Slots>,
}

impl Duty for Listener {
    const NAME: &'static str = "listen";
    const INTERRUPTIBLE: bool = true;

    async fn step(&mut self) -> Result<Duration, DatabaseError> {
        // Everything after a reconnect: notifications sent in between were missed.
        let heard = self.notifications.wait(SILENCE).await;
        meter::listening(heard.is_ok());
        let news = heard?;
        if news == News::Recall {
            self.slots.recall();
        }
        if matches!(news, News::Recall | News::Ready) {
            self.wake.ring();
        }
        if matches!(news, News::Recall | News::Due) {
            self.due.after(Duration::ZERO);
        }
        Ok(Duration::ZERO)
    }

    async fn close(self) {
        self.notifications.close().await;
    }
}
