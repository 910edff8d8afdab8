//! One event and two subscribers, of which one fails: `cargo run --example topics`

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::enqueue::Topic;
use jobkit::{Admin, Job, JobContext, JobError, Worker, job};
use serde::{Deserialize, Serialize};

/// An order has been paid.
#[derive(Serialize, Deserialize)]
struct OrderPaid {
    order: i64,
}

impl Topic for OrderPaid {
    const NAME: &'static str = "order.paid";
}

#[derive(Serialize, Deserialize)]
#[job(subscribes, queue = "orders")]
struct SendReceipt(OrderPaid);

impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        println!("order {}: the receipt is sent", self.0.order);
        Ok(())
    }
}

/// Whether the warehouse answers again.
static MENDED: AtomicBool = AtomicBool::new(false);

#[derive(Serialize, Deserialize)]
#[job(subscribes, queue = "orders")]
struct ReserveStock(OrderPaid);

impl Job for ReserveStock {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        if !MENDED.load(Ordering::Relaxed) {
            return Err(JobError::dead("the warehouse is closed"));
        }
        println!("order {}: the stock is reserved", self.0.order);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    // It announces who subscribes.
    let worker = Worker::new(pool.clone()).queue("orders", 1).start().await?;
    let admin = Admin::new(&pool);

    let mut tx = pool.begin().await?;
    let jobs = OrderPaid { order: 7 }.publish(&mut *tx).await?;
    tx.commit().await?;
    for job in jobs {
        admin.job(job).await_end(Duration::from_secs(60)).await?;
    }

    // The other one hears nothing of the replay.
    MENDED.store(true, Ordering::Relaxed);
    for dead in admin.dead_letters(&DeadLetterFilter::all(), None, 10).await?.entries {
        println!("{} failed: {}", dead.kind, dead.error);
        let job = admin.dead_letter(dead.id).replay().await?;
        admin.job(job).await_end(Duration::from_secs(60)).await?;
    }
    worker.stop().await;
    Ok(())
}
