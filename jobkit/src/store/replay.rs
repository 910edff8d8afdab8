use sqlx::PgConnection;
use tracing::Span;

use super::Call;

/// Replays the dead letters whose kind says so, once their time has come.
pub(crate) struct ReplayDue(pub(crate) i32);

impl Call for ReplayDue {
    /// How many there were.
    type Answer = i32;

    fn span(&self) -> Span {
        tracing::trace_span!("jobkit.replay")
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<i32> {
        sqlx::query_scalar(include_str!("sql/dead_letters_replay_due.sql"))
            .bind(self.0)
            .fetch_one(connection)
            .await
    }
}
