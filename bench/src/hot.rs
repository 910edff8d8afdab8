//! One concurrency key that everybody wants.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use jobkit::{Job, JobContext, job};
use serde::{Deserialize, Serialize};
use sqlx::{Connection, PgPool};

use crate::drain::{Noop, Payload, settle_down};
use crate::keyed::{Single, worker};

/// When each run of a [`Relay`] began and ended.
static RUNS: Mutex<Vec<(Instant, Instant)>> = Mutex::new(Vec::new());

/// One permit, passed on from run to run.
#[derive(Serialize, Deserialize)]
#[job(retention = none, concurrency_key = "baton", concurrency_limit = 1)]
pub(crate) struct Relay(Payload);

impl Job for Relay {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        let began = Instant::now();
        tokio::time::sleep(Duration::from_millis(1)).await;
        RUNS.lock().unwrap_or_else(PoisonError::into_inner).push((began, Instant::now()));
        Ok(())
    }
}

/// How long 10,000 jobs without a key take: alone, and behind 100,000 ready ones of a key whose
/// permits are all taken.
pub(crate) async fn behind(pool: &PgPool, rounds: usize, concurrency: usize) -> Result<()> {
    for round in 1..=rounds {
        let alone = unkeyed(pool, 0, concurrency).await?;
        let behind = unkeyed(pool, 100_000, concurrency).await?;
        println!("round {round}: alone {alone:.2?}, behind 100,000 of a key {behind:.2?}");
    }
    Ok(())
}

async fn unkeyed(pool: &PgPool, ahead: usize, concurrency: usize) -> Result<Duration> {
    // The key has no permit at all, as if others held them.
    sqlx::raw_sql(
        "select jobkit.announce_limits(
                '[{\"scope\": \"group\", \"name\": \"single\", \"running\": 1}]')",
    )
    .execute(pool)
    .await?;
    sqlx::raw_sql("select jobkit.set_limit('key', 'single', 'hot', '{\"running\": 0}')")
        .execute(pool)
        .await?;
    for start in (0..ahead).step_by(1000) {
        jobkit::enqueue_all((start..start + 1000).map(|n| Single(Payload::new(n))), pool).await?;
    }
    jobkit::enqueue_all((0..10_000).map(|n| Noop(Payload::new(n))), pool).await?;
    settle_down(pool).await?;
    let worker = worker(pool, concurrency).await?;
    let began = Instant::now();
    while worker.counts().finished < 10_000 {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let took = began.elapsed();
    worker.stop().await;
    let tables = "jobs, jobkit.ready, jobkit.blocked_executions, jobkit.semaphores";
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("truncate jobkit.{tables}"))).execute(pool).await?;
    Ok(took)
}

/// From the end of one holder's run to the beginning of the next one's, with 1,000 blocked and
/// 100,000 jobs without a key ready in the same queue.
pub(crate) async fn hand_over(pool: &PgPool, concurrency: usize) -> Result<()> {
    // Ahead of the others, so that all but one are blocked from the beginning.
    jobkit::enqueue_all((0..1000).map(|n| Relay(Payload::new(n))), pool).await?;
    for start in (0..100_000).step_by(1000) {
        jobkit::enqueue_all((start..start + 1000).map(|n| Noop(Payload::new(n))), pool).await?;
    }
    settle_down(pool).await?;
    let worker = worker(pool, concurrency).await?;
    let runs = || RUNS.lock().unwrap_or_else(PoisonError::into_inner).len();
    let mut unkeyed_done_at = 0;
    while runs() < 1000 {
        if worker.counts().finished - (runs() as u64).min(worker.counts().finished) < 100_000 {
            unkeyed_done_at = runs();
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    worker.stop().await;
    let runs = std::mem::take(&mut *RUNS.lock().unwrap_or_else(PoisonError::into_inner));
    let gaps = runs.windows(2).map(|pair| pair[1].0.saturating_duration_since(pair[0].1));
    let mut gaps: Vec<Duration> = gaps.collect();
    println!("hand-overs while jobs without a key were ready: {unkeyed_done_at}");
    for (what, part) in [("busy", unkeyed_done_at.clamp(1, 999)), ("all", 999)] {
        let gaps = &mut gaps[..part];
        gaps.sort();
        let at = |share: f64| gaps[((gaps.len() - 1) as f64 * share) as usize];
        println!("{what:>5}: p50 {:.2?}, p90 {:.2?}, p99 {:.2?}", at(0.5), at(0.9), at(0.99));
    }
    Ok(())
}

/// One key with one permit for a minute while a snapshot is held open: jobs in each ten seconds. It
/// gives the first and the last of them.
pub(crate) async fn pinned(pool: &PgPool, seconds: usize) -> Result<(f64, f64)> {
    for start in (0..seconds * 2500).step_by(1000) {
        jobkit::enqueue_all((start..start + 1000).map(|n| Single(Payload::new(n))), pool).await?;
    }
    settle_down(pool).await?;
    let mut pin = pool.acquire().await?;
    let mut pin = pin.begin_with("begin isolation level repeatable read").await?;
    sqlx::raw_sql("select count(*) from jobkit.jobs").execute(&mut *pin).await?;
    let worker = worker(pool, 50).await?;
    all_blocked(pool).await?;
    let mut counts = vec![worker.counts().finished];
    for tenth in 1..=seconds / 10 {
        tokio::time::sleep(Duration::from_secs(10)).await;
        counts.push(worker.counts().finished);
        println!("{:>3} s: {} jobs", tenth * 10, counts[tenth] - counts[tenth - 1]);
    }
    worker.stop().await;
    let tens: Vec<f64> = counts.windows(2).map(|edge| (edge[1] - edge[0]) as f64).collect();
    let (first, last) = (tens[0], tens[tens.len() - 1]);
    ensure!(first > 0.0, "no job was done in the first ten seconds");
    println!("last ten seconds: {:.2} of the first", last / first);
    Ok((first, last))
}

/// Waits until claims have blocked all that are ready but for a few that were granted a permit.
async fn all_blocked(pool: &PgPool) -> Result<()> {
    let began = Instant::now();
    while sqlx::query_scalar("select exists (select from jobkit.ready where without_permit)")
        .fetch_one(pool)
        .await?
    {
        ensure!(began.elapsed() < Duration::from_secs(120), "jobs without a permit stay ready");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!("all blocked after {:.1?}", began.elapsed());
    Ok(())
}
