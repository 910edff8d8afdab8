use std::time::Duration;

use crate::Error;
use crate::store::{ExpiredDays, Link, PrepareDays, PruneAudit, PruneMeasures, PruneResolved};
use crate::worker::ticker::Duty;

/// Partitions made ahead of the longest retention, so that a pruner may fail for two weeks.
const AHEAD_DAYS: u64 = 14;
const DAY: u64 = 24 * 60 * 60;

/// Rows removed by one call.
const PAGE: i32 = 1000;

/// Makes the partitions of the history for the days to come, drops those that have expired, and
/// removes dead letters that were resolved long ago, what the audit has of old, and old
/// measures.
///
/// If none ran for an hour, expired jobs would be kept an hour longer.
pub(crate) struct Pruner {
    pub(crate) link: Link,
    pub(crate) days: i32,
    pub(crate) keep_resolved: Duration,
    pub(crate) keep_audit: Duration,
    pub(crate) keep_measures: Duration,
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
        let resolved = PruneResolved { keep: self.keep_resolved, limit: PAGE };
        while self.link.call(&resolved).await? == PAGE {}
        let audit = PruneAudit { keep: self.keep_audit, limit: PAGE };
        while self.link.call(&audit).await? == PAGE {}
        let measures = PruneMeasures { keep: self.keep_measures, limit: PAGE };
        while self.link.call(&measures).await? >= PAGE {}
        self.link.disconnect().await;
        Ok(Duration::from_secs(60 * 60))
    }

    async fn close(self) {
        self.link.close().await;
    }
}
