//! What a drain pays for a job beside it that says how far it is a thousand times a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use jobkit::{Enqueue, Job, JobContext, Registration, Worker, WorkerHandle, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::drain::drain;
use crate::meter::Reading;

/// Runs until its worker stops.
#[derive(Serialize, Deserialize)]
#[job(retention = none)]
struct Import {
    reports: bool,
}

/// How often the running job has gone round.
type Rounds = Arc<AtomicU64>;

impl Job<Rounds> for Import {
    async fn run(self, cx: JobContext<Rounds>) -> jobkit::Result {
        let mut ticks = tokio::time::interval(Duration::from_millis(1));
        loop {
            tokio::select! {
                _ = cx.cancelled() => return Ok(()),
                _ = ticks.tick() => {}
            }
            let done = cx.state().fetch_add(1, Ordering::Relaxed);
            if self.reports {
                cx.progress(done, u64::MAX, "importing the rows of a large file");
            }
        }
    }
}

async fn beside(pool: &PgPool, reports: bool) -> Result<(WorkerHandle, Rounds)> {
    let rounds = Rounds::default();
    let worker = Worker::new(pool.clone()).state(Arc::clone(&rounds));
    let worker = worker.jobs([Registration::of::<Import, _>()]).queue("imports", 1);
    let worker = worker.start().await?;
    Import { reports }.options().queue("imports").enqueue(pool).await?;
    while rounds.load(Ordering::Relaxed) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok((worker, rounds))
}

/// Drains in turn beside a job that says nothing and beside the same job that says how far it is.
pub(crate) async fn compare(pool: &PgPool, jobs: usize, rounds: usize) -> Result<()> {
    let (mut silent, mut reporting) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        for reports in [false, true] {
            let (worker, count) = beside(pool, reports).await?;
            let before = count.load(Ordering::Relaxed);
            let reading = drain(pool, false, jobs, 2000).await?;
            let calls = count.load(Ordering::Relaxed) - before;
            worker.stop().await;
            println!("round {round}: reports {reports:5}, {calls} ticks  {reading}");
            if reports { reporting.push(reading) } else { silent.push(reading) }
        }
    }
    let (silent, reporting) = (Reading::median(silent), Reading::median(reporting));
    println!("ratio  : {:.3}", reporting.jobs_per_second / silent.jobs_per_second);
    Ok(())
}
