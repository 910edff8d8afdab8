use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;

use super::hands::InHand;
use crate::JobId;
use crate::admin::columns::{concurrency, progress};
use crate::admin::jobs::Progress;
use crate::admin::limits::{Limit, Pause};
use crate::store::{FromRow, One, ReadColumn, Statement, from_row, statements};
use crate::version::versioned;

statements! {
    /// Where a live job is, and which workers might run it.
    fn explain_job(job: i64) -> Option<LiveJob> = include_str!("sql/jobs_explain.sql");

    /// What holds back its queue or its kind.
    fn held(queue: &str, kind: &str) -> Vec<Limit> = include_str!("sql/jobs_held.sql");

    /// The sessions that hold a waiting job.
    fn hands(job: i64) -> Vec<InHand> = include_str!("sql/jobs_hands.sql");

    /// How a job ended.
    fn explain_ended(job: i64) -> Option<EndedJob> = include_str!("sql/jobs_ended.sql");
}

from_row! {
    InHand { pid, application, since }
}

/// What the database knows of a live job.
#[derive(Debug)]
pub(crate) struct LiveJob {
    pub(crate) kind: String,
    /// Of its payload.
    pub(crate) version: u16,
    pub(crate) queue: String,
    pub(crate) priority: i16,
    /// Group and key.
    pub(crate) key: Option<(String, String)>,
    pub(crate) cancel_requested_at: Option<DateTime<Utc>>,
    /// The worker that runs it, and when it began.
    pub(crate) runs: Option<(i64, DateTime<Utc>)>,
    /// Its reported progress.
    pub(crate) progress: Option<Progress>,
    /// Whether it waits there for a slot.
    pub(crate) waits: bool,
    /// When it is due, and whether it is due by now.
    pub(crate) scheduled: Option<(DateTime<Utc>, bool)>,
    /// By when it has to start, if it has not; and until when it is retried.
    pub(crate) expires_at: Option<DateTime<Utc>>,
    pub(crate) retry_until: Option<DateTime<Utc>>,
    /// When it was first told to wait.
    pub(crate) waits_since: Option<DateTime<Utc>>,
    /// The batch after whose end it runs.
    pub(crate) awaits: Option<i64>,
    /// The job with its unique key, after which it runs.
    pub(crate) follows: Option<i64>,
    /// The requested time of that run, if it is in the future.
    pub(crate) asked_for: Option<DateTime<Utc>>,
    pub(crate) blocked: bool,
    /// Set when it is ready.
    pub(crate) without_permit: Option<bool>,
    pub(crate) pause: Option<Pause>,
    /// Live workers of its queue; how many know its kind in its version, and how many jobs these
    /// can run at once.
    pub(crate) serving: u32,
    pub(crate) knowing: u32,
    /// Whether one of them knows its kind in some version.
    pub(crate) knows_kind: bool,
    pub(crate) slots: u32,
}

impl FromRow for LiveJob {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let worker: Option<_> = row.read("worker_id")?;
        let due: Option<_> = row.read("run_at")?;
        let queue: String = row.read("queue")?;
        let (actor, reason) = (row.read("paused_by")?, row.read("pause_reason")?);
        let pause = |since| Pause { since, until: None, actor, reason };
        Ok(Self {
            pause: row.read::<Option<_>>("paused_at")?.map(pause),
            kind: row.read("kind")?,
            version: row.read("version")?,
            queue,
            priority: row.read("priority")?,
            key: concurrency(row)?,
            cancel_requested_at: row.read("cancel_requested_at")?,
            waits: row.read("waits")?,
            runs: worker.zip(row.read("claimed_at")?),
            progress: progress(row)?,
            scheduled: due.zip(row.read("due")?),
            expires_at: row.read("expires_at")?,
            retry_until: row.read("retry_until")?,
            waits_since: row.read("waits_since")?,
            awaits: row.read("awaits")?,
            follows: row.read("follows")?,
            asked_for: row.read("asked_for")?,
            blocked: row.read("blocked")?,
            without_permit: row.read("without_permit")?,
            serving: row.read("serving")?,
            knowing: row.read("knowing")?,
            knows_kind: row.read::<Option<_>>("knows_kind")?.unwrap_or(false),
            slots: row.read::<Option<_>>("slots")?.unwrap_or(0),
        })
    }
}

/// What is ahead of a waiting job.
pub(crate) fn ahead(id: JobId, job: &LiveJob) -> Statement<One<Ahead>> {
    Statement::new(include_str!("sql/jobs_ahead.sql"))
        .bind(id.0)
        .bind(&job.queue)
        .bind(job.priority)
        .bind(job.without_permit)
        .bind(versioned(&job.kind, job.version))
        .bind(job.key.as_ref().map(|(group, _)| group))
        .bind(job.key.as_ref().map(|(_, key)| key))
}

/// What is ahead of a waiting job; counts end at 10,000.
#[derive(Debug)]
pub(crate) struct Ahead {
    pub(crate) ahead: u32,
    /// Jobs of its queue that run on the workers that know it.
    pub(crate) running: u32,
    /// Blocked jobs of its key up to itself, and all of them.
    pub(crate) place: u32,
    pub(crate) blocked: u32,
    pub(crate) limit: u32,
    pub(crate) taken: u32,
    pub(crate) holders: Vec<i64>,
    /// The time between two slots of the key's rate, and its burst.
    pub(crate) every: Option<Duration>,
    pub(crate) burst: Option<u32>,
    pub(crate) paused_until: Option<DateTime<Utc>>,
    /// How long it is until time alone makes room.
    pub(crate) next: Option<Duration>,
}

from_row! {
    Ahead { ahead, running, place, blocked, limit: "effective", taken, holders, every: "rate",
        burst, paused_until, next: "next_in" }
}

/// How a job ended.
#[derive(Debug)]
pub(crate) struct EndedJob {
    /// A dead letter: `ending` is its reason, `why` its error.
    pub(crate) dead: bool,
    pub(crate) ending: String,
    pub(crate) why: Option<String>,
    pub(crate) at: DateTime<Utc>,
}

from_row! {
    EndedJob { dead, ending, why, at: "ended_at" }
}
