//! Statements about queues: notifications of enqueues, queues that match a pattern, full queues.

use std::fmt::Display;

use sqlx::postgres::types::PgInterval;
use tracing::{debug_span, trace_span};

use super::call::{Statement, statements};
use super::read::One;

statements! {
    /// Asks enqueues to these queues, or to queues with these prefixes, to notify this worker for
    /// this long.
    fn sleep(worker: i64, queues: &[&str], hint: PgInterval, prefixes: &[&str]) -> ()
        = "select jobkit.sleep($1, $2, $3, $4)";

    /// Asks enqueues to stop notifying a worker.
    fn rise(worker: i64) -> () = "delete from jobkit.sleepers where worker_id = $1";

    /// Queues with ready jobs whose names begin with one of these prefixes and come after `after`,
    /// at most this many of each.
    fn matching_queues(prefixes: &[&str], after: &str, most: i32) -> Vec<String>
        = "select m.queue from jobkit.matching_queues($1, $2, $3) m order by m.queue collate \"C\"",
        trace_span!("jobkit.follow");

    /// Checks which of the queues with a bound are full, if that is due.
    fn look_at_bounds() -> One<i32> = "select jobkit.look_at_bounds()",
        trace_span!("jobkit.bounds");
}

/// The queues and patterns that a worker serves, as its registration lists them: how many jobs of
/// each run at a time, which of them share slots, and by what weights.
#[derive(Debug, Default)]
pub(crate) struct Serves<'a> {
    pub(crate) names: Vec<&'a str>,
    pub(crate) slots: Vec<i32>,
    pub(crate) pools: Vec<Option<i32>>,
    pub(crate) weights: Vec<Option<i32>>,
}

/// What else a worker registers.
#[derive(Debug, Default)]
pub(crate) struct Says {
    /// The number of its declaration of schedules.
    pub(crate) declaration: Option<i64>,
    /// Its time zone rules.
    pub(crate) zones: String,
}

impl Says {
    pub(crate) fn new(declaration: Option<i64>, zones: &impl Display) -> Self {
        Self { declaration, zones: zones.to_string() }
    }
}

/// Begins a worker's life, with its lease.
pub(crate) fn register(
    worker: i64,
    name: &str,
    kinds: &[String],
    lease: PgInterval,
    serves: &Serves<'_>,
    says: &Says,
) -> Statement<()> {
    Statement::new("select jobkit.register($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)")
        .spanned(debug_span!("jobkit.register", worker))
        .bind(worker)
        .bind(name)
        .bind(&serves.names)
        .bind(kinds)
        .bind(lease)
        .bind(&serves.slots)
        .bind(&serves.pools)
        .bind(&serves.weights)
        .bind(says.declaration)
        .bind(says.zones.as_str())
}
