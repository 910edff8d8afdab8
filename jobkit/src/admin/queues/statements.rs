use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use tracing::Span;

use super::queue::PausedQueue;
use crate::store::{Call, Time, Times, duration, number};

/// A queue that workers serve, or that is paused.
#[derive(Debug)]
pub(crate) struct KnownQueue {
    pub(crate) queue: String,
    pub(crate) workers: u32,
    pub(crate) capacity: u32,
    pub(crate) paused: Option<PausedQueue>,
}

/// The queues that workers serve, or that are paused.
pub(crate) struct KnownQueues;

impl Call for KnownQueues {
    type Answer = Vec<KnownQueue>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let known = |row: PgRow| {
            let queue: String = row.try_get("name")?;
            let paused_at: Option<DateTime<Utc>> = row.time("paused_at")?;
            let (actor, reason) = (row.try_get("paused_by")?, row.try_get("reason")?);
            let paused =
                paused_at.map(|since| PausedQueue { queue: queue.clone(), since, actor, reason });
            Ok(KnownQueue {
                queue,
                workers: number(row.try_get::<i64, _>("workers")?),
                capacity: number(row.try_get::<i64, _>("capacity")?),
                paused,
            })
        };
        let query = sqlx::query(include_str!("sql/queues_known.sql"));
        query.fetch_all(connection).await?.into_iter().map(known).collect()
    }
}

/// The jobs of a queue that are in one state, as far as they were counted.
#[derive(Debug, Default)]
pub(crate) struct Held {
    pub(crate) queue: String,
    /// By kind.
    pub(crate) kinds: Vec<(String, u32)>,
    /// Whether there may be more of the queue.
    pub(crate) more: bool,
    /// How long the oldest of them has been in that state.
    pub(crate) age: Option<Duration>,
    /// How many of them have used an attempt up.
    pub(crate) retrying: u32,
    /// When the next of them is due.
    pub(crate) next_run_at: Option<DateTime<Utc>>,
}

/// The ready jobs of each queue.
pub(crate) struct QueuesReady;

impl Call for QueuesReady {
    type Answer = Vec<Held>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<Held>> {
        let held = |row: PgRow| {
            let kinds: Option<Vec<String>> = row.try_get("kinds")?;
            let numbers: Option<Vec<i64>> = row.try_get("numbers")?;
            let numbers = numbers.unwrap_or_default().into_iter().map(number);
            Ok(Held {
                queue: row.try_get("queue")?,
                kinds: kinds.unwrap_or_default().into_iter().zip(numbers).collect(),
                more: row.try_get::<Option<bool>, _>("more")?.unwrap_or(false),
                age: row.try_get::<Option<i64>, _>("age")?.map(duration),
                ..Held::default()
            })
        };
        let query = sqlx::query(include_str!("sql/queues_ready.sql"));
        query.fetch_all(connection).await?.into_iter().map(held).collect()
    }
}

fn of_kind(row: &PgRow) -> sqlx::Result<Held> {
    let of_kind = number(row.try_get::<i64, _>("number")?);
    Ok(Held {
        queue: row.try_get("queue")?,
        kinds: vec![(row.try_get("kind")?, of_kind)],
        more: row.try_get("more")?,
        ..Held::default()
    })
}

/// The blocked jobs of each queue and kind.
pub(crate) struct QueuesBlocked;

impl Call for QueuesBlocked {
    type Answer = Vec<Held>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<Held>> {
        let held =
            |row: PgRow| Ok(Held { age: Some(duration(row.try_get("age")?)), ..of_kind(&row)? });
        let query = sqlx::query(include_str!("sql/queues_blocked.sql"));
        query.fetch_all(connection).await?.into_iter().map(held).collect()
    }
}

/// The scheduled jobs of each queue and kind.
pub(crate) struct QueuesScheduled;

impl Call for QueuesScheduled {
    type Answer = Vec<Held>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<Held>> {
        let held = |row: PgRow| {
            Ok(Held {
                retrying: number(row.try_get::<i64, _>("retrying")?),
                next_run_at: row.time("next_run_at")?,
                ..of_kind(&row)?
            })
        };
        let query = sqlx::query(include_str!("sql/queues_scheduled.sql"));
        query.fetch_all(connection).await?.into_iter().map(held).collect()
    }
}

/// The running jobs of each queue and kind.
pub(crate) struct QueuesRunning;

impl Call for QueuesRunning {
    type Answer = Vec<Held>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<Held>> {
        let query = sqlx::query(include_str!("sql/queues_running.sql"));
        query.fetch_all(connection).await?.iter().map(of_kind).collect()
    }
}

/// Pauses a queue.
pub(crate) struct Pause<'a> {
    pub(crate) queue: &'a str,
    pub(crate) actor: &'a str,
    pub(crate) reason: &'a str,
}

impl Call for Pause<'_> {
    /// Whether it was not paused before.
    type Answer = bool;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.pause", queue = self.queue)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<bool> {
        sqlx::query_scalar(include_str!("sql/queues_pause.sql"))
            .bind(self.queue)
            .bind(self.actor)
            .bind(self.reason)
            .fetch_one(connection)
            .await
    }
}

/// Resumes a queue.
pub(crate) struct Resume<'a> {
    pub(crate) queue: &'a str,
    pub(crate) actor: Option<&'a str>,
}

impl Call for Resume<'_> {
    /// Whether it was paused.
    type Answer = bool;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.resume", queue = self.queue)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<bool> {
        sqlx::query_scalar(include_str!("sql/queues_resume.sql"))
            .bind(self.queue)
            .bind(self.actor)
            .fetch_one(connection)
            .await
    }
}

/// The paused queues.
pub(crate) struct PausedQueues;

impl Call for PausedQueues {
    /// Queue, since when, by whom, why.
    type Answer = Vec<(String, Time, Option<String>, Option<String>)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/queues_paused.sql")).fetch_all(connection).await
    }
}
