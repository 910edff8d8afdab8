//! A worker with few connections beside one with all of them: what it drains, and what either costs
//! with nothing to do.

use std::time::Duration;

use anyhow::Result;
use jobkit::{Job, JobContext, Registration, Worker, WorkerHandle, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::drain::{Payload, settle_down};
use crate::meter::{Meter, Reading};

/// Takes this many milliseconds, and leaves nothing behind.
#[derive(Serialize, Deserialize)]
#[job(retention = none)]
struct Nap(Payload, u64);

impl Job for Nap {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        if self.1 > 0 {
            tokio::time::sleep(Duration::from_millis(self.1)).await;
        }
        Ok(())
    }
}

/// Drains in turn by both.
pub(crate) async fn drain(
    pool: &PgPool,
    jobs: usize,
    rounds: usize,
    slots: usize,
    millis: u64,
) -> Result<()> {
    let mut readings = [Vec::new(), Vec::new()];
    for round in 1..=rounds {
        for (few, readings) in [true, false].into_iter().zip(&mut readings) {
            let reading = once(pool, few, jobs, slots, millis).await?;
            println!("round {round}: {} {reading}", name(few));
            readings.push(reading);
        }
    }
    let [few, all] = readings.map(Reading::median);
    println!("median : {} {few}", name(true));
    println!("median : {} {all}", name(false));
    println!("ratio  : {:.2}", few.jobs_per_second / all.jobs_per_second);
    Ok(())
}

fn name(few: bool) -> &'static str {
    if few { "few" } else { "all" }
}

async fn start(pool: &PgPool, few: bool, slots: usize) -> Result<WorkerHandle> {
    let worker = Worker::new(pool.clone()).jobs([Registration::of::<Nap, _>()]);
    Ok(worker.queue("default", slots).few_connections(few).start().await?)
}

async fn once(pool: &PgPool, few: bool, jobs: usize, slots: usize, millis: u64) -> Result<Reading> {
    for start in (0..jobs).step_by(1000) {
        let naps = (start..jobs.min(start + 1000)).map(|user| Nap(Payload::new(user), millis));
        jobkit::enqueue_all(naps, pool).await?;
    }
    settle_down(pool).await?;
    let meter = Meter::start(pool).await?;
    let worker = start(pool, few, slots).await?;
    while worker.counts().finished < jobs as u64 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let reading = meter.stop(pool, jobs).await?;
    worker.stop().await;
    Ok(reading)
}

/// Counts the transactions of either with nothing to do.
pub(crate) async fn idle(pool: &PgPool, seconds: usize) -> Result<()> {
    let count = "select xact_commit + xact_rollback from pg_stat_database
        where datname = current_database()";
    let count = || sqlx::query_scalar::<_, i64>(count).fetch_one(pool);
    for few in [true, false] {
        let worker = start(pool, few, 50).await?;
        // Past its first lease, with which its reaper begins; what was done is reported ten seconds
        // late.
        tokio::time::sleep(Duration::from_secs(32)).await;
        let before = count().await?;
        tokio::time::sleep(Duration::from_secs(seconds as u64)).await;
        let transactions = count().await? - before;
        println!("{}: {:.2} transactions/s", name(few), transactions as f64 / seconds as f64);
        worker.stop().await;
    }
    Ok(())
}
