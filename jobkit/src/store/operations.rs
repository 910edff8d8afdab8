use std::time::Duration;

use sqlx::PgConnection;
use sqlx::postgres::types::PgInterval;
use tracing::Span;

use super::Call;
use super::maintain::wait;

/// The oldest operation that is open, or a certain one if it is.
pub(crate) struct NextOperation(pub(crate) Option<i64>);

impl Call for NextOperation {
    /// The operation, and how long it rests.
    type Answer = Option<(i64, Duration)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let next: Option<(i64, Option<PgInterval>)> =
            sqlx::query_as(include_str!("sql/operations_next.sql"))
                .bind(self.0)
                .fetch_optional(connection)
                .await?;
        Ok(next.map(|(id, rests)| (id, rests.map_or(Duration::ZERO, wait))))
    }
}

/// One step of an operation.
pub(crate) struct Operate {
    pub(crate) id: i64,
    pub(crate) limit: i32,
}

impl Call for Operate {
    /// `step` or `done`; `None` when somebody else is at it, or it has ended.
    type Answer = Option<String>;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.operate", operation = self.id)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_scalar(include_str!("sql/operations_operate.sql"))
            .bind(self.id)
            .bind(self.limit)
            .fetch_one(connection)
            .await
    }
}

/// Ends an operation before all is done.
pub(crate) struct StopOperation<'a> {
    pub(crate) id: i64,
    /// `cancelled` or `failed`.
    pub(crate) state: &'static str,
    pub(crate) error: Option<&'a str>,
    pub(crate) actor: Option<&'a str>,
}

impl Call for StopOperation<'_> {
    /// Whether it was open.
    type Answer = bool;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<bool> {
        sqlx::query_scalar(include_str!("sql/operations_stop.sql"))
            .bind(self.id)
            .bind(self.state)
            .bind(self.error)
            .bind(self.actor)
            .fetch_one(connection)
            .await
    }
}
