use sqlx::postgres::PgRow;
use tracing::debug_span;

use super::batch::{BatchSummary, Callback, CallbackRole};
use crate::BatchId;
use crate::admin::jobs::JobSummary;
use crate::batch::BatchEnd;
use crate::store::{One, ReadColumn, from_column, from_row, statements};

statements! {
    /// Batches before this one, the newest first; or only one.
    fn batches(only: Option<i64>, before: Option<i64>, open: bool, limit: i64) -> Vec<BatchSummary>
        = include_str!("sql/batches_list.sql");

    /// The callbacks of a batch.
    fn callbacks(batch: i64) -> Vec<Callback> = include_str!("sql/batch_callbacks.sql");

    /// Members of a batch after this job.
    fn members(batch: i64, which: Option<&str>, after: i64, limit: i64) -> Vec<JobSummary>
        = include_str!("sql/batch_members.sql");

    /// Cancels what has not ended of a batch. Returns the operation that does it; `None` if there
    /// is no open batch with this id.
    fn cancel_batch(batch: i64, reason: Option<&str>, actor: Option<&str>) -> One<Option<i64>>
        = "select jobkit.cancel_batch($1, $2, $3)",
        debug_span!("jobkit.cancel_batch", batch);
}

from_column! {
    CallbackRole: &str => CallbackRole::of;
}

from_row! {
    BatchSummary { id, created_at, closed_at, cancelled_at, ended_at, hold_dead, then: "then_job",
        then_if_all: "if_all_job", or_else: "else_job"; counts: counts, held: held }
    Callback { role, job: "job_id", kind, state, ended: "outcome" }
}

/// How many members there are, and how they ended.
fn counts(row: &PgRow) -> sqlx::Result<BatchEnd> {
    let BatchId(batch) = row.read("id")?;
    let none = [(batch, None, None)];
    let tallied = tallied(row)?;
    let tallied = tallied.into_iter().map(|(outcome, jobs)| (batch, Some(outcome), Some(jobs)));
    BatchEnd::of(none.into_iter().chain(tallied).collect()).ok_or(sqlx::Error::RowNotFound)
}

/// Dead letters that keep it open.
fn held(row: &PgRow) -> sqlx::Result<u64> {
    let held = tallied(row)?.into_iter().find(|(outcome, _)| outcome == "hold");
    Ok(held.map_or(0, |(_, jobs)| u64::try_from(jobs).unwrap_or(0)))
}

/// The number of jobs for each outcome.
fn tallied(row: &PgRow) -> sqlx::Result<Vec<(String, i64)>> {
    let outcomes: Option<Vec<String>> = row.read("outcomes")?;
    let jobs: Option<Vec<i64>> = row.read("jobs")?;
    Ok(outcomes.into_iter().flatten().zip(jobs.into_iter().flatten()).collect())
}
