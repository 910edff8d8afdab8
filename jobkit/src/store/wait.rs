//! What those ask who wait for the end of a job.

use super::call::statements;
use super::read::{from_column, from_row};

/// Where a job stands that somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Its end will be notified.
    Live,
    /// Somebody has its row in hand.
    Held,
    /// It is not there.
    Gone,
}

from_column! {
    Awaited: &str => awaited;
}

fn awaited(state: &str) -> Awaited {
    match state {
        "live" => Awaited::Live,
        "held" => Awaited::Held,
        _ => Awaited::Gone,
    }
}

/// How a job ended.
#[derive(Debug)]
pub(crate) struct EndRow {
    pub(crate) job: i64,
    /// `finish`, `discard`, `cancel` or `dead`.
    pub(crate) outcome: String,
    /// Why, or why the result is not kept.
    pub(crate) reason: Option<String>,
    pub(crate) result: Option<String>,
}

from_row! {
    EndRow { job: "job_id", outcome, reason, result }
}

statements! {
    /// Has the ends of these jobs notified, and says where each stands.
    fn await_jobs(jobs: &[i64]) -> Vec<(i64, Awaited)>
        = "select job_id, state from jobkit.await_jobs($1)";

    /// How those of these jobs ended of which something is kept.
    fn ends_of(jobs: &[i64]) -> Vec<EndRow> = include_str!("sql/jobs_ends.sql");
}
