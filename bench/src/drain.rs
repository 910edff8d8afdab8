//! One process drains a backlog of no-op jobs.

use std::time::Duration;

use anyhow::Result;
use jobkit::{Job, JobContext, Registration, Worker, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::meter::{Meter, Reading};
use crate::raw;

/// A payload of the usual size that asks for nothing.
#[derive(Serialize, Deserialize)]
pub(crate) struct Payload {
    user_id: usize,
    email: String,
    template: String,
    locale: String,
}

impl Payload {
    pub(crate) fn new(user_id: usize) -> Self {
        let email = format!("user{user_id}@example.com");
        Self { user_id, email, template: "welcome".to_owned(), locale: "en".to_owned() }
    }
}

/// Leaves nothing behind.
#[derive(Serialize, Deserialize)]
#[job(retention = none)]
pub(crate) struct Noop(pub(crate) Payload);

impl Job for Noop {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// Is kept for a day.
#[derive(Serialize, Deserialize)]
#[job]
struct Kept(Payload);

impl Job for Kept {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// Drains in turn by jobkit and by raw SQL.
pub(crate) async fn compare(
    pool: &PgPool,
    kept: bool,
    jobs: usize,
    rounds: usize,
    concurrency: usize,
) -> Result<()> {
    raw::prepare(pool).await?;
    let (mut library, mut raw_loop) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        let reading = drain(pool, kept, jobs, concurrency).await?;
        println!("round {round}: jobkit  {reading}");
        library.push(reading);
        let reading = raw::drain(pool, jobs).await?;
        println!("round {round}: raw SQL {reading}");
        raw_loop.push(reading);
    }
    let (library, raw_loop) = (Reading::median(library), Reading::median(raw_loop));
    println!("median : jobkit  {library}");
    println!("median : raw SQL {raw_loop}");
    println!("ratio  : {:.2}", library.jobs_per_second / raw_loop.jobs_per_second);
    Ok(())
}

/// Drains this many jobs by a worker of this concurrency.
pub(crate) async fn drain(
    pool: &PgPool,
    kept: bool,
    jobs: usize,
    concurrency: usize,
) -> Result<Reading> {
    for start in (0..jobs).step_by(1000) {
        let payloads = (start..jobs.min(start + 1000)).map(Payload::new);
        if kept {
            jobkit::enqueue_all(payloads.map(Kept), pool).await?;
        } else {
            jobkit::enqueue_all(payloads.map(Noop), pool).await?;
        }
    }
    settle_down(pool).await?;
    let worker = Worker::new(pool.clone())
        .jobs([Registration::of::<Noop, _>(), Registration::of::<Kept, _>()])
        .queue("default", concurrency);
    let meter = Meter::start(pool).await?;
    let worker = worker.start().await?;
    while worker.counts().finished < jobs as u64 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let reading = meter.stop(pool, jobs).await?;
    worker.stop().await;
    Ok(reading)
}

/// Leaves no work of the load to the measurement.
pub(crate) async fn settle_down(pool: &PgPool) -> Result<()> {
    sqlx::raw_sql("vacuum analyze").execute(pool).await?;
    sqlx::raw_sql("checkpoint").execute(pool).await?;
    Ok(())
}
