use std::time::Duration;

use sqlx::PgConnection;
use tracing::Span;

use super::Call;
use super::worker::interval;

/// Removes old entries of the audit.
pub(crate) struct PruneAudit {
    pub(crate) keep: Duration,
    pub(crate) limit: i32,
}

impl Call for PruneAudit {
    /// How many there were.
    type Answer = i32;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.prune")
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<i32> {
        sqlx::query_scalar(include_str!("sql/audit_prune.sql"))
            .bind(interval(self.keep))
            .bind(self.limit)
            .fetch_one(connection)
            .await
    }
}

/// Removes old measures.
pub(crate) struct PruneMeasures {
    pub(crate) keep: Duration,
    pub(crate) limit: i32,
}

impl Call for PruneMeasures {
    /// How many rows there were.
    type Answer = i32;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.prune")
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<i32> {
        sqlx::query_scalar(include_str!("sql/measures_prune.sql"))
            .bind(interval(self.keep))
            .bind(self.limit)
            .fetch_one(connection)
            .await
    }
}

/// Removes dead letters that were resolved a while ago.
pub(crate) struct PruneResolved {
    pub(crate) keep: Duration,
    pub(crate) limit: i32,
}

impl Call for PruneResolved {
    /// How many there were.
    type Answer = i32;

    fn span(&self) -> Span {
        tracing::trace_span!("jobkit.prune")
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<i32> {
        sqlx::query_scalar(include_str!("sql/dead_letters_prune.sql"))
            .bind(interval(self.keep))
            .bind(self.limit)
            .fetch_one(connection)
            .await
    }
}
