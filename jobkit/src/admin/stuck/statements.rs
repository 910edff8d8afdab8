use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::StuckJob;
use crate::JobId;
use crate::store::{Call, number};

/// The jobs that are stuck, this many at most; or one of them, if it is.
pub(crate) struct StuckJobs {
    pub(crate) job: Option<i64>,
    pub(crate) limit: i64,
}

impl Call for StuckJobs {
    type Answer = Vec<StuckJob>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        type Row = (i64, String, String, DateTime<Utc>, i32, DateTime<Utc>);
        let rows: Vec<Row> = sqlx::query_as(include_str!("sql/stuck_list.sql"))
            .bind(self.job)
            .bind(self.limit)
            .fetch_all(connection)
            .await?;
        let stuck = |(job, transition, error, since, tries, retry_at)| StuckJob {
            job: JobId(job),
            transition,
            error,
            since,
            tries: number(tries),
            retry_at,
        };
        Ok(rows.into_iter().map(stuck).collect())
    }
}
