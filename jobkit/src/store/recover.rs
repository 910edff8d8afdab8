use sqlx::PgConnection;
use tracing::Span;

use super::Call;

/// Looks for what a recoverer has to do.
pub(crate) struct RecoverLook;

impl Call for RecoverLook {
    /// Whether there are jobs without attempts left, dead letters to replay, and open operations.
    type Answer = (bool, bool, bool);

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/recover_look.sql")).fetch_one(connection).await
    }
}

/// The next jobs that used up their attempts and that nobody ended.
pub(crate) struct Exhausted {
    pub(crate) after: i64,
    pub(crate) limit: i32,
}

impl Call for Exhausted {
    type Answer = Vec<i64>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/jobs_exhausted.sql"))
            .bind(self.after)
            .bind(self.limit)
            .fetch_all(connection)
            .await
    }
}

/// Makes dead letters of such jobs.
pub(crate) struct Recover<'a>(pub(crate) &'a [i64]);

impl Call for Recover<'_> {
    /// How many it made.
    type Answer = i32;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.recover", jobs = self.0.len())
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<i32> {
        sqlx::query_scalar(include_str!("sql/jobs_recover.sql"))
            .bind(self.0)
            .fetch_one(connection)
            .await
    }
}

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
