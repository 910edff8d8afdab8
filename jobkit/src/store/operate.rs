use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use tracing::Span;

use super::Call;
use super::time::Time;

/// Who does something, and what the audit has to say of it.
#[derive(Clone, Copy)]
pub(crate) struct Act<'a> {
    pub(crate) actor: Option<&'a str>,
    pub(crate) detail: &'a Value,
}

/// Marks jobs as cancelled.
pub(crate) struct CancelMark<'a> {
    pub(crate) jobs: &'a [i64],
    /// `cancel` or `discard`.
    pub(crate) action: &'static str,
    pub(crate) act: Act<'a>,
}

impl Call for CancelMark<'_> {
    /// Those that are live.
    type Answer = Vec<i64>;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.cancel", jobs = self.jobs.len())
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/jobs_cancel_mark.sql"))
            .bind(self.jobs)
            .bind(self.action)
            .bind(self.act.actor)
            .bind(self.act.detail)
            .fetch_all(connection)
            .await
    }
}

/// Takes marked jobs from where they wait.
pub(crate) struct CancelTake<'a> {
    pub(crate) jobs: &'a [i64],
    /// `cancel` or `discard`.
    pub(crate) outcome: &'static str,
    pub(crate) reason: &'a str,
}

impl Call for CancelTake<'_> {
    /// Those that have ended.
    type Answer = Vec<i64>;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.cancel", jobs = self.jobs.len(), outcome = self.outcome)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/jobs_cancel_take.sql"))
            .bind(self.jobs)
            .bind(self.outcome)
            .bind(self.reason)
            .fetch_all(connection)
            .await
    }
}

/// Gives waiting jobs another time.
pub(crate) struct Reschedule<'a> {
    pub(crate) jobs: &'a [i64],
    /// `None` for now.
    pub(crate) run_at: Option<DateTime<Utc>>,
    pub(crate) act: Act<'a>,
}

impl Call for Reschedule<'_> {
    /// Those that were found waiting.
    type Answer = Vec<i64>;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.reschedule", jobs = self.jobs.len())
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/jobs_reschedule.sql"))
            .bind(self.jobs)
            .bind(self.run_at)
            .bind(self.act.actor)
            .bind(self.act.detail)
            .fetch_all(connection)
            .await
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

/// Sets or clears an operator's limit for a group.
pub(crate) struct LimitGroup<'a> {
    pub(crate) group: &'a str,
    pub(crate) limit: Option<i32>,
    pub(crate) actor: Option<&'a str>,
}

impl Call for LimitGroup<'_> {
    /// Whether some worker has announced the group.
    type Answer = bool;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.limit", group = self.group, limit = self.limit)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<bool> {
        sqlx::query_scalar(include_str!("sql/groups_limit.sql"))
            .bind(self.group)
            .bind(self.limit)
            .bind(self.actor)
            .fetch_one(connection)
            .await
    }
}

/// Sets or clears an operator's limit for a key.
pub(crate) struct LimitKey<'a> {
    pub(crate) group: &'a str,
    pub(crate) key: &'a str,
    pub(crate) limit: Option<i32>,
    pub(crate) actor: Option<&'a str>,
}

impl Call for LimitKey<'_> {
    /// Whether some worker has announced the group.
    type Answer = bool;

    fn span(&self) -> Span {
        let Self { group, key, limit, .. } = self;
        tracing::debug_span!("jobkit.limit", group, key, limit)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<bool> {
        sqlx::query_scalar(include_str!("sql/semaphores_limit.sql"))
            .bind(self.group)
            .bind(self.key)
            .bind(self.limit)
            .bind(self.actor)
            .fetch_one(connection)
            .await
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

/// The paused queues.
pub(crate) struct PausedQueues;

impl Call for PausedQueues {
    /// Queue, since when, by whom, why.
    type Answer = Vec<(String, Time, Option<String>, Option<String>)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/queues_paused.sql")).fetch_all(connection).await
    }
}
