use std::time::Duration;

use chrono::{DateTime, Utc};

use super::acknowledged::Acknowledged;
use super::attention::Attention;
use crate::admin::Count;

/// The status of the whole queue: what waits, what runs, what is dead, and what needs attention.
///
/// No count goes beyond 10,000: [`Count::AtLeast`] stands for that many and more. The parts are
/// read one after the other, so that what changes meanwhile may show in one and not in another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overview {
    /// When this was so, by the database's clock.
    pub at: DateTime<Utc>,
    /// Jobs that may be claimed, those of paused queues among them.
    pub ready: Count,
    /// How long the one of them has been due that was due first, or had its permit first; of each
    /// queue and priority the first 20 are looked at, of paused queues none.
    pub ready_age: Option<Duration>,
    /// Jobs that live workers run which are not stopping.
    pub running: u32,
    /// Jobs that run on workers that are stopping.
    pub stopping: u32,
    /// Jobs held by workers that are gone, until they are taken back.
    pub gone: u32,
    /// Jobs that live workers which are not stopping can run at once.
    pub capacity: u32,
    /// Jobs whose time has not come.
    pub scheduled: Count,
    /// Scheduled jobs that are due within an hour.
    pub due_soon: Count,
    /// When the next scheduled job is due; in the past while no worker has made it ready.
    pub next_run_at: Option<DateTime<Utc>>,
    /// Scheduled jobs that have used an attempt up: they wait for a retry.
    pub retrying: Count,
    /// Jobs that wait for a permit of their concurrency key.
    pub blocked: Count,
    /// How long the one of them has waited that has longest; the first of each of 3,000 keys and
    /// priorities are looked at, and the oldest 5,000 live jobs.
    pub blocked_age: Option<Duration>,
    /// For how long the schedule has been overdue that has been longest.
    pub overdue: Option<Duration>,
    /// Open dead letters.
    pub dead: Count,
    /// What somebody should look at, the most urgent first: no more than 20 of each name.
    pub attention: Vec<Attention>,
    /// What operators have [acknowledged](crate::Admin::acknowledge), in the same order: no more
    /// than 100 of each name.
    pub acknowledged: Vec<Acknowledged>,
}
