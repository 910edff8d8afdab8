use std::time::Duration;

use sqlx::PgConnection;
use sqlx::postgres::types::PgInterval;
use tracing::Span;

use super::Call;
use crate::{Error, Policy, migrate};

/// A duration as PostgreSQL takes it; microseconds at the finest, 1,000 years at the longest.
pub(crate) fn interval(duration: Duration) -> PgInterval {
    const LONGEST: i64 = 1_000 * 365 * 24 * 60 * 60 * 1_000_000;
    let microseconds = i64::try_from(duration.as_micros()).unwrap_or(LONGEST).min(LONGEST);
    PgInterval { months: 0, days: 0, microseconds }
}

/// A column without a value is sent empty: the function takes what is missing for null.
pub(super) fn sparse<T>(column: impl Iterator<Item = Option<T>>) -> Vec<Option<T>> {
    let column: Vec<_> = column.collect();
    if column.iter().all(Option::is_none) { Vec::new() } else { column }
}

/// Whether this binary can work with the schema as it is.
pub(crate) struct SchemaCheck;

impl Call for SchemaCheck {
    /// The error is an answer too: the outer one would mean that there was none.
    type Answer = Result<(), Error>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        match migrate::check(connection).await {
            Err(Error::Unreachable(error) | Error::Database(error)) => Err(error),
            checked => Ok(checked),
        }
    }
}

/// The value of `synchronous_commit`.
pub(crate) struct Durability;

impl Call for Durability {
    type Answer = String;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<String> {
        sqlx::query_scalar(include_str!("sql/durability.sql")).fetch_one(connection).await
    }
}

/// Begins a worker's life.
pub(crate) struct Register<'a> {
    pub(crate) worker: i64,
    pub(crate) name: &'a str,
    pub(crate) queues: Vec<&'a str>,
    /// Jobs it runs at a time, queue by queue.
    pub(crate) slots: Vec<i32>,
    pub(crate) kinds: &'a [String],
    pub(crate) lease: Duration,
}

impl Call for Register<'_> {
    type Answer = ();

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.register", worker = self.worker)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query(include_str!("sql/workers_register.sql"))
            .bind(self.worker)
            .bind(self.name)
            .bind(&self.queues)
            .bind(self.kinds)
            .bind(interval(self.lease))
            .bind(&self.slots)
            .execute(connection)
            .await
            .map(drop)
    }
}

/// Tells the database what this binary says of its kinds.
pub(crate) struct Announce {
    pub(crate) policies: Vec<Policy>,
}

impl Call for Announce {
    type Answer = ();

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        let column = self.policies.iter();
        let attempts = |n: u16| i16::try_from(n).unwrap_or(i16::MAX);
        let limit = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        sqlx::query(include_str!("sql/kinds_announce.sql"))
            .bind(column.clone().map(|p| p.kind).collect::<Vec<_>>())
            .bind(column.clone().map(|p| p.queue).collect::<Vec<_>>())
            .bind(column.clone().map(|p| p.priority).collect::<Vec<_>>())
            .bind(column.clone().map(|p| attempts(p.max_attempts)).collect::<Vec<_>>())
            .bind(column.clone().map(|p| p.retention.map(interval)).collect::<Vec<_>>())
            .bind(column.clone().map(|p| p.concurrency.map(|c| c.group)).collect::<Vec<_>>())
            .bind(column.clone().map(|p| p.concurrency.map(|c| limit(c.limit))).collect::<Vec<_>>())
            .bind(sparse(column.clone().map(|p| p.auto_replay.map(|r| interval(r.after)))))
            .bind(sparse(column.clone().map(|p| p.auto_replay.map(|r| i32::from(r.max_cycles)))))
            .bind(column.map(|p| p.redact.join(",")).collect::<Vec<_>>())
            .execute(connection)
            .await
            .map(drop)
    }
}

/// Tells the database what this binary says of the limits of its concurrency groups.
pub(crate) struct AnnounceLimits {
    pub(crate) policies: Vec<Policy>,
}

