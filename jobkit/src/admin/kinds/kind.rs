use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::admin::measures::Measures;

/// A kind of job, as announced by the newest worker that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindSummary {
    /// Its stored name.
    pub kind: String,
    /// The default queue of its jobs. All that follows are defaults, too.
    pub queue: String,
    /// Their priority, −3 to 3; smaller goes first.
    pub priority: i16,
    /// Their attempts.
    pub max_attempts: u32,
    /// How long after it is due a job may start; `None` for no limit.
    pub expires: Option<Duration>,
    /// How long after its first failure a job is retried; `None` if only its attempts limit that.
    pub retry_for: Option<Duration>,
    /// How long ended jobs are kept; `None` for not at all.
    pub retention: Option<Duration>,
    /// The same for discarded and cancelled jobs.
    pub retention_discarded: Option<Duration>,
    /// The group of their concurrency keys, and the announced limit per key.
    pub concurrency: Option<(String, u32)>,
    /// After how long its dead letters are replayed automatically, and how often one may be buried
    /// before that ends.
    pub auto_replay: Option<(Duration, u32)>,
    /// When this was announced, or last changed.
    pub announced_at: DateTime<Utc>,
    /// How many live workers know it and are not stopping.
    pub workers: u32,
    /// Its measures of the last hour.
    pub lately: Measures,
}
