use sqlx::PgConnection;

use super::Call;
use super::dead_letters::summary;
use crate::dead_letter::DeadLetterSummary;

/// Which of these jobs are live.
pub(crate) struct LiveOf<'a>(pub(crate) &'a [i64]);

impl Call for LiveOf<'_> {
    type Answer = Vec<i64>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/jobs_selected.sql"))
            .bind(self.0)
            .fetch_all(connection)
            .await
    }
}

/// These dead letters.
pub(crate) struct DeadLettersOf<'a>(pub(crate) &'a [i64]);

impl Call for DeadLettersOf<'_> {
    type Answer = Vec<DeadLetterSummary>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let rows = sqlx::query(include_str!("sql/dead_letters_selected.sql"))
            .bind(self.0)
            .fetch_all(connection)
            .await?;
        rows.iter().map(summary).collect()
    }
}
