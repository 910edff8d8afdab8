use serde::Serialize;
use sqlx::PgConnection;
use sqlx::types::Json;
use tracing::Span;

use super::Call;
use crate::histogram::Histogram;

/// What a worker has counted of one queue, kind and outcome.
#[derive(Debug, Serialize)]
pub(crate) struct Measured<'a> {
    pub(crate) queue: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) outcome: &'a str,
    pub(crate) count: u64,
    pub(crate) run: &'a Histogram,
    pub(crate) wait: &'a Histogram,
}

/// Adds what a worker has counted.
pub(crate) struct AddMeasures<'a>(pub(crate) Vec<Measured<'a>>);

impl Call for AddMeasures<'_> {
    type Answer = ();

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.measure", rows = self.0.len())
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        let query = sqlx::query(include_str!("sql/measures_add.sql")).bind(Json(&self.0));
        query.execute(connection).await.map(drop)
    }
}
