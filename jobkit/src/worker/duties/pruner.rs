use std::time::Duration;

use crate::error::DatabaseError;
use crate::policy::Policy;
use crate::store::{
    Link, expired_days, interval, prepare_days, prune_audit, prune_batches, prune_keys,
    prune_measures, prune_reports, prune_resolved, prune_runs, prune_steps,
};
use crate::worker::ticker::Duty;

/// Partitions created ahead of the longest retention, so that the pruner may fail for two weeks.
const AHEAD_DAYS: u64 = 14;
const DAY: u64 = 24 * 60 * 60;

/// How long a batch is kept after its end, and longer if a callback has not ended.
const KEEP_BATCHES: Duration = Duration::from_secs(7 * DAY);

/// Rows removed by one call.
const PAGE: i32 = 1000;

/// Creates the partitions of the history for the days to come, drops expired ones, and removes dead
/// letters that were resolved long ago, old audit entries, measures and reports, steps of
/// jobs that have ended, batches a week after their end, and unused unique keys.
///
/// If none ran for an hour, expired jobs would be kept an hour longer.
pub(crate) struct Pruner {
    pub(crate) link: Link,
    pub(crate) days: i32,
    pub(crate) keep_resolved: Duration,
    pub(crate) keep_audit: Duration,
    pub(crate) keep_measures: Duration,
    pub(crate) keep_runs: Duration,
    pub(crate) keep_reports: Duration,
}

/// How many days of partitions are needed for jobs of these kinds.
pub(crate) fn days_ahead(policies: &[Policy]) -> i32 {
    let kept = policies.iter().flat_map(|p| [p.retention, p.retention_discarded]).flatten();
    let days = kept.max().unwrap_or_default().as_secs().div_ceil(DAY) + AHEAD_DAYS;
    i32::try_from(days).unwrap_or(i32::MAX)
}

impl Duty for Pruner {
    const NAME: &'static str = "prune";

    async fn step(&mut self) -> Result<Duration, DatabaseError> {
        let made = self.link.call(&prepare_days(self.days)).await?;
        if made > 0 {
            tracing::debug!(partitions = made, "jobkit.prune: made partitions");
        }
        for expired in self.link.call(&expired_days()).await? {
            self.link.call(&expired).await?;
            tracing::info!(day = %expired.day, "jobkit.prune: dropped a day of history");
        }
        for prune in [
            prune_resolved(interval(self.keep_resolved), PAGE),
            prune_audit(interval(self.keep_audit), PAGE),
            prune_measures(interval(self.keep_measures), PAGE),
            prune_runs(interval(self.keep_runs), PAGE),
            prune_reports(interval(self.keep_reports), PAGE),
            prune_batches(interval(KEEP_BATCHES), PAGE),
            prune_steps(PAGE),
            prune_keys(PAGE),
        ] {
            while self.link.call(&prune).await? >= PAGE {}
        }
        self.link.disconnect().await;
        Ok(Duration::from_secs(60 * 60))
    }

    async fn close(self) {
        self.link.close().await;
    }
}
