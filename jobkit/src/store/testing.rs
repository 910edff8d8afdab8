//! What the testing kit asks.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::call::statements;
use super::read::from_row;

statements! {
    /// The live jobs of these kinds, by their ids.
    fn stored_jobs(kinds: &[&str]) -> Vec<StoredJob> = include_str!("sql/jobs_stored.sql");

    /// The kinds of live jobs, and how many there are of each.
    fn kinds_stored() -> Vec<(String, i64)>
        = "select kind, count(*) from jobkit.jobs group by kind order by kind";
}

/// A live job, wherever it is.
#[derive(Debug)]
pub(crate) struct StoredJob {
    pub(crate) id: i64,
    pub(crate) version: u16,
    pub(crate) queue: String,
    pub(crate) priority: i16,
    pub(crate) attempt: u32,
    pub(crate) max_attempts: u16,
    pub(crate) run_at: DateTime<Utc>,
    pub(crate) created_at: DateTime<Utc>,
    /// In how long it is due, unless it is.
    pub(crate) due_in: Option<Duration>,
    pub(crate) concurrency_key: Option<String>,
    pub(crate) dead_letter_key: Option<String>,
    pub(crate) unique_key: Option<String>,
    pub(crate) args: String,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Option<Value>,
    pub(crate) state: String,
}

from_row! {
    StoredJob { id, version, queue, priority, attempt, max_attempts, run_at, created_at, due_in,
        concurrency_key, dead_letter_key, unique_key, args, tags, metadata, state }
}
