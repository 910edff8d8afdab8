use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use tracing::Span;

use super::worker::{RunningJob, ServedQueue, WorkerSummary};
use crate::JobId;
use crate::store::{Call, Times, duration, number};

/// Workers by name: all of them, or these.
#[derive(Default)]
pub(crate) struct Workers {
    pub(crate) only: Option<i64>,
    /// Only those that have not renewed their lease in time.
    pub(crate) late: bool,
}

impl Call for Workers {
    type Answer = Vec<WorkerSummary>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let query = sqlx::query(include_str!("sql/workers_list.sql"));
        let rows = query.bind(self.only).bind(self.late).fetch_all(connection).await?;
        rows.iter().map(worker).collect()
    }
}

fn worker(row: &PgRow) -> sqlx::Result<WorkerSummary> {
    let queues: Vec<String> = row.try_get("queues")?;
    let slots: Vec<i32> = row.try_get("slots")?;
    let mut slots = slots.into_iter().map(number);
    let served = |queue| ServedQueue { queue, slots: slots.next() };
    Ok(WorkerSummary {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        started_at: row.time("started_at")?,
        heartbeat_age: duration(row.try_get("heartbeat_age")?),
        lease: duration(row.try_get("lease")?),
        lease_until: row.time("lease_until")?,
        lapsed: row.try_get("lapsed")?,
        late: row.try_get("late")?,
        stopping: row.try_get("stopping")?,
        stop_requested_at: row.time("stop_requested_at")?,
        queues: queues.into_iter().map(served).collect(),
        kinds: row.try_get("kinds")?,
        running: number(row.try_get::<i64, _>("running")?),
    })
}

/// What a worker runs.
pub(crate) struct WorkerJobs(pub(crate) i64);

impl Call for WorkerJobs {
    type Answer = Vec<RunningJob>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let job = |row: PgRow| {
            Ok(RunningJob {
                job: JobId(row.try_get("id")?),
                kind: row.try_get("kind")?,
                queue: row.try_get("queue")?,
                attempt: number(row.try_get::<i32, _>("attempt")?),
                since: row.time("claimed_at")?,
            })
        };
        let query = sqlx::query(include_str!("sql/workers_jobs.sql")).bind(self.0);
        query.fetch_all(connection).await?.into_iter().map(job).collect()
    }
}

/// Asks a worker to stop.
pub(crate) struct StopWorker<'a> {
    pub(crate) worker: i64,
    pub(crate) actor: Option<&'a str>,
}

impl Call for StopWorker<'_> {
    /// `stop`, `already` or `missing`.
    type Answer = String;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.stop", worker = self.worker)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<String> {
        sqlx::query_scalar(include_str!("sql/workers_stop.sql"))
            .bind(self.worker)
            .bind(self.actor)
            .fetch_one(connection)
            .await
    }
}
