use std::time::Duration;

use chrono::{DateTime, Utc};

use super::acknowledged::Acknowledged;
use super::attention::Attention;
use crate::admin::Count;

/// The status of the whole system: waiting, running and dead jobs, and what needs attention.
///
/// Counts end at 10,000, as [`Count::AtLeast`]. The parts are read one after the other, so a change
/// in between may show in one part and not in another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overview {
    /// The time of this status, by the database's clock.
    pub at: DateTime<Utc>,
    /// Jobs that may be claimed, including those of paused queues.
    pub ready: Count,
    /// How long the oldest of them has been due or has had its permit, among the first 20 of each
    /// queue and priority; paused queues do not count.
    pub ready_age: Option<Duration>,
    /// Jobs that run on live workers that are not stopping.
    pub running: u32,
    /// Jobs that run on workers that are stopping.
    pub stopping: u32,
    /// Jobs held by workers that are gone, until a worker takes them back.
    pub gone: u32,
    /// How many jobs can run at once on live workers that are not stopping.
    pub capacity: u32,
    /// Jobs that are not due yet.
    pub scheduled: Count,
    /// Scheduled jobs that are due within an hour.
    pub due_soon: Count,
    /// When the next scheduled job is due; in the past while no worker has made it ready.
    pub next_run_at: Option<DateTime<Utc>>,
    /// Scheduled jobs that have used up an attempt and wait for a retry.
    pub retrying: Count,
    /// Jobs that wait for a permit of their concurrency key.
    pub blocked: Count,
    /// The longest wait among those looked at: the first of each of 3,000 keys and priorities, and
    /// the oldest 5,000 live jobs.
    pub blocked_age: Option<Duration>,
    /// How long the most overdue schedule has been overdue.
    pub overdue: Option<Duration>,
    /// Open dead letters.
    pub dead: Count,
    /// Batches that have not ended.
    pub open_batches: Count,
    /// Changes in batches that no worker has added up yet. Workers do so every few tens of
    /// milliseconds; while they do not, no batch ends.
    pub batch_tallies: Count,
    /// What needs attention, the most urgent first, at most 20 of each name.
    pub attention: Vec<Attention>,
    /// What operators have [acknowledged](super::AttentionRef::acknowledge), in the same order, at
    /// most 100 of each name.
    pub acknowledged: Vec<Acknowledged>,
}
