use chrono::{DateTime, Utc};
use sqlx::{PgConnection, Row};

use crate::store::{Call, Time, Times};

/// Asks where a live job is, and who might run it.
pub(crate) struct ExplainJob(pub(crate) i64);

/// What the database knows of a live job.
#[derive(Debug)]
pub(crate) struct LiveJob {
    pub(crate) kind: String,
    pub(crate) queue: String,
    pub(crate) priority: i16,
    /// Group and key.
    pub(crate) key: Option<(String, String)>,
    pub(crate) cancel_requested_at: Option<DateTime<Utc>>,
    /// The worker that runs it, since when.
    pub(crate) runs: Option<(i64, DateTime<Utc>)>,
    /// When it is due, and whether it is by now.
    pub(crate) scheduled: Option<(DateTime<Utc>, bool)>,
    pub(crate) blocked: bool,
    /// Set when it is ready.
    pub(crate) without_permit: Option<bool>,
    pub(crate) pause: Option<PauseRow>,
    /// Live workers of its queue; how many know its kind, and how many jobs these can run at once.
    pub(crate) serving: i64,
    pub(crate) knowing: i64,
    pub(crate) slots: i64,
}

/// Since when a queue is paused, by whom and why.
#[derive(Debug)]
pub(crate) struct PauseRow {
    pub(crate) since: DateTime<Utc>,
    pub(crate) actor: Option<String>,
    pub(crate) reason: Option<String>,
}

impl Call for ExplainJob {
    type Answer = Option<LiveJob>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let query = sqlx::query(include_str!("sql/jobs_explain.sql")).bind(self.0);
        let Some(row) = query.fetch_optional(connection).await? else { return Ok(None) };
        let paused_at: Option<_> = row.time("paused_at")?;
        let (actor, reason) = (row.try_get("paused_by")?, row.try_get("pause_reason")?);
        let group: Option<String> = row.try_get("concurrency_group")?;
        let worker: Option<i64> = row.try_get("worker_id")?;
        let due: Option<DateTime<Utc>> = row.time("run_at")?;
        Ok(Some(LiveJob {
            kind: row.try_get("kind")?,
            queue: row.try_get("queue")?,
            priority: row.try_get("priority")?,
            key: group.zip(row.try_get("concurrency_key")?),
            cancel_requested_at: row.time("cancel_requested_at")?,
            runs: worker.zip(row.time("claimed_at")?),
            scheduled: due.zip(row.try_get("due")?),
            blocked: row.try_get("blocked")?,
            without_permit: row.try_get("without_permit")?,
            pause: paused_at.map(|since| PauseRow { since, actor, reason }),
            serving: row.try_get("serving")?,
            knowing: row.try_get("knowing")?,
            slots: row.try_get::<Option<i64>, _>("slots")?.unwrap_or(0),
        }))
    }
}

/// Asks what stands before a waiting job.
pub(crate) struct Ahead<'a> {
    pub(crate) job: i64,
    pub(crate) of: &'a LiveJob,
}

/// What stands before a waiting job; counts end at 10,000.
#[derive(Debug)]
pub(crate) struct AheadRow {
    pub(crate) ahead: i64,
    /// Jobs of its queue that run on the workers that know it.
    pub(crate) running: i64,
    /// Blocked jobs of its key up to itself, and all of them.
    pub(crate) place: i64,
    pub(crate) blocked: i64,
    pub(crate) limit: i32,
    pub(crate) taken: i32,
    pub(crate) holders: Vec<i64>,
}

impl Call for Ahead<'_> {
    type Answer = AheadRow;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<AheadRow> {
        let row = sqlx::query(include_str!("sql/jobs_ahead.sql"))
            .bind(self.job)
            .bind(&self.of.queue)
            .bind(self.of.priority)
            .bind(self.of.without_permit)
            .bind(&self.of.kind)
            .bind(self.of.key.as_ref().map(|key| &*key.0))
            .bind(self.of.key.as_ref().map(|key| &*key.1))
            .fetch_one(connection)
            .await?;
        Ok(AheadRow {
            ahead: row.try_get("ahead")?,
            running: row.try_get("running")?,
            place: row.try_get("place")?,
            blocked: row.try_get("blocked")?,
            limit: row.try_get("effective")?,
            taken: row.try_get("taken")?,
            holders: row.try_get("holders")?,
        })
    }
}

/// Asks how a job ended.
pub(crate) struct ExplainEnded(pub(crate) i64);

/// How a job ended.
#[derive(Debug)]
pub(crate) struct EndedJob {
    /// A dead letter: `ending` is its reason, `why` its error.
    pub(crate) dead: bool,
    pub(crate) ending: String,
    pub(crate) why: Option<String>,
    pub(crate) at: DateTime<Utc>,
}

impl Call for ExplainEnded {
    type Answer = Option<EndedJob>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        type Row = (bool, String, Option<String>, Time);
        let row: Option<Row> = sqlx::query_as(include_str!("sql/jobs_ended.sql"))
            .bind(self.0)
            .fetch_optional(connection)
            .await?;
        Ok(row.map(|(dead, ending, why, Time(at))| EndedJob { dead, ending, why, at }))
    }
}
