//! The statements of the runtime, in one table. Claim, settle and enqueue are in files of their
//! own.

use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::postgres::PgRow;
use sqlx::postgres::types::PgInterval;
use sqlx::types::Json;
use sqlx::{AssertSqlSafe, PgConnection};
use tracing::{Span, debug_span, trace_span};

use super::call::{Call, Statement, statements};
use super::read::{FromRow, One, ReadColumn, from_row};
use super::{Claim, ClaimId};
use crate::error::DatabaseError;
use crate::histogram::Histogram;
use crate::migrate;

// The life of a worker.

/// Whether this binary can work with the schema as it is.
pub(crate) struct SchemaCheck;

impl Call for SchemaCheck {
    /// The error is an answer too: the outer one would mean that there was none.
    type Answer = Result<(), DatabaseError>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        match migrate::check(connection).await {
            Err(DatabaseError::Unreachable(error) | DatabaseError::Failed(error)) => Err(error),
            checked => Ok(checked),
        }
    }
}

statements! {
    /// How durable this session's commits are; start-up warns when an acknowledged job may be lost.
    fn durability() -> One<String> = "select current_setting('synchronous_commit')";

    /// Our tables of which row security may hide rows from this role.
    fn hidden_tables() -> Vec<String> = include_str!("sql/tables_hidden.sql");

    /// Queues with ready jobs, and whether a live worker serves each, for start-up to name.
    fn unserved_queues() -> Vec<(String, bool)> = include_str!("sql/jobs_unserved.sql");

    /// Renews the lease, and reports up to which of its claims all jobs have begun.
    fn renew_lease(worker: i64, stopping: bool, begun: i64) -> One<Pulse>
        = "select alive, lapsed, stop, cancel from jobkit.heartbeat($1, $2, $3)",
        trace_span!("jobkit.heartbeat", worker);

    /// Ends a worker's life.
    fn deregister(worker: i64) -> () = "select jobkit.deregister($1)",
        debug_span!("jobkit.deregister", worker);

    /// Kinds at the head of the served queues that this worker does not know, each with its queue.
    fn unknown_kinds(queues: &[String], kinds: &[String]) -> Vec<(String, String)>
        = include_str!("sql/jobs_unknown.sql");

    /// A sample of the payloads that are stored.
    fn stored_payloads(looked_at: i64, read: i64) -> Vec<StoredPayload>
        = include_str!("sql/jobs_preflight.sql");
}

/// A stored payload.
#[derive(Debug)]
pub(crate) struct StoredPayload {
    /// Its kind, from the second version on with that.
    pub(crate) name: String,
    /// Whether it is of a dead letter, not a job.
    pub(crate) dead: bool,
    pub(crate) id: i64,
    /// How many of its name were found among the jobs, or the dead letters.
    pub(crate) met: u32,
    pub(crate) args: String,
}

from_row! {
    StoredPayload { name, dead, id, met, args }
}

/// The answer to a heartbeat.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// False when this worker was reaped.
    pub(crate) alive: bool,
    /// The lease had lapsed when it was renewed.
    pub(crate) lapsed: bool,
    /// An operator has asked this worker to stop.
    pub(crate) stop: bool,
    /// Jobs of this worker to be cancelled.
    pub(crate) cancel: Vec<i64>,
}

impl FromRow for Pulse {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            alive: row.read("alive")?,
            lapsed: row.read::<Option<_>>("lapsed")?.unwrap_or(true),
            stop: row.read::<Option<_>>("stop")?.unwrap_or(false),
            cancel: row.read::<Option<_>>("cancel")?.unwrap_or_default(),
        })
    }
}

// Claims without an answer, and without a worker.

