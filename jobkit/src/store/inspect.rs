use super::Call;
use sqlx::PgConnection;

/// Looks a job up.
pub(crate) struct JobState(pub(crate) i64);

/// Where a job is.
#[derive(Debug)]
pub(crate) struct StateRow {
    pub(crate) state: String,
    pub(crate) cancel_requested: bool,
}

impl Call for JobState {
    type Answer = Option<StateRow>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let row: Option<(String, bool)> = sqlx::query_as(include_str!("sql/jobs_state.sql"))
            .bind(self.0)
            .fetch_optional(connection)
            .await?;
        Ok(row.map(|(state, cancel_requested)| StateRow { state, cancel_requested }))
    }
}

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
