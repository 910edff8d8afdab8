use sqlx::postgres::PgRow;
use tracing::debug_span;

use super::worker::{GoneWorker, RunningJob, ServedQueue, WorkerSummary};
use crate::admin::columns::progress;
use crate::store::{One, ReadColumn, from_row, number, statements};

statements! {
    /// Workers by name: all of them, only one, or only those that have not renewed their lease in
    /// time.
    fn workers(only: Option<i64>, late: bool) -> Vec<WorkerSummary>
        = include_str!("sql/workers_list.sql");

    /// The running jobs of a worker.
    fn worker_jobs(worker: i64) -> Vec<RunningJob> = include_str!("sql/workers_jobs.sql");

    /// A worker that has ended.
    fn gone_worker(worker: i64) -> Option<GoneWorker> = include_str!("sql/workers_gone.sql");

    /// The names of these workers.
    fn worker_names(workers: &[i64]) -> Vec<(i64, String)>
        = include_str!("sql/workers_names.sql");

    /// Asks a worker to stop: `stop`, `already` or `missing`.
    fn stop_worker(worker: i64, actor: Option<&str>) -> One<String>
        = "select jobkit.stop_worker($1, $2)",
        debug_span!("jobkit.stop", worker);
}

from_row! {
    WorkerSummary { id, name, started_at, heartbeat_age, lease, lease_until, lapsed, late, stopping,
        stop_requested_at, kinds, running, zones; queues: served_queues }
}

from_row! {
    GoneWorker { id, name, started_at, heartbeat_at, ended_at, stopped, jobs }
    RunningJob { job: "id", kind, queue, attempt, since: "claimed_at"; progress: progress }
}

fn served_queues(row: &PgRow) -> sqlx::Result<Vec<ServedQueue>> {
    let (queues, slots): (Vec<_>, Vec<i32>) = (row.read("queues")?, row.read("slots")?);
    let pools: Vec<Option<i32>> = row.read("pools")?;
    let weights: Vec<Option<i32>> = row.read("weights")?;
    let mut slots = slots.into_iter().map(number);
    let (mut pools, mut weights) = (pools.into_iter(), weights.into_iter());
    let served = queues.into_iter().map(|queue| ServedQueue {
        queue,
        slots: slots.next(),
        pool: pools.next().flatten().map(number),
        weight: weights.next().flatten().map(number),
    });
    Ok(served.collect())
}