impl Call for AnnounceLimits {
    /// The groups whose limit changed: what it was, if there was one, and what it is now.
    type Answer = Vec<(String, Option<i32>, i32)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let limits = self.policies.iter().filter_map(|policy| policy.concurrency);
        let limit = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
        sqlx::query_as(include_str!("sql/groups_announce.sql"))
            .bind(limits.clone().map(|c| c.group).collect::<Vec<_>>())
            .bind(limits.map(|c| limit(c.limit)).collect::<Vec<_>>())
            .fetch_all(connection)
            .await
    }
}

/// Renews the lease.
pub(crate) struct RenewLease {
    pub(crate) worker: i64,
    pub(crate) stopping: bool,
}

/// What the database answers to a heartbeat.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// False when this worker was reaped.
    pub(crate) alive: bool,
    /// The lease had lapsed when it was renewed.
    pub(crate) lapsed: bool,
    /// Somebody wants this worker to stop.
    pub(crate) stop: bool,
    /// Jobs of this worker that are to be cancelled.
    pub(crate) cancel: Vec<i64>,
}

impl Call for RenewLease {
    type Answer = Pulse;

    fn span(&self) -> Span {
        tracing::trace_span!("jobkit.heartbeat", worker = self.worker)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Pulse> {
        type Row = (bool, Option<bool>, Option<bool>, Option<Vec<i64>>);
        let (alive, lapsed, stop, cancel): Row =
            sqlx::query_as(include_str!("sql/workers_heartbeat.sql"))
                .bind(self.worker)
                .bind(self.stopping)
                .fetch_one(connection)
                .await?;
        Ok(Pulse {
            alive,
            lapsed: lapsed.unwrap_or(true),
            stop: stop.unwrap_or(false),
            cancel: cancel.unwrap_or_default(),
        })
    }
}

/// Gives back claims whose answer never arrived, or only some of their jobs.
pub(crate) struct ReleaseLost<'a> {
    pub(crate) worker: i64,
    /// Every call numbered up to this one was answered or given up.
    pub(crate) concluded: i64,
    pub(crate) held: &'a [i64],
    /// Lost calls that asked for one job.
    pub(crate) suspect: &'a [i64],
    pub(crate) jobs: Option<&'a [i64]>,
}

/// The jobs of such claims.
pub(crate) struct LostJobs<'a> {
    pub(crate) worker: i64,
    pub(crate) concluded: i64,
    pub(crate) held: &'a [i64],
}

impl Call for LostJobs<'_> {
    type Answer = Vec<i64>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/claims_lost.sql"))
            .bind(self.worker)
            .bind(self.concluded)
            .bind(self.held)
            .fetch_all(connection)
            .await
    }
}

impl Call for ReleaseLost<'_> {
    type Answer = i32;

    fn span(&self) -> Span {
        tracing::trace_span!("jobkit.release", worker = self.worker, concluded = self.concluded)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<i32> {
        sqlx::query_scalar(include_str!("sql/claims_release_lost.sql"))
            .bind(self.worker)
            .bind(self.concluded)
            .bind(self.held)
            .bind(self.suspect)
            .bind(self.jobs)
            .fetch_one(connection)
            .await
    }
}

/// Ends a worker's life.
pub(crate) struct Deregister {
    pub(crate) worker: i64,
}

impl Call for Deregister {
    type Answer = ();

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.deregister", worker = self.worker)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query(include_str!("sql/workers_deregister.sql"))
            .bind(self.worker)
            .execute(connection)
            .await
            .map(drop)
    }
}

/// Asks the next enqueue to notify this worker.
pub(crate) struct Sleep<'a> {
    pub(crate) worker: i64,
    pub(crate) queues: Vec<&'a str>,
    pub(crate) hint: Duration,
}

impl Call for Sleep<'_> {
    type Answer = ();

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query(include_str!("sql/workers_sleep.sql"))
            .bind(self.worker)
            .bind(&self.queues)
            .bind(interval(self.hint))
            .execute(connection)
            .await
            .map(drop)
    }
}

/// Asks enqueues to notify a worker no more.
pub(crate) struct Rise {
    pub(crate) worker: i64,
}

impl Call for Rise {
    type Answer = ();

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query(include_str!("sql/workers_rise.sql"))
            .bind(self.worker)
            .execute(connection)
            .await
            .map(drop)
    }
}
