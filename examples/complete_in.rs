//! A payment and its job's success are one transaction: `cargo run --example complete_in`

use std::time::Duration;

use anyhow::Context;
use jobkit::{Enqueue, Job, JobContext, Worker, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

/// Books a payment: once, whatever happens between two statements.
#[derive(Serialize, Deserialize)]
#[job(queue = "books", backoff = fixed("100ms"), retention = "1h")]
struct Book {
    cents: i64,
}

impl Job<PgPool> for Book {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        let mut tx = cx.state().begin().await?;
        sqlx::query("update account set cents = cents + $1")
            .bind(self.cents)
            .execute(&mut *tx)
            .await?;
        cx.complete_in(&mut tx).await?;
        if cx.attempt() == 1 {
            return Err("a failure before the commit takes both back".into());
        }
        tx.commit().await?;
        Err("a failure after it changes nothing: the job has ended".into())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    sqlx::raw_sql("drop table if exists account; create table account (cents bigint)")
        .execute(&pool)
        .await?;
    sqlx::query("insert into account values (0)").execute(&pool).await?;

    let worker = Worker::new(pool.clone()).state(pool.clone()).queue("books", 5).start().await?;
    let book = Book { cents: 420 };
    book.enqueue_and_wait(&pool, Duration::from_secs(10)).await?;
    let cents: i64 = sqlx::query_scalar("select cents from account").fetch_one(&pool).await?;
    println!("booked {cents} cents");
    worker.stop().await;
    Ok(())
}
