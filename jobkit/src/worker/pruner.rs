use std::time::Duration;

use super::ticker::Duty;
use crate::Error;
use crate::store::{ExpiredDays, Link, PrepareDays};

/// Partitions made ahead of the longest retention, so that a pruner may fail for two weeks.
const AHEAD_DAYS: u64 = 14;
const DAY: u64 = 24 * 60 * 60;

/// Makes the partitions of the history for the days to come, and drops those that have expired.
///
/// If none ran for an hour, expired jobs would be kept an hour longer.
pub(crate) struct Pruner {
    pub(crate) link: Link,
    pub(crate) days: i32,
}

/// How many days of partitions are needed for jobs kept this long.
pub(crate) fn days_ahead(longest_retention: Duration) -> i32 {
    let days = longest_retention.as_secs().div_ceil(DAY) + AHEAD_DAYS;
    i32::try_from(days).unwrap_or(i32::MAX)
}

impl Duty for Pruner {
    const NAME: &'static str = "prune";

    async fn step(&mut self) -> Result<Duration, Error> {
        let made = self.link.call(&PrepareDays(self.days)).await?;
        if made > 0 {
            tracing::debug!(partitions = made, "jobkit.prune: made partitions");
        }
        for expired in self.link.call(&ExpiredDays).await? {
            self.link.call(&expired).await?;
            tracing::info!(day = %expired.day, "jobkit.prune: dropped a day of history");
        }
        self.link.disconnect().await;
        Ok(Duration::from_secs(60 * 60))
    }

    async fn close(self) {
        self.link.close().await;
    }
}
