use sqlx::PgConnection;

use super::Call;

/// The highest id of a live job.
pub(crate) struct LastJob;

impl Call for LastJob {
    type Answer = Option<i64>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Option<i64>> {
        sqlx::query_scalar(include_str!("sql/jobs_last.sql")).fetch_one(connection).await
    }
}

/// A page of the live jobs that a filter means; `None` is any.
pub(crate) struct JobsPage<'a> {
    pub(crate) after: i64,
    pub(crate) up_to: i64,
    pub(crate) kind: Option<&'a str>,
    pub(crate) queue: Option<&'a str>,
    pub(crate) group: Option<&'a str>,
    pub(crate) key: Option<&'a str>,
    pub(crate) tag: Option<&'a str>,
    pub(crate) state: Option<&'static str>,
}

impl Call for JobsPage<'_> {
    /// The jobs, and after which one the next page begins.
    type Answer = (Vec<i64>, Option<i64>);

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/jobs_page.sql"))
            .bind(self.after)
            .bind(self.up_to)
            .bind(self.kind)
            .bind(self.queue)
            .bind(self.group)
            .bind(self.key)
            .bind(self.tag)
            .bind(self.state)
            .fetch_one(connection)
            .await
    }
}
