//! What attempts say of themselves while they run, and where they go on.

use std::time::Instant;

use serde::{Serialize, Serializer};
use sqlx::postgres::types::PgInterval;
use sqlx::types::Json;
use tracing::debug_span;

use super::call::{Statement, statements};
use super::read::One;

/// What an attempt says of itself. Its times are sent as microseconds ago: no clock but the
/// server's is stored.
#[derive(Debug, Serialize)]
pub(crate) struct Reported {
    pub(crate) job: i64,
    pub(crate) attempt: u32,
    #[serde(serialize_with = "ago")]
    pub(crate) began: Instant,
    pub(crate) done: Option<i64>,
    pub(crate) total: Option<i64>,
    pub(crate) note: Option<String>,
    #[serde(serialize_with = "ago_if_any")]
    pub(crate) at: Option<Instant>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) lines: Vec<Line>,
}

/// A line that an attempt logged.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Line {
    /// In microseconds since 1970, by the clock of the worker.
    pub(crate) at: i64,
    pub(crate) level: &'static str,
    pub(crate) target: String,
    pub(crate) text: String,
}

impl Reported {
    /// About how much it is to send.
    pub(crate) fn bytes(&self) -> usize {
        const REST: usize = 100;
        let lines = self.lines.iter().map(|line| REST + line.target.len() + line.text.len());
        REST + self.note.as_ref().map_or(0, String::len) + lines.sum::<usize>()
    }
}

fn ago<S: Serializer>(time: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(time.elapsed().as_micros()).unwrap_or(0))
}

#[expect(clippy::ref_option, reason = "serde calls it with a reference to the field")]
fn ago_if_any<S: Serializer>(time: &Option<Instant>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => ago(time, serializer),
        None => serializer.serialize_none(),
    }
}

/// Writes what attempts of a worker say. `over` are jobs that have ended and had a checkpoint,
/// `unkept` those of which nothing is kept.
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
    /// Keeps where a job is, in the name of the claim under which it runs. Whether that holds it.
    fn checkpoint(worker: i64, n: i64, job: i64, attempt: i32, value: &str) -> One<bool>
        = "select jobkit.checkpoint($1, $2, $3, $4, $5)",
        debug_span!("jobkit.checkpoint", worker, n, job);

    /// Where a job is by its last checkpoint, as JSON.
    fn last_checkpoint(job: i64) -> Option<String>
        = "select value::text from jobkit.checkpoints where job_id = $1";

    /// Removes what attempts said long ago; answers how many rows.
    fn prune_reports(keep: PgInterval, limit: i32) -> One<i32>
        = "select jobkit.prune_reports($1, $2)", debug_span!("jobkit.prune");

    /// Removes checkpoints of jobs that have ended; answers how many.
    fn prune_checkpoints(limit: i32) -> One<i32>
        = "select jobkit.prune_checkpoints($1)", debug_span!("jobkit.prune");
}
