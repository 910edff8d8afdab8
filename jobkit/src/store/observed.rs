use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::Call;
use super::count::{duration, number};
use super::time::Times;
use crate::JobId;
use crate::observed::kind::KindSummary;
use crate::observed::measure::Measures;
use crate::observed::worker::{RunningJob, ServedQueue, WorkerSummary};

/// Workers by name: all of them, or those meant.
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

/// The kinds that workers have announced.
pub(crate) struct Kinds;

impl Call for Kinds {
    type Answer = Vec<KindSummary>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let query = sqlx::query(include_str!("sql/kinds_list.sql"));
        query.fetch_all(connection).await?.iter().map(kind).collect()
    }
}

fn kind(row: &PgRow) -> sqlx::Result<KindSummary> {
    let group: Option<String> = row.try_get("concurrency_group")?;
    let limit: Option<i32> = row.try_get("concurrency_limit")?;
    let replay: Option<i64> = row.try_get("auto_replay")?;
    let cycles = number(row.try_get::<i32, _>("max_cycles")?);
    Ok(KindSummary {
        kind: row.try_get("kind")?,
        queue: row.try_get("queue")?,
        priority: row.try_get("priority")?,
        max_attempts: number(row.try_get::<i16, _>("max_attempts")?),
        retention: row.try_get::<Option<i64>, _>("retention")?.map(duration),
        concurrency: group.map(|group| (group, limit.map_or(1, number))),
        auto_replay: replay.map(|wait| (duration(wait), cycles)),
        announced_at: row.time("announced_at")?,
        workers: number(row.try_get::<i64, _>("workers")?),
        lately: Measures::default(),
    })
}
