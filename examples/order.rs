//! An order in steps, which goes on after each failure: `cargo run --example order`

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context;
use jobkit::{Admin, Enqueue, Job, JobContext, JobError, Worker, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

#[derive(Serialize, Deserialize)]
#[job(queue = "orders", max_attempts = 4, backoff = fixed("100ms"), retention = "1h")]
struct PlaceOrder {
    order: i64,
}

impl Job<PgPool> for PlaceOrder {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        let order = self.order;
        let key = cx.step_key("charge");
        let charge = cx.step("charge", async || charge(order, &key).await).await?;
        let reservation: i64 = cx
            .step_in("reserve", cx.state(), async |tx| {
                println!("reserved");
                let sql = "insert into reservations (order_id) values ($1) returning id";
                Ok(sqlx::query_scalar(sql).bind(order).fetch_one(tx).await?)
            })
            .await?;
        match cx.step("ship", async || ship(reservation).await).await {
            Err(error) if cx.attempt() < cx.max_attempts() => Err(error),
            Err(_) => {
                cx.step("refund", async || refund(&charge).await).await?;
                Err(JobError::discard("the carrier does not answer"))
            }
            Ok(()) => Ok(()),
        }
    }
}

/// Another system, which knows the key if it is asked again.
async fn charge(order: i64, _idempotency_key: &str) -> jobkit::Result<String> {
    println!("charged");
    Ok(format!("charge of order {order}"))
}

/// Fails at first.
async fn ship(reservation: i64) -> jobkit::Result {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    if CALLS.fetch_add(1, Ordering::Relaxed) < 2 {
        println!("not shipped");
        return Err("the carrier does not answer".into());
    }
    println!("shipped reservation {reservation}");
    Ok(())
}

async fn refund(charge: &str) -> jobkit::Result {
    println!("refunded the {charge}");
    Ok(())
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    let table = "create table if not exists reservations (
        id bigint generated always as identity primary key, order_id bigint not null)";
    sqlx::query(table).execute(&pool).await?;
    let worker = Worker::new(pool.clone()).state(pool.clone()).queue("orders", 10).start().await?;
    let job = PlaceOrder { order: 7 }.enqueue(&pool).await?;
    let end = Admin::new(&pool).job(job).await_end(Duration::from_secs(60)).await?;
    println!("the order {}", end.map_or("goes on".to_owned(), |end| end.to_string()));
    worker.stop().await;
    Ok(())
}
