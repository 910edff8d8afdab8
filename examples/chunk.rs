//! A thousand jobs, and a statement for each hundred of them: `cargo run --example chunk`

use anyhow::Context;
use jobkit::chunk::{ChunkJob, Member};
use jobkit::{JobError, Worker, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

/// Counts a visit of a page. Whoever serves the page enqueues one, and does not wait for the lock
/// of its row.
#[derive(Serialize, Deserialize)]
#[job(queue = "visits", chunk = 100, linger = "50ms")]
struct CountVisit {
    page: i32,
}

impl ChunkJob<PgPool> for CountVisit {
    async fn run(chunk: Vec<Member<Self, PgPool>>) -> jobkit::Result {
        let (known, unknown): (Vec<_>, Vec<_>) = chunk.iter().partition(|m| m.page < 10);
        for member in unknown {
            member.answer(Err(JobError::discard("there is no such page")));
        }
        let pages: Vec<i32> = known.iter().map(|member| member.page).collect();
        sqlx::query(
            "insert into visits as v select page, count(*) from unnest($1) as i (page)
            group by page order by page on conflict (page) do update
            set number = v.number + excluded.number",
        )
        .bind(&pages)
        .execute(chunk[0].state())
        .await?;
        println!("{} visits in one statement", pages.len());
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    let table = "create table if not exists visits (page integer primary key, number bigint)";
    sqlx::query(table).execute(&pool).await?;
    jobkit::enqueue_all((0..1100).map(|n| CountVisit { page: n % 11 }), &pool).await?;
    let worker = Worker::new(pool.clone()).state(pool.clone()).queue("visits", 100).start().await?;
    let sum = "select coalesce(sum(number), 0)::bigint from visits";
    while sqlx::query_scalar::<_, i64>(sum).fetch_one(&pool).await? < 1000 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    worker.stop().await;
    println!("all visits are counted");
    Ok(())
}
