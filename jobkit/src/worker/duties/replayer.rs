use std::sync::Arc;
use std::time::Duration;

use crate::error::DatabaseError;
use crate::store::{Link, replay_due};
use crate::worker::shared::wake::Wake;
use crate::worker::ticker::Duty;

/// Dead letters replayed by one call.
const PAGE: i32 = 500;

/// Replays dead letters whose kind says so, once their time has come.
///
/// If none ran for an hour, automatic replays would be delayed by that.
pub(crate) struct Replayer {
    pub(crate) link: Link,
    pub(crate) every: Duration,
    pub(crate) wake: Arc<Wake>,
}

impl Duty for Replayer {
    const NAME: &'static str = "replay";

    async fn step(&mut self) -> Result<Duration, DatabaseError> {
        let replayed = self.link.call(&replay_due(PAGE)).await?;
        if replayed > 0 {
            tracing::info!(replayed, "jobkit.replay: replayed dead letters that were due");
            self.wake.ring();
        }
        Ok(if replayed == PAGE { Duration::ZERO } else { self.every })
    }

    async fn close(self) {
        self.link.close().await;
    }
}
