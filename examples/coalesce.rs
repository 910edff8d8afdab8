//! Many changes of a few products, and one run for all of a product: `cargo run --example coalesce`

use std::collections::BTreeMap;

use anyhow::Context;
use jobkit::{Enqueue, Job, JobContext, Worker, job};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// Brings the search index up to date. Whoever changes a product enqueues one, and waits for
/// nobody; of those that wait the newest runs. The concurrency key: two never run at once.
#[derive(Serialize, Deserialize)]
#[job(queue = "index", coalesce_key = self.product, concurrency_key = self.product)]
struct IndexProduct {
    product: i64,
    change: u32,
}

impl Job<UnboundedSender<(i64, u32)>> for IndexProduct {
    async fn run(self, cx: JobContext<UnboundedSender<(i64, u32)>>) -> jobkit::Result {
        println!("job {}: product {} as of change {}", cx.id(), self.product, self.change);
        cx.state().send((self.product, self.change))?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    for change in 1..=100 {
        let mut tx = pool.begin().await?;
        // … the change itself, in the same transaction.
        IndexProduct { product: i64::from(change % 3), change }.enqueue(&mut *tx).await?;
        tx.commit().await?;
    }
    let (sender, mut runs) = unbounded_channel();
    let worker = Worker::new(pool).state(sender).queue("index", 10).start().await?;
    let mut newest = BTreeMap::<i64, u32>::new();
    let mut count = 0;
    while newest.values().sum::<u32>() != 98 + 99 + 100 {
        let (product, change) = runs.recv().await.context("the worker has stopped")?;
        newest.insert(product, change);
        count += 1;
    }
    worker.stop().await;
    println!("{count} runs for 100 changes");
    Ok(())
}
