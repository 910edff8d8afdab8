//! An import shows how far it is, is stopped, and goes on: `cargo run --example checkpoint`

use std::time::Duration;

use anyhow::Context;
use jobkit::error::StartError;
use jobkit::report::AttemptLog;
use jobkit::{Admin, Enqueue, Job, JobContext, JobError, JobId, Worker, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use tokio::time::sleep;
use tracing_subscriber::prelude::*;

/// Imports a file of many rows.
#[derive(Serialize, Deserialize)]
#[job(queue = "imports", retention = "1h")]
struct Import {
    rows: u64,
}

/// What the next attempt has to know.
#[derive(Serialize, Deserialize, Default)]
struct Place {
    next: u64,
}

/// How many rows are one transaction, and one checkpoint.
const CHUNK: u64 = 50;

impl Job<PgPool> for Import {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        let Place { mut next } = cx.last_checkpoint().await?.unwrap_or_default();
        tracing::info!(next, "the import begins");
        while next < self.rows {
            if cx.stop_reason().is_some() {
                tracing::info!(next, "stopped; the next attempt goes on here");
                return Err(JobError::release());
            }
            let end = self.rows.min(next + CHUNK);
            // A chunk that was imported and not noted comes again, and changes nothing then.
            sqlx::query(
                "insert into imported select n from generate_series($1, $2 - 1) n
                on conflict do nothing",
            )
            .bind(i64::try_from(next)?)
            .bind(i64::try_from(end)?)
            .execute(cx.state())
            .await?;
            next = end;
            cx.checkpoint(&Place { next }).await?;
            cx.progress(next, self.rows, "importing rows");
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::registry().with(AttemptLog::new()).init();
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    sqlx::raw_sql("drop table if exists imported; create table imported (row bigint primary key)")
        .execute(&pool)
        .await?;
    let job = Import { rows: 3_000 }.enqueue(&pool).await?;

    let worker = start(&pool).await?;
    while shown(&pool, job).await? < 1_000 {
        sleep(Duration::from_millis(100)).await;
    }
    worker.stop().await;
    println!("stopped");
    let worker = start(&pool).await?;
    while shown(&pool, job).await? < 3_000 {
        sleep(Duration::from_millis(100)).await;
    }
    worker.stop().await;

    let ended = Admin::new(&pool).job(job).get().await?.context("it is kept")?;
    for line in ended.reports.iter().flat_map(|report| &report.lines) {
        println!("{} {}", line.level, line.text);
    }
    let rows: i64 = sqlx::query_scalar("select count(*) from imported").fetch_one(&pool).await?;
    println!("{rows} rows, state {}", ended.summary.state.as_str());
    Ok(())
}

async fn start(pool: &PgPool) -> Result<jobkit::WorkerHandle, StartError> {
    // Often enough to be watched; by default it is every five seconds.
    let worker = Worker::new(pool.clone()).heartbeat(Duration::from_millis(100));
    worker.state(pool.clone()).queue("imports", 1).start().await
}

/// Prints how far the import is, and says it.
async fn shown(pool: &PgPool, job: JobId) -> anyhow::Result<u64> {
    let job = Admin::new(pool).job(job).get().await?.context("it is kept")?;
    let Some(progress) = job.reports.first().and_then(|report| report.progress.as_ref()) else {
        return Ok(0);
    };
    println!("{progress}");
    Ok(progress.done)
}
