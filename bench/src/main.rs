//! Drains no-op jobs with one process, in turn with a raw-SQL loop of the same storage design,
//! and prints jobs/s, WAL and server CPU for each job, and the ratio of the medians.
//!
//! ```text
//! cargo run --release -p jobkit-bench -- [jobs] [rounds] [concurrency]
//! ```
//!
//! Absolute figures drift with the machine; the ratio within one run is what counts.

mod meter;
mod raw;

use std::time::Duration;

use anyhow::{Context, Result};
use jobkit::{Job, JobContext, Registration, Worker, job};
use private_postgres::Purpose;
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, PgPool};

use crate::meter::{Meter, Reading};

/// A payload of the usual size that asks for nothing.
#[derive(Serialize, Deserialize)]
#[job(retention = none)]
struct Noop {
    user_id: usize,
    email: String,
    template: String,
    locale: String,
}

impl Noop {
    fn new(user_id: usize) -> Self {
        let email = format!("user{user_id}@example.com");
        Self { user_id, email, template: "welcome".to_owned(), locale: "en".to_owned() }
    }
}

impl Job for Noop {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let mut number = |default| arguments.next().unwrap_or(Ok(default));
    let (jobs, rounds, concurrency) = (number(100_000)?, number(5)?, number(200)?);
    let url = bench_database().await?;
    let pool = PgPoolOptions::new().max_connections(8).connect(&url).await?;
    jobkit::migrate(&pool).await?;
    raw::prepare(&pool).await?;

    let (mut library, mut raw_loop) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        let reading = drain(&pool, jobs, concurrency).await?;
        println!("round {round}: jobkit  {reading}");
        library.push(reading);
        let reading = raw::drain(&pool, jobs).await?;
        println!("round {round}: raw SQL {reading}");
        raw_loop.push(reading);
    }
    let (library, raw_loop) = (Reading::median(library), Reading::median(raw_loop));
    println!("median : jobkit  {library}");
    println!("median : raw SQL {raw_loop}");
    println!("ratio  : {:.2}", library.jobs_per_second / raw_loop.jobs_per_second);
    Ok(())
}

/// A database of its own on the server with default durability.
async fn bench_database() -> Result<String> {
    let server = private_postgres::url(Purpose::Demo)?;
    let admin = PgPool::connect(&server).await.context("the server must be up")?;
    sqlx::raw_sql("drop database if exists jobkit_bench with (force)").execute(&admin).await?;
    sqlx::raw_sql("create database jobkit_bench").execute(&admin).await?;
    let options: PgConnectOptions = server.parse()?;
    Ok(options.database("jobkit_bench").to_url_lossy().to_string())
}

/// One drain by a worker in this process.
async fn drain(pool: &PgPool, jobs: usize, concurrency: usize) -> Result<Reading> {
    for start in (0..jobs).step_by(1000) {
        jobkit::enqueue_all((start..jobs.min(start + 1000)).map(Noop::new), pool).await?;
    }
    sqlx::raw_sql("vacuum analyze").execute(pool).await?;
    sqlx::raw_sql("checkpoint").execute(pool).await?;
    let meter = Meter::start(pool).await?;
    let worker = Worker::new(pool.clone())
        .jobs([Registration::of::<Noop, _>()])
        .queue("default", concurrency)
        .start()
        .await?;
    while worker.counts().finished < jobs as u64 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let reading = meter.stop(pool, jobs).await?;
    worker.stop().await;
    Ok(reading)
}
