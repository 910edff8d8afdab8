use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::histogram::Histogram;

/// The outcomes of attempts, how long they took, and how long their jobs had been due.
///
/// Workers count them, so attempts that crashed are missing, as are those that were released
/// because their worker stopped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measures {
    /// Jobs that succeeded.
    pub finished: u64,
    /// Attempts that failed and are retried.
    pub retried: u64,
    /// Runs that the job itself snoozed.
    pub snoozed: u64,
    /// Jobs that became dead letters.
    pub buried: u64,
    /// Jobs that their handler discarded.
    pub discarded: u64,
    /// Jobs that ended as cancelled while they ran.
    pub cancelled: u64,
    /// Jobs that expired before they started. They do not count as attempts, and are in neither
    /// histogram.
    pub expired: u64,
    /// Jobs that should have run again but were superseded by another one. Coalesced jobs, which
    /// never ran, are not counted: search for `ended:coalesce`.
    pub superseded: u64,
    /// How long the handlers ran.
    pub run: Histogram,
    /// How long the jobs had been due when their handlers started: the wait for a worker and for a
    /// permit.
    pub wait: Histogram,
}

impl Measures {
    /// All attempts.
    #[must_use]
    pub fn attempts(&self) -> u64 {
        let ended = self.finished + self.buried + self.discarded + self.cancelled;
        ended + self.superseded + self.retried + self.snoozed
    }

    /// The share of attempts that failed, 0 to 1, among those that succeeded or failed; `None` if
    /// there are none.
    #[must_use]
    pub fn failure_rate(&self) -> Option<f64> {
        let failed = self.retried + self.buried;
        let all = failed + self.finished;
        (all > 0).then(|| failed as f64 / all as f64)
    }

    pub(crate) fn of_outcome(&mut self, outcome: &str) -> Option<&mut u64> {
        Some(match outcome {
            "finish" => &mut self.finished,
            "retry" => &mut self.retried,
            "snooze" => &mut self.snoozed,
            "bury" => &mut self.buried,
            "discard" => &mut self.discarded,
            "cancel" => &mut self.cancelled,
            "expire" => &mut self.expired,
            "supersede" => &mut self.superseded,
            _ => return None,
        })
    }
}

/// Measures in intervals of equal length, the oldest first, up to now. The last one is incomplete.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeasureSeries {
    /// The length of an interval.
    pub bucket: Duration,
    /// The intervals, without gaps.
    pub points: Vec<MeasurePoint>,
}

/// An interval and its measures.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeasurePoint {
    /// When it begins.
    pub at: DateTime<Utc>,
    /// The measures.
    pub measures: Measures,
}

/// Which measures a call returns: those that meet every condition set here.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MeasureFilter {
    pub(crate) queue: Option<String>,
    pub(crate) kind: Option<String>,
}

impl MeasureFilter {
    /// All of them.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Only of jobs in this queue; 1 to 128 bytes.
    #[must_use]
    pub fn queue(mut self, queue: impl Into<String>) -> Self {
        self.queue = Some(queue.into());
        self
    }

    /// Only of jobs of this kind, by its current name; 1 to 128 bytes.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Self {
        self.kind = Some(kind.into());
        self
    }
}
