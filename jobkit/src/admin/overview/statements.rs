use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::attention::Attention;
use crate::admin::Count;
use crate::admin::count::{capped, count};
use crate::store::{Call, Times, duration, interval, number};

/// What waits, runs and is dead.
pub(crate) struct OverviewCounts;

/// The numbers of an overview.
#[derive(Debug)]
pub(crate) struct OverviewRow {
    pub(crate) at: DateTime<Utc>,
    pub(crate) ready: Count,
    pub(crate) running: u32,
    /// Workers that are alive and not stopping.
    pub(crate) workers: u32,
    pub(crate) capacity: u32,
    pub(crate) scheduled: Count,
    pub(crate) due_soon: Count,
    pub(crate) next_run_at: Option<DateTime<Utc>>,
    pub(crate) retrying: Count,
    pub(crate) blocked: Count,
    pub(crate) dead: Count,
    pub(crate) dead_lately: Count,
}

impl Call for OverviewCounts {
    type Answer = OverviewRow;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<OverviewRow> {
        let query = sqlx::query(include_str!("sql/overview_counts.sql"));
        let row = query.fetch_one(connection).await?;
        Ok(OverviewRow {
            at: row.time("at")?,
            ready: capped(row.try_get("ready")?),
            running: number(row.try_get::<i64, _>("running")?),
            workers: number(row.try_get::<i64, _>("workers")?),
            capacity: number(row.try_get::<i64, _>("capacity")?),
            scheduled: capped(row.try_get("scheduled")?),
            due_soon: capped(row.try_get("due_soon")?),
            next_run_at: row.time("next_run_at")?,
            retrying: capped(row.try_get("retrying")?),
            blocked: capped(row.try_get("blocked")?),
            dead: capped(row.try_get("dead")?),
            dead_lately: capped(row.try_get("dead_lately")?),
        })
    }
}

/// Queues in which a job has been ready for longer than this.
pub(crate) struct LateQueues(pub(crate) Duration);

impl Call for LateQueues {
    /// How long the ready job has been due that was due first, and the queues.
    type Answer = (Option<Duration>, Vec<Attention>);

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let query = sqlx::query(include_str!("sql/overview_ready.sql")).bind(interval(self.0));
        let (mut oldest, mut queues) = (None, Vec::new());
        for row in query.fetch_all(connection).await? {
            oldest = row.try_get("oldest")?;
            if let Some(queue) = row.try_get("queue")? {
                queues.push(Attention::LateQueue {
                    queue,
                    oldest: duration(row.try_get("age")?),
                    slots: number(row.try_get::<i64, _>("slots")?),
                    busy: count(row.try_get("busy")?, row.try_get("more")?),
                });
            }
        }
        Ok((oldest.map(duration), queues))
    }
}

/// The oldest open operation.
pub(crate) struct OldestOperation;

impl Call for OldestOperation {
    /// Its id, its verb, and how long ago it got further.
    type Answer = Option<(i64, String, Duration)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let query = sqlx::query_as(include_str!("sql/overview_operation.sql"));
        let oldest: Option<(i64, String, i64)> = query.fetch_optional(connection).await?;
        Ok(oldest.map(|(id, verb, age)| (id, verb, duration(age))))
    }
}

/// Workers that were lost lately.
pub(crate) struct LostWorkers;

impl Call for LostWorkers {
    type Answer = Vec<Attention>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let worker = |row: PgRow| {
            Ok(Attention::LostWorker {
                id: row.try_get("id")?,
                name: row.try_get("name")?,
                at: row.try_get("lost_at")?,
                jobs: number(row.try_get::<i32, _>("jobs")?),
            })
        };
        let query = sqlx::query(include_str!("sql/overview_lost.sql"));
        query.fetch_all(connection).await?.into_iter().map(worker).collect()
    }
}

/// Keys without a permit left whose next job has waited for longer than this.
pub(crate) struct KeysAtLimit(pub(crate) Duration);

impl Call for KeysAtLimit {
    /// How long the blocked job waits that waits longest, and the keys.
    type Answer = (Option<Duration>, Vec<Attention>);

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let query = sqlx::query(include_str!("sql/overview_blocked.sql")).bind(interval(self.0));
        let (mut oldest, mut keys) = (None, Vec::new());
        for row in query.fetch_all(connection).await? {
            oldest = row.try_get("oldest")?;
            if let Some(group) = row.try_get("grp")? {
                keys.push(Attention::KeyAtLimit {
                    group,
                    key: row.try_get("key")?,
                    limit: number(row.try_get::<i32, _>("effective_limit")?),
                    taken: number(row.try_get::<i32, _>("taken")?),
                    blocked: capped(row.try_get("blocked")?),
                    blocked_age: duration(row.try_get("age")?),
                });
            }
        }
        Ok((oldest.map(duration), keys))
    }
}

/// The paused queues with ready jobs.
pub(crate) struct PausedBacklogs;

impl Call for PausedBacklogs {
    type Answer = Vec<Attention>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let queue = |row: PgRow| {
            Ok(Attention::PausedQueue {
                queue: row.try_get("name")?,
                since: row.time("paused_at")?,
                actor: row.try_get("paused_by")?,
                reason: row.try_get("reason")?,
                ready: capped(row.try_get("number")?),
            })
        };
        let query = sqlx::query(include_str!("sql/overview_paused.sql"));
        query.fetch_all(connection).await?.into_iter().map(queue).collect()
    }
}

/// Queues and kinds of jobs that no live worker serves; this many at most.
pub(crate) struct UnservedKinds(pub(crate) i64);

impl Call for UnservedKinds {
    type Answer = Vec<Attention>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let kind = |row: PgRow| {
            Ok(Attention::Unserved {
                queue: row.try_get("queue")?,
                kind: row.try_get("kind")?,
                announced: row.try_get("announced")?,
                jobs: count(row.try_get("number")?, row.try_get("more")?),
            })
        };
        let query = sqlx::query(include_str!("sql/overview_unserved.sql")).bind(self.0);
        query.fetch_all(connection).await?.into_iter().map(kind).collect()
    }
}
