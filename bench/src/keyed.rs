//! Jobs with concurrency keys beside jobs without, in turn within one run.

use std::time::{Duration, Instant};

use anyhow::Result;
use jobkit::{Job, JobContext, Registration, Worker, WorkerHandle, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::drain::{Noop, Payload, settle_down};
use crate::hot::Relay;
use crate::meter::{Meter, Reading};
use crate::zipf::OfZipf;

/// One of a thousand keys, each with one permit.
#[derive(Serialize, Deserialize)]
#[job(retention = none, concurrency_key = self.key, concurrency_limit = 1)]
pub(crate) struct OneOfMany {
    key: usize,
    payload: Payload,
}

/// One key with fifty permits.
#[derive(Serialize, Deserialize)]
#[job(retention = none, concurrency_key = "hot", concurrency_limit = 50)]
struct Fifty(Payload);

/// One key with one permit.
#[derive(Serialize, Deserialize)]
#[job(retention = none, concurrency_key = "hot", concurrency_limit = 1)]
pub(crate) struct Single(pub(crate) Payload);

macro_rules! does_nothing {
    ($($job:ty)*) => {$(
        impl Job for $job {
            async fn run(self, _cx: JobContext) -> jobkit::Result {
                Ok(())
            }
        }
    )*};
}
does_nothing!(OneOfMany Fifty Single);

/// What is drained.
#[derive(Debug, Clone, Copy)]
enum Load {
    Unkeyed,
    ThousandKeys,
    FiftyPermits,
    OnePermit,
}

/// Drains each load in turn, the single permit with a tenth of the jobs. It gives the median rate
/// of each.
pub(crate) async fn compare(
    pool: &PgPool,
    jobs: usize,
    rounds: usize,
    concurrency: usize,
) -> Result<[f64; 4]> {
    let loads = [Load::Unkeyed, Load::ThousandKeys, Load::FiftyPermits, Load::OnePermit];
    let mut readings = loads.map(|_| Vec::new());
    let mut commits = Vec::new();
    for round in 1..=rounds {
        commits.push(commits_per_second(pool).await?);
        for (load, readings) in loads.iter().zip(&mut readings) {
            let reading = drain(pool, *load, jobs, concurrency).await?;
            println!("round {round}: {load:<13?} {reading}");
            readings.push(reading);
        }
    }
    commits.sort_by(f64::total_cmp);
    let commits = commits[commits.len() / 2];
    let medians = readings.map(Reading::median);
    for (load, median) in loads.iter().zip(&medians) {
        let ratio = median.jobs_per_second / medians[0].jobs_per_second;
        println!("median : {load:<13?} {median}, {ratio:.2} of unkeyed");
    }
    let single = medians[3].jobs_per_second;
    println!("commits: {commits:.0}/s of single rows; one permit: {:.2} of it", single / commits);
    Ok(medians.map(|median| median.jobs_per_second))
}

async fn drain(pool: &PgPool, load: Load, jobs: usize, concurrency: usize) -> Result<Reading> {
    let jobs = if matches!(load, Load::OnePermit) { jobs / 10 } else { jobs };
    for start in (0..jobs).step_by(1000) {
        let numbers = start..jobs.min(start + 1000);
        let payloads = numbers.clone().map(Payload::new);
        match load {
            Load::Unkeyed => jobkit::enqueue_all(payloads.map(Noop), pool).await?,
            Load::ThousandKeys => {
                let job = |n| OneOfMany { key: n % 1000, payload: Payload::new(n) };
                jobkit::enqueue_all(numbers.map(job), pool).await?
            }
            Load::FiftyPermits => jobkit::enqueue_all(payloads.map(Fifty), pool).await?,
            Load::OnePermit => jobkit::enqueue_all(payloads.map(Single), pool).await?,
        };
    }
    finish(pool, jobs, concurrency).await
}

/// Lets a worker finish so many jobs that are there.
pub(crate) async fn finish(pool: &PgPool, jobs: usize, concurrency: usize) -> Result<Reading> {
    settle_down(pool).await?;
    let meter = Meter::start(pool).await?;
    let worker = worker(pool, concurrency).await?;
    while worker.counts().finished < jobs as u64 {
        // Seldom enough to be no load itself where jobs run one after another.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let reading = meter.stop(pool, jobs).await?;
    worker.stop().await;
    Ok(reading)
}

/// A worker that knows the jobs of the benchmarks.
pub(crate) async fn worker(pool: &PgPool, concurrency: usize) -> Result<WorkerHandle> {
    let jobs = [
        Registration::of::<Noop, _>(),
        Registration::of::<OneOfMany, _>(),
        Registration::of::<Fifty, _>(),
        Registration::of::<Single, _>(),
        Registration::of::<Relay, _>(),
        Registration::of::<OfZipf, _>(),
    ];
    Ok(Worker::new(pool.clone()).jobs(jobs).queue("default", concurrency).start().await?)
}

/// How many single rows one connection inserts and commits in a second.
async fn commits_per_second(pool: &PgPool) -> Result<f64> {
    let mut connection = pool.acquire().await?;
    let table = "create table if not exists commits (id bigint generated always as identity)";
    sqlx::raw_sql(table).execute(&mut *connection).await?;
    let (began, mut commits) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(2) {
        sqlx::query("insert into commits default values").execute(&mut *connection).await?;
        commits += 1;
    }
    Ok(f64::from(commits) / began.elapsed().as_secs_f64())
}
