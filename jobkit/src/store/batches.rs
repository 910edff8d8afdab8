//! Statements of batches.

use std::sync::OnceLock;

use sqlx::postgres::PgArguments;
use sqlx::postgres::types::PgInterval;
use sqlx::{Arguments, PgConnection};
use tracing::{debug_span, trace_span};

use super::call::{Call, Statement, statements};
use super::job::{NewJob, add_many, record_of_many};
use super::read::{One, from_row};
use crate::end::EndRow;

/// What a look at batches came to.
#[derive(Debug)]
pub(crate) struct Looked {
    /// How many tallies it took.
    pub(crate) tallies: i32,
    /// How many batches another session held.
    pub(crate) put_off: i32,
    /// How many callbacks became ready.
    pub(crate) called: i32,
}

from_row! {
    Looked { tallies: "looked", put_off, called }
}

statements! {
    /// Takes so many tallies, ends batches that are empty, and makes their callbacks ready.
    fn look_at_batches(limit: i32) -> One<Looked>
        = "select looked, put_off, called from jobkit.look_at_batches($1)",
        trace_span!("jobkit.look_at_batches");

    /// Removes batches that ended a while ago; returns how many.
    fn prune_batches(keep: PgInterval, limit: i32) -> One<i32>
        = "select jobkit.prune_batches($1, $2)", debug_span!("jobkit.prune");

    /// Says that whoever opened a batch adds no more members.
    fn close_batch(batch: i64) -> () = "select jobkit.close_batch($1)";

    /// The batch that a job is a callback of, with the number of members for each outcome.
    fn batch_of_callback(job: i64) -> Vec<(i64, Option<String>, Option<i64>)>
        = "select b.id, c.outcome, c.jobs
            from jobkit.jobs j join jobkit.batches b on b.id = j.callback_of
            left join lateral jobkit.count_batch(b.id) c on true
            where j.id = $1";

    /// The next members of a batch that have ended, after this job, as far as they are kept.
    fn members_ended(batch: i64, after: i64, rows: i64) -> Vec<EndRow>
        = include_str!("sql/batches_members.sql");
}

/// Creates a batch with these callbacks, and returns its id.
pub(crate) async fn open_batch(
    callbacks: &[NewJob],
    roles: &[&str],
    hold_dead: bool,
    connection: &mut PgConnection,
) -> sqlx::Result<i64> {
    static SQL: OnceLock<String> = OnceLock::new();
    let sql = SQL.get_or_init(|| {
        let jobs = record_of_many(3);
        ["select jobkit.open_batch(", &jobs, ", $1, $2) where jobkit.enqueue_form_1()"].concat()
    });
    let mut parameters = PgArguments::default();
    let added = parameters
        .add(roles)
        .and_then(|()| parameters.add(hold_dead))
        .and_then(|()| add_many(callbacks, &mut parameters));
    Statement::<One<i64>>::with(sql, added.map(|()| parameters)).call(connection).await
}

/// Enqueues members of a batch for this member, or for whoever opened it, and closes it if told to.
/// Returns what became of each job.
pub(crate) async fn add_to_batch(
    batch: i64,
    jobs: &[NewJob],
    member: Option<i64>,
    close: bool,
    connection: &mut PgConnection,
) -> sqlx::Result<Vec<(i64, String)>> {
    static SQL: OnceLock<String> = OnceLock::new();
    let sql = SQL.get_or_init(|| {
        let (jobs, form) = (record_of_many(4), "where jobkit.enqueue_form_1()");
        ["select * from jobkit.add_to_batch($1, ", &jobs, ", $2, $3) ", form].concat()
    });
    let mut parameters = PgArguments::default();
    let added = parameters
        .add(batch)
        .and_then(|()| parameters.add(member))
        .and_then(|()| parameters.add(close))
        .and_then(|()| add_many(jobs, &mut parameters));
    let statement = Statement::<Vec<(i64, String)>>::with(sql, added.map(|()| parameters));
    statement.call(connection).await
}
