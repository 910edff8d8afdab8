//! Two kinds of jobs that call one service, 20 times a second together, whatever their workers:
//! `cargo run --example limiter`

use std::time::Instant;

use anyhow::Context;
use jobkit::policy::Rate;
use jobkit::{Enqueue, Job, JobContext, Worker, job};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

/// When the service was called.
type Service = UnboundedSender<Instant>;

/// Charges a card: one call.
#[derive(Serialize, Deserialize)]
#[job(queue = "billing")]
struct Charge {
    order: u32,
}

impl Job<Service> for Charge {
    async fn run(self, cx: JobContext<Service>) -> jobkit::Result {
        cx.limiter("bank").acquire().await?;
        cx.state().send(Instant::now())?;
        Ok(())
    }
}

/// Reads the pages of a statement: a call for each.
#[derive(Serialize, Deserialize)]
#[job(queue = "billing")]
struct ReadStatement {
    pages: u32,
}

impl Job<Service> for ReadStatement {
    async fn run(self, cx: JobContext<Service>) -> jobkit::Result {
        for _page in 0..self.pages {
            cx.limiter("bank").acquire().await?;
            cx.state().send(Instant::now())?;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let pool = jobkit::connect(&std::env::var("DATABASE_URL").context("set DATABASE_URL")?).await?;
    jobkit::migrate(&pool).await?;
    let (sender, mut calls) = unbounded_channel::<Instant>();
    // Two workers, as of two processes.
    let worker = || {
        let worker = Worker::new(pool.clone()).state(sender.clone()).queue("billing", 10);
        worker.limiter("bank", Rate::per_second(20).burst(5)).start()
    };
    let workers = [worker().await?, worker().await?];
    jobkit::enqueue_all((0..25).map(|order| Charge { order }), &pool).await?;
    ReadStatement { pages: 20 }.enqueue(&pool).await?;
    let first = calls.recv().await.context("a call")?;
    let mut last = first;
    for _ in 1..45 {
        last = calls.recv().await.context("a call")?;
    }
    for worker in workers {
        worker.stop().await;
    }
    println!("45 calls in {:.1} seconds", last.duration_since(first).as_secs_f64());
    Ok(())
}
