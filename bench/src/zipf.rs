//! Many concurrency keys of which few are wanted by many: the hottest one sets the pace.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use jobkit::{Job, JobContext, job};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::drain::Payload;
use crate::keyed::finish;
use crate::meter::Reading;

/// How many keys there are; key k has its share 1/k of the jobs.
const KEYS: usize = 10_000;
/// How many jobs of a key may run at a time.
const LIMIT: usize = 2;

/// How long a handler works; tokio's timer makes about two of it.
const MILLISECOND: Duration = Duration::from_millis(1);

/// Whether handlers of the hottest key take a millisecond by the system's clock instead.
static EXACT: AtomicBool = AtomicBool::new(false);

/// When each run of the hottest key began and ended.
static HOTTEST: Mutex<Vec<(Instant, Instant)>> = Mutex::new(Vec::new());

/// A millisecond's work for one of the keys.
#[derive(Serialize, Deserialize)]
#[job(retention = none, concurrency_key = self.key, concurrency_limit = 2)]
pub(crate) struct OfZipf {
    key: usize,
    payload: Payload,
}

impl Job for OfZipf {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        let began = Instant::now();
        if self.key == 0 && EXACT.load(Relaxed) {
            tokio::task::spawn_blocking(|| std::thread::sleep(MILLISECOND)).await?;
        } else {
            tokio::time::sleep(MILLISECOND).await;
        }
        if self.key == 0 {
            let run = (began, Instant::now());
            HOTTEST.lock().unwrap_or_else(PoisonError::into_inner).push(run);
        }
        Ok(())
    }
}

/// A drain, and what the hottest key did in it.
pub(crate) struct Zipf {
    pub(crate) reading: Reading,
    /// From the begin of a run to that of the next one with its permit: the mean, in milliseconds.
    pub(crate) turn: f64,
    /// Of that, the handler's part.
    pub(crate) run: f64,
    /// The mean turn in each fifth of the runs.
    fifths: Vec<f64>,
}

impl fmt::Display for Zipf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reading, turn, run, fifths } = self;
        let seconds = reading.seconds;
        write!(f, "{seconds:.2} s, {reading}, turn {turn:.2} ms {fifths:.1?}, handler {run:.2} ms")
    }
}

/// Drains so many jobs of all keys, `rounds` times; those of the hottest key `exact` if asked.
pub(crate) async fn repeat(
    pool: &PgPool,
    jobs: usize,
    rounds: usize,
    concurrency: usize,
    exact: bool,
) -> Result<()> {
    EXACT.store(exact, Relaxed);
    for round in 1..=rounds {
        println!("round {round}: {}", drain(pool, jobs, concurrency).await?);
    }
    Ok(())
}

pub(crate) async fn drain(pool: &PgPool, jobs: usize, concurrency: usize) -> Result<Zipf> {
    let keys = keys(jobs);
    for start in (0..jobs).step_by(1000) {
        let numbers = start..jobs.min(start + 1000);
        let job = |n: usize| OfZipf { key: keys[n], payload: Payload::new(n) };
        jobkit::enqueue_all(numbers.map(job), pool).await?;
    }
    let reading = finish(pool, jobs, concurrency).await?;
    let runs = std::mem::take(&mut *HOTTEST.lock().unwrap_or_else(PoisonError::into_inner));
    let run = runs.iter().map(|(began, ended)| millis(*began, *ended)).sum::<f64>();
    let fifths = runs.chunks(runs.len() / 5).take(5).map(turn).collect();
    Ok(Zipf { reading, turn: turn(&runs), run: run / runs.len() as f64, fifths })
}

/// The mean turn of a permit in these runs.
fn turn(runs: &[(Instant, Instant)]) -> f64 {
    let (first, last) = (runs[0].0, runs[runs.len() - 1].0);
    millis(first, last) * LIMIT as f64 / (runs.len() - 1) as f64
}

fn millis(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64() * 1000.0
}

/// Keys by Zipf's law with the exponent 1, the same in each run.
fn keys(jobs: usize) -> Vec<usize> {
    let mut sum = 0.0;
    let below = |n: usize| {
        sum += 1.0 / (n + 1) as f64;
        sum
    };
    let below: Vec<f64> = (0..KEYS).map(below).collect();
    let mut random = 1_u64;
    let mut draw = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let share = (random >> 11) as f64 / (1_u64 << 53) as f64 * below[KEYS - 1];
        below.partition_point(|below| *below <= share)
    };
    (0..jobs).map(|_| draw()).collect()
}
