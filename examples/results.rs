//! A request that is answered by a job: `cargo run --example results`

use std::time::Duration;

use anyhow::Context;
use jobkit::{Admin, Enqueue, Job, JobContext, Worker, job};
use serde::{Deserialize, Serialize};

/// Asks for a price. What it returns is kept for an hour.
#[derive(Serialize, Deserialize)]
#[job(queue = "quotes", result = Quote, retention = "1h", backoff = fixed("100ms"))]
struct FetchQuote {
    kilograms: i64,
}

#[derive(Serialize, Deserialize)]
struct Quote {
    cents: i64,
}

impl Job for FetchQuote {
    async fn run(self, cx: JobContext) -> jobkit::Result<Quote> {
        if cx.attempt() == 1 {
            return Err("the carrier does not answer".into());
        }
        Ok(Quote { cents: self.kilograms * 42 })
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    let worker = Worker::new(pool.clone()).queue("quotes", 10).start().await?;
    let patience = Duration::from_secs(60);
    // A request waits for its answer, through the retry.
    let quote = FetchQuote { kilograms: 10 }.enqueue_and_wait(&pool, patience).await?;
    println!("{} cents", quote.cents);
    // Another leaves the number of the job, and comes back for it.
    let id = FetchQuote { kilograms: 20 }.enqueue(&pool).await?;
    match Admin::new(&pool).job(id).await_end(patience).await? {
        Some(end) => println!("job {id} {end}"),
        None => println!("job {id} has not ended yet"),
    }
    worker.stop().await;
    Ok(())
}