statements! {
    /// The jobs that a claim lists.
    fn claim_jobs(worker: i64, n: i64) -> Vec<i64>
        = "select unnest(job_ids) from jobkit.claims where worker_id = $1 and n = $2";

    /// The jobs of claims whose answer never arrived: of those up to `concluded`, the ones that are
    /// not held.
    fn lost_jobs(worker: i64, concluded: i64, held: &[i64]) -> Vec<i64>
        = "select unnest(job_ids) from jobkit.claims
            where worker_id = $1 and n <= $2 and n <> all ($3::bigint[])";

    /// Gives such claims back, or only some of their jobs; returns how many jobs they held.
    /// `suspect` are lost calls that asked for a single job.
    fn release_lost(worker: i64, concluded: i64, held: &[i64], suspect: &[i64],
            jobs: Option<&[i64]>) -> One<i32>
        = "select jobkit.release_lost($1, $2, $3, $4, $5)",
        debug_span!("jobkit.release", worker, concluded);

    /// Checks for work of a reaper: whether a lease has lapsed, whether a claim has no worker, and
    /// the time of the check.
    fn reap_look() -> One<(bool, bool, DateTime<Utc>)> = include_str!("sql/reap_look.sql");

    /// Removes workers whose lease has lapsed, on behalf of one whose lease has not.
    fn reap_workers(reaper: i64) -> Vec<i64> = "select * from jobkit.reap_workers($1)",
        trace_span!("jobkit.reap");

    /// Claims without a worker.
    fn orphaned_claims() -> Vec<ClaimId> = "select worker_id, n from jobkit.orphaned_claims()";

    /// Takes back one claim without a worker, or only some of its jobs; returns how many it held.
    fn reap_claim(worker: i64, n: i64, jobs: Option<&[i64]>) -> One<i32>
        = "select jobkit.reap_claim($1, $2, $3)",
        debug_span!("jobkit.reap", worker, n);

    /// Dead letters of jobs that these workers had when they died, made since then, 1,000 at most.
    /// Answers job, kind, queue and attempts of each.
    fn crashed(since: DateTime<Utc>, workers: &[i64]) -> Vec<(i64, String, String, i32)>
        = include_str!("sql/dead_letters_crashed.sql");
}

from_row! {
    ClaimId { worker: "worker_id", n }
}

// Jobs for which a transition fails.

statements! {
    /// Records that a transition failed for each of these jobs, through no fault of theirs. Returns
    /// how long to leave each alone.
    fn stick(transition: &str, jobs: &[i64], errors: &[String], worker: i64)
        -> Vec<(i64, Duration)>
        = "select job_id, wait from jobkit.stick($1, $2, $3, $4)";

    /// Records that they are no longer stuck.
    fn unstick(jobs: &[i64]) -> ()
        = "delete from jobkit.stuck_jobs s where s.job_id = any ($1)";
}

/// Moves unreadable ready jobs out of the way of a claim that the server refused. Returns the jobs,
/// each with the server's error.
pub(crate) fn set_aside(claim: &Claim<'_>) -> Statement<Vec<(i64, String)>> {
    Statement::new("select job_id, error from jobkit.set_aside($1, $2, $3, $4)")
        .spanned(debug_span!("jobkit.set_aside", worker = claim.id.worker))
        .bind(claim.id.worker)
        .bind(claim.kinds)
        .bind(&claim.queues)
        .bind(&claim.slots)
}

// What is due.

statements! {
    /// Makes due jobs ready, for a worker that looks again after this long.
    fn promote(limit: i32, worker: i64, poll: PgInterval) -> One<Promoted>
        = include_str!("sql/jobs_promote.sql"),
        trace_span!("jobkit.promote");

    /// Replays the dead letters whose kind says so, once their time has come; returns how many.
    fn replay_due(limit: i32) -> One<i32> = "select jobkit.replay_due($1)",
        trace_span!("jobkit.replay");

    /// The oldest open operation, or this one if it is open, and how long until its next step.
    fn next_operation(only: Option<i64>) -> Option<(i64, Duration)>
        = include_str!("sql/operations_next.sql");

    /// Takes one step of an operation, of about this many jobs or dead letters: `step` or `done`;
    /// `None` if somebody else is working on it, or it has ended.
    fn operate(operation: i64, limit: i32) -> One<Option<String>>
        = "select outcome from jobkit.operate($1, $2)",
        debug_span!("jobkit.operate", operation);

    /// Ends an operation before all is done, as `cancelled` or `failed`; returns whether it was
    /// open.
    fn stop_operation(operation: i64, state: &str, error: Option<&str>, actor: Option<&str>)
        -> One<bool>
        = "select jobkit.operation_stop($1, $2, $3, $4)";
}

/// The answer to [`promote`].
#[derive(Debug)]
pub(crate) struct Promoted {
    /// How many became ready.
    pub(crate) jobs: i32,
    /// When the next one is due, or the next schedule.
    pub(crate) next: Option<Duration>,
    /// Whether an operation is open, which is checked here since this statement runs anyway.
    pub(crate) operating: bool,
    /// Whether a schedule is due.
    pub(crate) firing: bool,
    /// Whether something has changed in a batch.
    pub(crate) tallied: bool,
    /// Whether the worker sleeps, so that enqueues notify it of everything that becomes due until
    /// it looks again.
    pub(crate) told: bool,
    /// After how long the bounds of queues must be checked, if there are any.
    pub(crate) look_in: Option<Duration>,
}

from_row! {
    Promoted { jobs: "promoted", next: "next_in", operating, firing, tallied, told, look_in }
}

// Permits that became free.

