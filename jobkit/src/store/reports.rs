//! Reports of running attempts, and checkpoints.

use sqlx::postgres::types::PgInterval;
use sqlx::types::Json;
use tracing::debug_span;

use super::call::{Statement, statements};
use super::read::One;
use crate::context::Reported;

/// Writes the reports of a worker's attempts. `over` are jobs that have ended and had steps,
/// `unkept` ended jobs that are not kept.
pub(crate) fn report(
    worker: i64,
    reports: &[Reported],
    over: &[i64],
    unkept: &[i64],
) -> Statement<()> {
    Statement::new("select jobkit.report($1, $2, $3, $4)")
        .spanned(debug_span!("jobkit.report", worker, reports = reports.len()))
        .bind(worker)
        .bind(Json(reports))
        .bind(over)
        .bind(unkept)
}

statements! {
    /// Saves a step of a job, for the claim under which it runs; without a name, the checkpoint.
    /// Returns whether the claim holds the job.
    fn save_step(worker: i64, n: i64, job: i64, attempt: i32, name: &str, value: &str)
        -> One<bool>
        = "select jobkit.save_step($1, $2, $3, $4, $5, $6)",
        debug_span!("jobkit.save_step", worker, n, job, name);

    /// The steps of a job: names, and values as JSON.
    fn steps_of(job: i64) -> Vec<(String, String)>
        = "select name, value::text from jobkit.steps where job_id = $1 and name <> ''";

    /// The last checkpoint of a job, as JSON.
    fn last_checkpoint(job: i64) -> Option<String>
        = "select value::text from jobkit.steps where job_id = $1 and name = ''";

    /// Removes old reports; returns how many.
    fn prune_reports(keep: PgInterval, limit: i32) -> One<i32>
        = "select jobkit.prune_reports($1, $2)", debug_span!("jobkit.prune");

    /// Removes steps of jobs that have ended; returns how many.
    fn prune_steps(limit: i32) -> One<i32>
        = "select jobkit.prune_steps($1)", debug_span!("jobkit.prune");
}
