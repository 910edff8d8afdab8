use super::Call;
use sqlx::PgConnection;

/// Looks a job up.
pub(crate) struct JobState(pub(crate) i64);

/// Where a job is.
#[derive(Debug)]
pub(crate) struct StateRow {
    pub(crate) state: String,
    pub(crate) kind: String,
    pub(crate) queue: String,
    pub(crate) attempt: i32,
    pub(crate) max_attempts: i16,
    pub(crate) worker_id: Option<i64>,
    pub(crate) cancel_requested: bool,
}

impl Call for JobState {
    type Answer = Option<StateRow>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        type Row = (String, String, String, i32, i16, Option<i64>, bool);
        let row: Option<Row> = sqlx::query_as(include_str!("sql/jobs_state.sql"))
            .bind(self.0)
            .fetch_optional(connection)
            .await?;
        Ok(row.map(|(state, kind, queue, attempt, max_attempts, worker_id, cancel_requested)| {
            StateRow { state, kind, queue, attempt, max_attempts, worker_id, cancel_requested }
        }))
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
