use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use crate::Error;
use crate::store::{Link, promote};
use crate::worker::claim::wake::Wake;
use crate::worker::ticker::Duty;

const BATCH: i32 = 1000;

/// Makes scheduled jobs ready when their time comes.
///
/// It knows no queue and no kind: whoever is awake promotes for all. If none ran for an hour,
/// delays and retries would last that much longer.
pub(crate) struct Promoter {
    pub(crate) link: Link,
    pub(crate) poll: Duration,
    pub(crate) wake: Arc<Wake>,
    /// Rung when an operation is open.
    pub(crate) operating: Arc<Notify>,
}

impl Duty for Promoter {
    const NAME: &'static str = "promote";

    async fn step(&mut self) -> Result<Duration, Error> {
        let promoted = self.link.call(&promote(BATCH)).await?;
        if promoted.jobs > 0 {
            self.wake.ring();
        }
        if promoted.operating {
            self.operating.notify_one();
        }
        if promoted.jobs == BATCH {
            return Ok(Duration::ZERO);
        }
        // Not sooner than this: a row another session holds is due and cannot be promoted.
        let soonest = Duration::from_millis(5).min(self.poll);
        Ok(promoted.next.map_or(self.poll, |next| next.clamp(soonest, self.poll)))
    }

    async fn close(self) {
        self.link.close().await;
    }
}
