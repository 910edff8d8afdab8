use chrono::{DateTime, Utc};
use serde_json::Value;
use tracing::debug_span;

use super::operation::{Operation, OperationResult, OperationState};
use crate::store::{One, Statement, from_column, from_row, statements};

/// An operation to begin.
pub(crate) struct NewOperation<'a> {
    pub(crate) verb: &'static str,
    pub(crate) filter: &'a Value,
    pub(crate) reason: Option<&'a str>,
    pub(crate) run_at: Option<DateTime<Utc>>,
    /// How many match among the rows looked at, and whether there may be more.
    pub(crate) number: i64,
    pub(crate) more: bool,
    pub(crate) until: DateTime<Utc>,
    pub(crate) key: &'a str,
    pub(crate) actor: Option<&'a str>,
    pub(crate) per_second: Option<i32>,
}

/// Begins an operation, once for its key. Returns which one it is, and whether it is new.
pub(crate) fn begin_operation(new: &NewOperation<'_>) -> Statement<One<(i64, bool)>> {
    Statement::new(include_str!("sql/operations_begin.sql"))
        .spanned(debug_span!("jobkit.begin", verb = new.verb))
        .bind(new.verb)
        .bind(new.filter)
        .bind(new.reason)
        .bind(new.run_at)
        .bind(new.number)
        .bind(new.more)
        .bind(new.until)
        .bind(new.key)
        .bind(new.actor)
        .bind(new.per_second)
}

statements! {
    /// Operations before this one, the newest first; or only one.
    fn operations(only: Option<i64>, before: Option<i64>, limit: i64) -> Vec<Operation>
        = include_str!("sql/operations_list.sql");

    /// Jobs or dead letters that could not be changed as requested, ordered by id; 1,000 are kept.
    fn operation_results(operation: i64) -> Vec<OperationResult>
        = "select r.subject_id, r.outcome from jobkit.operation_results r
            where r.operation_id = $1 order by r.subject_id limit 1000";
}

from_column! { OperationState: &str => OperationState::of; }

from_row! {
    Operation { id, verb, filter, reason, run_at, per_second, actor, idempotency_key, state, total,
        counted, done, stop_requested, skipped, error, created_at, started_at, ended_at }
    OperationResult { subject: "subject_id", outcome }
}
