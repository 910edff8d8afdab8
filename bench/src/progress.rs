//! What a job pays that says how far it is a thousand times a second, as a share of the CPU that a
//! drain uses.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Result;
use jobkit::{Enqueue, Job, JobContext, Registration, Worker, WorkerHandle, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::drain::drain;
use crate::meter::{Meter, Reading};

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

async fn start(pool: &PgPool, reports: bool) -> Result<(WorkerHandle, Rounds)> {
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

/// Milliseconds of CPU a second, of the server and of this process.
fn cpu(reading: &Reading) -> f64 {
    (reading.server_micros + reading.own_micros) * reading.jobs_per_second / 1000.0
}

/// The job alone, in turn silent and reporting, and a drain that its cost is compared with: in a
/// drain's own time a share of one percent would be lost in the noise.
pub(crate) async fn compare(pool: &PgPool, seconds: usize, rounds: usize) -> Result<()> {
    let (mut silent, mut reporting) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        for reports in [false, true] {
            let (worker, count) = start(pool, reports).await?;
            let before = count.load(Ordering::Relaxed);
            let meter = Meter::start(pool).await?;
            tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
            let calls = count.load(Ordering::Relaxed) - before;
            let reading = meter.stop(pool, seconds).await?;
            worker.stop().await;
            let (rate, cpu) = (calls as f64 / reading.seconds, cpu(&reading));
            println!("round {round}: reports {reports:5}, {rate:.0} a second  {cpu:.1} ms CPU/s");
            if reports { reporting.push(reading) } else { silent.push(reading) }
        }
    }
    let drain = cpu(&drain(pool, false, 100_000, 2000).await?);
    let cost = cpu(&Reading::median(reporting)) - cpu(&Reading::median(silent));
    println!("drain  : {drain:.0} ms CPU/s; reports cost {cost:.1}, {:.2} %", 100.0 * cost / drain);
    Ok(())
}
