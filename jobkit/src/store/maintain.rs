use std::time::Duration;

use chrono::{DateTime, NaiveDate, Utc};
use sqlx::postgres::types::PgInterval;
use sqlx::{AssertSqlSafe, PgConnection};
use tracing::Span;

use super::{Call, ClaimId};

/// Makes due jobs ready.
pub(crate) struct Promote {
    pub(crate) limit: i32,
}

/// The answer to a [`Promote`].
#[derive(Debug)]
pub(crate) struct Promoted {
    /// How many became ready.
    pub(crate) jobs: i32,
    /// When the next one is due.
    pub(crate) next: Option<Duration>,
    /// Whether an operation is open: seen here, since this is the look that is made anyway.
    pub(crate) operating: bool,
}

impl Call for Promote {
    type Answer = Promoted;

    fn span(&self) -> Span {
        tracing::trace_span!("jobkit.promote")
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Promoted> {
        let (jobs, next, operating): (i32, Option<PgInterval>, bool) =
            sqlx::query_as(include_str!("sql/jobs_promote.sql"))
                .bind(self.limit)
                .fetch_one(connection)
                .await?;
        Ok(Promoted { jobs, next: next.map(wait), operating })
    }
}

/// An interval made by subtracting times: days and microseconds, perhaps negative.
pub(crate) fn wait(interval: PgInterval) -> Duration {
    const DAY: u64 = 24 * 60 * 60;
    let days = Duration::from_secs(u64::try_from(interval.days).unwrap_or(0) * DAY);
    days + Duration::from_micros(u64::try_from(interval.microseconds).unwrap_or(0))
}

/// Looks for what a reaper has to do.
pub(crate) struct ReapLook;

impl Call for ReapLook {
    /// Whether a lease has lapsed, whether a claim has no worker, and when that was so.
    type Answer = (bool, bool, DateTime<Utc>);

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/reap_look.sql")).fetch_one(connection).await
    }
}

/// Removes workers whose lease has lapsed, in the name of one whose lease has not.
pub(crate) struct ReapWorkers(pub(crate) i64);

impl Call for ReapWorkers {
    type Answer = Vec<i64>;

    fn span(&self) -> Span {
        tracing::trace_span!("jobkit.reap")
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/workers_reap.sql"))
            .bind(self.0)
            .fetch_all(connection)
            .await
    }
}

/// Claims without a worker.
pub(crate) struct OrphanedClaims;

impl Call for OrphanedClaims {
    type Answer = Vec<ClaimId>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let claims = sqlx::query_as(include_str!("sql/claims_orphaned.sql"));
        let claims: Vec<(i64, i64)> = claims.fetch_all(connection).await?;
        Ok(claims.into_iter().map(|(worker, n)| ClaimId { worker, n }).collect())
    }
}

/// Takes back one claim without a worker, or only some of its jobs.
pub(crate) struct ReapClaim<'a>(pub(crate) ClaimId, pub(crate) Option<&'a [i64]>);

impl Call for ReapClaim<'_> {
    /// How many jobs it held.
    type Answer = i32;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.reap", worker = self.0.worker, n = self.0.n)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<i32> {
        sqlx::query_scalar(include_str!("sql/claims_reap.sql"))
            .bind(self.0.worker)
            .bind(self.0.n)
            .bind(self.1)
            .fetch_one(connection)
            .await
    }
}

/// Dead letters of jobs that these workers had when they died, made since then.
pub(crate) struct Crashed<'a>(pub(crate) DateTime<Utc>, pub(crate) &'a [i64]);

impl Call for Crashed<'_> {
    /// Each with its job, kind, queue and attempts.
    type Answer = Vec<(i64, String, String, i32)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/dead_letters_crashed.sql"))
            .bind(self.0)
            .bind(self.1)
            .fetch_all(connection)
            .await
    }
}

/// Makes the partitions of the days to come.
pub(crate) struct PrepareDays(pub(crate) i32);

impl Call for PrepareDays {
    /// How many were made.
    type Answer = i32;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<i32> {
        sqlx::query_scalar(include_str!("sql/finished_prepare.sql"))
            .bind(self.0)
            .fetch_one(connection)
            .await
    }
}

/// Partitions whose day has passed.
pub(crate) struct ExpiredDays;

impl Call for ExpiredDays {
    type Answer = Vec<RemoveDay>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let rows = sqlx::query_as(include_str!("sql/finished_expired.sql"));
        let rows: Vec<(NaiveDate, Option<String>, String)> = rows.fetch_all(connection).await?;
        let day = |(day, detach, remove)| RemoveDay { day, detach, remove };
        Ok(rows.into_iter().map(day).collect())
    }
}

/// Removes one expired partition; the server wrote the statements, names and all.
#[derive(Debug)]
pub(crate) struct RemoveDay {
    pub(crate) day: NaiveDate,
    detach: Option<String>,
    remove: String,
}

impl Call for RemoveDay {
    type Answer = ();

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.prune", day = %self.day)
    }

    /// Each statement on its own: DETACH … CONCURRENTLY refuses a transaction. Cut short anywhere,
    /// the next run finds the partition and goes on from there.
    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query(include_str!("sql/finished_forget.sql"))
            .bind(self.day)
            .execute(&mut *connection)
            .await?;
        for statement in self.detach.iter().chain([&self.remove]) {
            sqlx::raw_sql(AssertSqlSafe(statement.clone())).execute(&mut *connection).await?;
        }
        Ok(())
    }
}
