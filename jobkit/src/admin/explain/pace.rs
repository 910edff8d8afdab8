use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::reason::Time;
use crate::policy::Rate;

/// A concurrency key that is paused or has used up its rate, as seen by a waiting job.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyPace {
    /// Its group.
    pub group: String,
    /// The key.
    pub key: String,
    /// How often its jobs may start.
    pub rate: Option<Rate>,
    /// When its pause ends, if it is paused.
    pub paused_until: Option<DateTime<Utc>>,
    /// How long until the next of its jobs may start.
    pub next: Duration,
}

impl fmt::Display for KeyPace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, key, rate, paused_until, next } = self;
        if let Some(until) = paused_until {
            return write!(f, "Waits for its key {group}/{key}, paused until {}", Time(until));
        }
        let rate = rate.map(|rate| format!(" ({rate})")).unwrap_or_default();
        let next = Duration::from_millis(u64::try_from(next.as_millis()).unwrap_or(u64::MAX));
        write!(f, "Waits for the rate of its key {group}/{key}{rate}: next slot in {next:?}")
    }
}
