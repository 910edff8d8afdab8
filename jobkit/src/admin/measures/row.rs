use chrono::{DateTime, Utc};

use crate::histogram::Histogram;

/// The measures of a quarter of an hour: attempts of one kind in one queue with the same outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeasureRow {
    /// When the quarter begins.
    pub at: DateTime<Utc>,
    /// The queue.
    pub queue: String,
    /// The kind.
    pub kind: String,
    /// How they ended: the name of a [`hooks::Outcome`](crate::hooks::Outcome).
    pub outcome: String,
    /// How many attempts.
    pub count: u64,
    /// How long the handlers ran.
    pub run: Histogram,
    /// How long the jobs had been due when their handlers started.
    pub wait: Histogram,
}
