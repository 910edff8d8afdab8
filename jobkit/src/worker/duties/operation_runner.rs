use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use crate::error::DatabaseError;
use crate::operating::{Stepped, Steps};
use crate::store::{Link, next_operation};
use crate::worker::shared::wake::Wake;
use crate::worker::ticker::Duty;

/// How long to leave an operation alone that is paced, or that another worker is working on.
const BUSY: Duration = Duration::from_secs(1);

/// How long until the next look without a wake-up.
const IDLE: Duration = Duration::from_secs(60);

/// Carries out operations: the oldest open one, step by step.
///
/// The promoter, which looks more often anyway, reports open operations; while there is none this
/// keeps no connection. If none ran for an hour, operations would be delayed by that.
pub(crate) struct OperationRunner {
    pub(crate) link: Link,
    pub(crate) wake: Arc<Wake>,
    /// Rung by the promoter when an operation is open.
    pub(crate) operating: Arc<Notify>,
    pub(crate) steps: Steps,
    /// Whether the last look found none.
    pub(crate) idle: bool,
}

impl Duty for OperationRunner {
    const NAME: &'static str = "operate";

    async fn step(&mut self) -> Result<Duration, DatabaseError> {
        let next = self.link.call(&next_operation(None)).await?;
        self.idle = next.is_none();
        let Some((id, rests)) = next else {
            self.link.disconnect().await;
            return Ok(IDLE);
        };
        if !rests.is_zero() {
            return Ok(rests.min(BUSY));
        }
        if self.steps.take(&mut self.link, id).await? == Stepped::Busy {
            return Ok(BUSY);
        }
        self.wake.ring();
        Ok(Duration::ZERO)
    }

    async fn rest(&mut self, rest: Duration) {
        tokio::select! {
            () = sleep(rest) => {}
            () = self.operating.notified(), if self.idle => {}
        }
    }

    async fn close(self) {
        self.link.close().await;
    }
}
