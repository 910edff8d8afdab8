use sqlx::PgConnection;

use super::Call;

/// Queues with ready jobs, and whether a live worker serves each.
pub(crate) struct UnservedQueues;

impl Call for UnservedQueues {
    type Answer = Vec<(String, bool)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/jobs_unserved.sql")).fetch_all(connection).await
    }
}

/// Kinds at the head of the served queues that this worker does not know.
pub(crate) struct UnknownKinds<'a> {
    pub(crate) queues: &'a [String],
    pub(crate) kinds: &'a [String],
}

impl Call for UnknownKinds<'_> {
    /// Kind and queue.
    type Answer = Vec<(String, String)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/jobs_unknown.sql"))
            .bind(self.queues)
            .bind(self.kinds)
            .fetch_all(connection)
            .await
    }
}
