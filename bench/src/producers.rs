//! 32 producers hold their transactions open for 10 ms after the write, as web requests do.

use std::time::{Duration, Instant};

use anyhow::Result;
use jobkit::Enqueue;
use sqlx::{PgConnection, PgPool};

use crate::drain::{Noop, Payload};
use crate::keyed::worker;

const PRODUCERS: usize = 32;
const HELD: Duration = Duration::from_millis(10);
const ROUND: Duration = Duration::from_secs(3);

/// A table of the application.
const APP: &str = "create table if not exists app (
    id bigint generated always as identity primary key, kind text not null, args jsonb not null)";

#[derive(Clone, Copy)]
enum Write {
    /// A job.
    Job,
    /// A job that coalesces with all others.
    Coalescing,
    /// The same payload in one row of a table of the application.
    Plain,
}

/// Enqueues and plain inserts in turn.
pub(crate) async fn compare(pool: &PgPool, rounds: usize) -> Result<()> {
    let mut ratios = [const { Vec::new() }; 2];
    for round in 1..=rounds {
        let [jobs, served, plain] = self::round(pool).await?;
        println!(
            "round {round}: {jobs:.0} enqueues/s, {served:.0} while a worker runs them, \
             {plain:.0} plain inserts/s"
        );
        ratios[0].push(jobs / plain);
        ratios[1].push(served / plain);
    }
    ratios.iter_mut().for_each(|ratios| ratios.sort_by(f64::total_cmp));
    let [jobs, served] = ratios.map(|ratios| ratios[ratios.len() / 2]);
    println!("ratio  : {jobs:.2}, and {served:.2} while a worker runs them (medians)");
    Ok(())
}

/// Enqueues a second while nobody serves the queue and while somebody does, and plain inserts: half
/// of those before and half after, since a database grows.
pub(crate) async fn round(pool: &PgPool) -> Result<[f64; 3]> {
    sqlx::raw_sql(APP).execute(pool).await?;
    connect(pool).await?;
    let before = rate(pool, Write::Plain).await?;
    let jobs = rate(pool, Write::Job).await?;
    sqlx::raw_sql("truncate jobkit.jobs, jobkit.ready").execute(pool).await?;
    let worker = worker(pool, 100).await?;
    let served = rate(pool, Write::Job).await?;
    worker.stop().await;
    let after = rate(pool, Write::Plain).await?;
    Ok([jobs, served, f64::midpoint(before, after)])
}

/// The same of jobs of one coalesce key; then a worker runs one of all, the newest.
pub(crate) async fn coalesce(pool: &PgPool, rounds: usize) -> Result<()> {
    sqlx::raw_sql(APP).execute(pool).await?;
    connect(pool).await?;
    let mut ratios = Vec::new();
    for round in 1..=rounds {
        let before = rate(pool, Write::Plain).await?;
        let jobs = rate(pool, Write::Coalescing).await?;
        let after = rate(pool, Write::Plain).await?;
        let plain = f64::midpoint(before, after);
        let (waiting, newest): (i64, i64) =
            sqlx::query_as("select count(*), max(id) from jobkit.jobs").fetch_one(pool).await?;
        let began = Instant::now();
        let worker = worker(pool, 100).await?;
        while sqlx::query("select from jobkit.jobs limit 1").fetch_optional(pool).await?.is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let took = began.elapsed();
        let done = worker.counts().finished;
        worker.stop().await;
        println!(
            "round {round}: {jobs:.0} enqueues/s of one key, {plain:.0} plain inserts/s; {done} \
             runs of {waiting} jobs up to {newest} within {} ms",
            took.as_millis()
        );
        ratios.push(jobs / plain);
    }
    ratios.sort_by(f64::total_cmp);
    println!("ratio  : {:.2} (median)", ratios[ratios.len() / 2]);
    Ok(())
}

/// Opens a connection for each producer, so that nobody has to meanwhile.
async fn connect(pool: &PgPool) -> Result<()> {
    let mut connections = Vec::new();
    while connections.len() < PRODUCERS {
        connections.push(pool.acquire().await?);
    }
    Ok(())
}

/// Transactions a second of all producers together.
async fn rate(pool: &PgPool, write: Write) -> Result<f64> {
    let began = Instant::now();
    let producers: Vec<_> =
        (0..PRODUCERS).map(|_| tokio::spawn(produce(pool.clone(), write, began))).collect();
    let mut done = 0;
    for producer in producers {
        done += producer.await??;
    }
    Ok(f64::from(done) / began.elapsed().as_secs_f64())
}

async fn produce(pool: PgPool, write: Write, began: Instant) -> Result<u32> {
    let mut done = 0;
    while began.elapsed() < ROUND {
        let mut tx = pool.begin().await?;
        write.run(&mut tx).await?;
        tokio::time::sleep(HELD).await;
        tx.commit().await?;
        done += 1;
    }
    Ok(done)
}

impl Write {
    async fn run(self, transaction: &mut PgConnection) -> Result<()> {
        match self {
            Self::Job => {
                Noop(Payload::new(7)).enqueue(transaction).await?;
            }
            Self::Coalescing => {
                let job = Noop(Payload::new(7)).options().coalesce_key("one");
                job.enqueue(transaction).await?;
            }
            Self::Plain => {
                sqlx::query("insert into app (kind, args) values ('noop', $1)")
                    .bind(sqlx::types::Json(Payload::new(7)))
                    .execute(transaction)
                    .await?;
            }
        }
        Ok(())
    }
}
