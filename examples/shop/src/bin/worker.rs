//! The worker of the shop: as many processes of it as you like. Set `DATABASE_URL`.

use std::sync::Arc;
use std::time::Duration;

use jobkit::Worker;
use shop::Shop;
use shop::jobs::plan_report;
use shop::partners::Partners;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = shop::open().await?;
    plan_report(&pool).await?;
    let page_takes = Duration::from_millis(200);
    let partners = Arc::new(Partners { page_takes, ..Partners::default() });

    // Every job type of the library is found, since this binary mentions the crate. Each queue has
    // slots of its own: many where jobs wait for others, few where they compute.
    let worker = Worker::new(pool.clone()).state(Shop { pool, partners });
    let worker = worker.queue("payments", 5).queue("mail", 10).queue("webhooks", 20);
    let worker = worker.queue("bulk", 2).stop_within(Duration::from_secs(10)).start().await?;
    println!("working");

    // Until SIGTERM or SIGINT; then handlers are told, end or are given back, and none is charged.
    worker.run_until_signal().await?;
    Ok(())
}
