use jobkit::{Enqueue, Job, JobContext, JobError, job};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::types::chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use crate::Shop;

/// Sums up the orders of a day, after its end, and enqueues the report of the next day.
///
/// A [schedule](jobkit::schedule) would come each night whatever became of the night before. This
/// is a chain, each report behind the last: a row of `reports` stands for each day, and is made in
/// the transaction that enqueues the day's job. After an outage it catches up day by day. If a
/// report becomes a dead letter the chain waits there, and goes on with its replay.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[job(queue = "bulk", max_attempts = 5, backoff = fixed("1m"))]
pub struct NightlyReport {
    pub day: String, // as in `2026-01-31`
}

impl Job<Shop> for NightlyReport {
    async fn run(self, cx: JobContext<Shop>) -> jobkit::Result {
        let mut tx = cx.state().pool.begin().await?;
        let report = "update reports set made_at = now(), (orders, cents) = (
                select count(*), coalesce(sum(o.cents), 0) from orders o
                where (o.charged_at at time zone 'UTC')::date = day)
            where day = $1::date and made_at is null";
        let made = sqlx::query(report).bind(&self.day).execute(&mut *tx).await?;
        if made.rows_affected() == 1 {
            let next = sqlx::query_scalar("select ($1::date + 1)::text").bind(&self.day);
            plan(next.fetch_one(&mut *tx).await?, &mut tx).await?;
        }
        tx.commit().await?;
        Ok(())
    }
}

/// Begins the chain with today's report, unless it has begun. Every worker calls this as it starts.
pub async fn plan_report(pool: &PgPool) -> anyhow::Result<()> {
    let mut tx = pool.begin().await?;
    let first = "select (now() at time zone 'UTC')::date::text
        where not exists (select from reports)";
    if let Some(day) = sqlx::query_scalar(first).fetch_optional(&mut *tx).await? {
        plan(day, &mut tx).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Enqueues the report of a day for five past midnight. Of several that try, the primary key lets
/// one through.
async fn plan(day: String, tx: &mut PgConnection) -> anyhow::Result<()> {
    let insert = "insert into reports (day) values ($1::date) on conflict do nothing
        returning (day + 1 + time '00:05') at time zone 'UTC'";
    let insert = sqlx::query_scalar(insert).bind(&day);
    let at: Option<DateTime<Utc>> = insert.fetch_optional(&mut *tx).await?;
    if let Some(at) = at {
        NightlyReport { day }.options().at(at).enqueue(tx).await?;
    }
    Ok(())
}

/// Removes orders that were declined long ago.
///
/// Priority 3 is the last in its queue: it runs when nothing else there is ready. Nothing of it is
/// kept once it has ended.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[job(queue = "bulk", priority = 3, max_attempts = 2, retention = none)]
pub struct CleanUp {
    pub days: i32,
}

impl Job<Shop> for CleanUp {
    async fn run(self, cx: JobContext<Shop>) -> jobkit::Result {
        // Small transactions: none holds locks or dead rows for long, and each is a checkpoint.
        let remove = "delete from orders where id in (
            select id from orders where declined_at < now() - make_interval(days => $1)
            limit 1000)";
        loop {
            let removed = sqlx::query(remove).bind(self.days).execute(&cx.state().pool).await?;
            if removed.rows_affected() < 1000 {
                return Ok(());
            }
            if cx.stop_reason().is_some() {
                return Err(JobError::release());
            }
        }
    }
}
