//! Statements for waiting until a job ends.

use super::call::statements;
use super::read::{from_column, from_row};
use crate::end::EndRow;

/// The state of a job that somebody waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// Its end will be notified.
    Live,
    /// A transaction holds its row.
    Held,
    /// It does not exist.
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

from_row! {
    EndRow { job: "job_id", outcome, reason, result }
}

statements! {
    /// Requests notifications of the ends of these jobs, and returns the state of each.
    fn await_jobs(jobs: &[i64]) -> Vec<(i64, Awaited)>
        = "select job_id, state from jobkit.await_jobs($1)";

    /// How these jobs ended, as far as that is kept.
    fn ends_of(jobs: &[i64]) -> Vec<EndRow> = include_str!("sql/jobs_ends.sql");
}