/// Waits, at most this long, for transactions that may have decided without seeing a worker that
/// just registered.
pub(crate) fn sweep_start(patience: Duration) -> Statement<()> {
    let milliseconds = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    Statement::new("select jobkit.sweep_start($1)").bind(milliseconds)
}

statements! {
    /// Whether the next periodic sweep is due, and whether there is an explanation for what it may
    /// find.
    fn sweep_begin(every: PgInterval) -> One<(bool, bool)>
        = "select due, explained from jobkit.sweep_begin($1)";

    /// Fills one page of the keys with blocked jobs, those after a group and key. Returns how many
    /// jobs became ready, and after which key the next page begins.
    fn sweep_keys(group: &str, key: &str, limit: i32)
        -> One<(i32, Option<String>, Option<String>)>
        = "select unblocked, last_group, last_key from jobkit.sweep($1, $2, $3)",
        trace_span!("jobkit.sweep");

    /// Takes permits back from ready jobs that nobody serves; returns how many there were.
    fn sweep_unserved(limit: i32) -> One<i32> = "select jobkit.sweep_unserved($1)",
        trace_span!("jobkit.sweep");

    /// Ends waiting jobs whose cancel was cut short; returns how many.
    fn sweep_cancelled(limit: i32) -> One<i32> = "select jobkit.sweep_cancelled($1)",
        trace_span!("jobkit.sweep");

    /// Adds to the count of unexplained finds.
    fn sweep_note(jobs: i32) -> () = "select jobkit.sweep_note($1)";
}

// Measures, and what is kept for a limited time.

/// What a worker has counted of one queue, kind and outcome.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Measured<'a> {
    pub(crate) queue: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) outcome: &'a str,
    pub(crate) count: u64,
    pub(crate) run: &'a Histogram,
    pub(crate) wait: &'a Histogram,
}

/// Adds what a worker has counted to the rows of this minute.
pub(crate) fn measure(rows: &[Measured<'_>]) -> Statement<()> {
    Statement::new("select jobkit.measure($1)")
        .spanned(debug_span!("jobkit.measure", rows = rows.len()))
        .bind(Json(rows))
}

statements! {
    /// Removes old entries of the audit, the oldest first; returns how many.
    fn prune_audit(keep: PgInterval, limit: i32) -> One<i32>
        = "select jobkit.prune_audit($1, $2)", debug_span!("jobkit.prune");

    /// Removes rows of unique keys that hold nothing any more; returns how many.
    fn prune_keys(limit: i32) -> One<i32>
        = "select jobkit.prune_keys($1)", trace_span!("jobkit.prune");

    /// Removes old measures; returns how many rows.
    fn prune_measures(keep: PgInterval, limit: i32) -> One<i32>
        = "select jobkit.prune_measures($1, $2)", debug_span!("jobkit.prune");

    /// Removes old runs of schedules; returns how many.
    fn prune_runs(keep: PgInterval, limit: i32) -> One<i32>
        = "select jobkit.prune_runs($1, $2)", debug_span!("jobkit.prune");

    /// Removes dead letters that were resolved a while ago; returns how many.
    fn prune_resolved(keep: PgInterval, limit: i32) -> One<i32>
        = "select jobkit.prune_resolved($1, $2)", trace_span!("jobkit.prune");

    /// Creates the partitions of the history for this many days to come; returns how many it
    /// created.
    fn prepare_days(days: i32) -> One<i32> = "select jobkit.finished_prepare($1)";

    /// How many days of the history there are from today on.
    fn days_there() -> One<i32>
        = "select count(*)::int from jobkit.finished_days
           where day >= (now() at time zone 'UTC')::date";

    /// Partitions of the history whose day has passed.
    fn expired_days() -> Vec<RemoveDay>
        = "select day, detach, remove from jobkit.finished_expired()";

    /// Takes a day off the list of partitions.
    fn forget_day(day: NaiveDate) -> () = "select jobkit.finished_forget($1)";
}

/// Removes one expired partition; the server wrote the statements, names and all.
#[derive(Debug)]
pub(crate) struct RemoveDay {
    pub(crate) day: NaiveDate,
    detach: Option<String>,
    remove: String,
}

from_row! {
    RemoveDay { day, detach, remove }
}

impl Call for RemoveDay {
    type Answer = ();

    fn span(&self) -> Span {
        debug_span!("jobkit.prune", day = %self.day)
    }

    /// Each statement on its own, since DETACH … CONCURRENTLY cannot run in a transaction. If it is
    /// interrupted, the next run finds the partition and continues from there.
    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        forget_day(self.day).call(connection).await?;
        for statement in self.detach.iter().chain([&self.remove]) {
            sqlx::raw_sql(AssertSqlSafe(statement.clone())).execute(&mut *connection).await?;
        }
        Ok(())
    }
}
