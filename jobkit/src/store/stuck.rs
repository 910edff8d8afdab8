use std::time::Duration;

use sqlx::PgConnection;
use sqlx::postgres::types::PgInterval;
use tracing::Span;

use super::{Call, Claim, ClaimId};

/// Notes that a transition failed with these jobs, one by one, through no fault of theirs.
pub(crate) struct Stick<'a> {
    pub(crate) transition: &'a str,
    pub(crate) jobs: Vec<i64>,
    pub(crate) errors: Vec<String>,
    pub(crate) worker: i64,
}

impl Call for Stick<'_> {
    /// How long to leave each alone.
    type Answer = Vec<(i64, Duration)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let rows: Vec<(i64, PgInterval)> = sqlx::query_as(include_str!("sql/stuck_stick.sql"))
            .bind(self.transition)
            .bind(&self.jobs)
            .bind(&self.errors)
            .bind(self.worker)
            .fetch_all(connection)
            .await?;
        Ok(rows.into_iter().map(|(job, wait)| (job, super::maintain::wait(wait))).collect())
    }
}

/// Notes that they went through.
pub(crate) struct Unstick(pub(crate) Vec<i64>);

impl Call for Unstick {
    type Answer = ();

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        let query = sqlx::query(include_str!("sql/stuck_unstick.sql")).bind(&self.0);
        query.execute(connection).await.map(drop)
    }
}

/// Takes ready jobs that the server cannot read out of the way of a claim it refused.
pub(crate) struct SetAside<'a>(pub(crate) &'a Claim<'a>);

impl Call for SetAside<'_> {
    /// The jobs, and what the server said of each.
    type Answer = Vec<(i64, String)>;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.set_aside", worker = self.0.id.worker)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/stuck_set_aside.sql"))
            .bind(self.0.id.worker)
            .bind(self.0.kinds)
            .bind(&self.0.queues)
            .bind(&self.0.slots)
            .fetch_all(connection)
            .await
    }
}

/// What a claim lists.
pub(crate) struct ClaimJobs(pub(crate) ClaimId);

impl Call for ClaimJobs {
    type Answer = Vec<i64>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/claims_jobs.sql"))
            .bind(self.0.worker)
            .bind(self.0.n)
            .fetch_all(connection)
            .await
    }
}
