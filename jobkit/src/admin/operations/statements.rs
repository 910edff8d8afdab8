use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};
use tracing::Span;

use super::operation::{Operation, OperationState};
use crate::store::{Call, Times};

/// Begins an operation, once for its key.
pub(crate) struct BeginOperation<'a> {
    pub(crate) verb: &'static str,
    pub(crate) filter: &'a Value,
    pub(crate) reason: Option<&'a str>,
    pub(crate) run_at: Option<DateTime<Utc>>,
    /// How many match among the rows looked at, and whether there may be more.
    pub(crate) number: i64,
    pub(crate) more: bool,
    pub(crate) until: DateTime<Utc>,
    pub(crate) key: &'a str,
    pub(crate) actor: Option<&'a str>,
    pub(crate) per_second: Option<i32>,
}

impl Call for BeginOperation<'_> {
    /// The operation, and whether it was made.
    type Answer = (i64, bool);

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.begin", verb = self.verb)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/operations_begin.sql"))
            .bind(self.verb)
            .bind(self.filter)
            .bind(self.reason)
            .bind(self.run_at)
            .bind(self.number)
            .bind(self.more)
            .bind(self.until)
            .bind(self.key)
            .bind(self.actor)
            .bind(self.per_second)
            .fetch_one(connection)
            .await
    }
}

/// Operations, the newest first.
pub(crate) struct Operations {
    pub(crate) only: Option<i64>,
    pub(crate) before: Option<i64>,
    pub(crate) limit: i64,
}

impl Call for Operations {
    type Answer = Vec<Operation>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let rows = sqlx::query(include_str!("sql/operations_list.sql"))
            .bind(self.only)
            .bind(self.before)
            .bind(self.limit)
            .fetch_all(connection)
            .await?;
        rows.iter().map(operation).collect()
    }
}

fn operation(row: &PgRow) -> sqlx::Result<Operation> {
    let positive = |number: i64| u64::try_from(number).unwrap_or(0);
    let number = |column: &str| row.try_get(column).map(positive);
    Ok(Operation {
        id: row.try_get("id")?,
        verb: row.try_get("verb")?,
        filter: row.try_get("filter")?,
        reason: row.try_get("reason")?,
        run_at: row.time("run_at")?,
        actor: row.try_get("actor")?,
        idempotency_key: row.try_get("idempotency_key")?,
        state: OperationState::of(row.try_get("state")?),
        total: row.try_get::<Option<i64>, _>("total")?.map(positive),
        counted: number("counted")?,
        done: number("done")?,
        asked: number("asked")?,
        skipped: number("skipped")?,
        error: row.try_get("error")?,
        created_at: row.time("created_at")?,
        started_at: row.time("started_at")?,
        ended_at: row.time("ended_at")?,
        per_second: row.try_get::<Option<i32>, _>("per_second")?.and_then(|n| n.try_into().ok()),
    })
}

/// Rows that could not be changed as requested.
pub(crate) struct OperationResults(pub(crate) i64);

impl Call for OperationResults {
    /// Job or dead letter, and why not.
    type Answer = Vec<(i64, String)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/operations_results.sql"))
            .bind(self.0)
            .fetch_all(connection)
            .await
    }
}
