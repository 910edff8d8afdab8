use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::admin::measures::Measures;

/// A kind of job that some worker has announced, as the one that started last did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KindSummary {
    /// Its stored name.
    pub kind: String,
    /// The queue of its jobs, unless they say otherwise; so for all that follow.
    pub queue: String,
    /// Their priority, −3 to 3; smaller goes first.
    pub priority: i16,
    /// Their attempts.
    pub max_attempts: u32,
    /// How long after its time one may begin; `None`: however late.
    pub expires: Option<Duration>,
    /// For how long after its first failure one is tried again; `None`: as often as it has
    /// attempts.
    pub retry_for: Option<Duration>,
    /// How long they are kept once they have ended; `None`: not at all.
    pub retention: Option<Duration>,
    /// The same of those that were discarded or cancelled.
    pub retention_discarded: Option<Duration>,
    /// The group of their concurrency keys, and how many of a key its workers say may run.
    pub concurrency: Option<(String, u32)>,
    /// After how long its dead letters are replayed automatically, and how often one may be buried
    /// until that ends.
    pub auto_replay: Option<(Duration, u32)>,
    /// When this was announced, or last changed.
    pub announced_at: DateTime<Utc>,
    /// Live workers that know it and are not stopping.
    pub workers: u32,
    /// What was measured of it during the last hour.
    pub lately: Measures,
}
