//! Measures jobkit beside raw SQL, in turn within one run, and prints medians and their ratio.
//!
//! ```text
//! cargo run --release -p jobkit-bench -- drain [jobs] [rounds] [concurrency]
//! cargo run --release -p jobkit-bench -- kept [jobs] [rounds] [concurrency]
//! cargo run --release -p jobkit-bench -- few [jobs] [rounds] [concurrency] [ms]
//! cargo run --release -p jobkit-bench -- idle [seconds]
//! cargo run --release -p jobkit-bench -- keyed [jobs] [rounds] [concurrency]
//! cargo run --release -p jobkit-bench -- zipf [jobs] [rounds] [concurrency] [exact]
//! cargo run --release -p jobkit-bench -- behind [rounds] [concurrency]
//! cargo run --release -p jobkit-bench -- handover [concurrency]
//! cargo run --release -p jobkit-bench -- pinned [seconds]
//! cargo run --release -p jobkit-bench -- producers [rounds]
//! cargo run --release -p jobkit-bench -- coalesce [rounds]
//! cargo run --release -p jobkit-bench -- keys [rounds]
//! cargo run --release -p jobkit-bench -- queues [rounds]
//! cargo run --release -p jobkit-bench -- beside PROGRAM PROGRAM WORK [rounds]
//! cargo run --release -p jobkit-bench -- progress [seconds] [rounds]
//! cargo run --release -p jobkit-bench -- dead [entries]
//! cargo run --release -p jobkit-bench -- pages [finished]
//! cargo run --release -p jobkit-bench -- compare --help    # scripts/bench
//! ```
//!
//! `drain` runs no-op jobs that leave nothing behind, `kept` the same with their history kept,
//! `few` drains jobs that take so long with three connections beside all of them, `idle` counts the
//! transactions of either with nothing to do; `keyed` drains jobs with concurrency keys beside jobs
//! without, `zipf` jobs of 10,000 keys of which one has a tenth (with `exact` = 1 those take a
//! millisecond by the system's clock, and not by tokio's timer, which makes two of it); `behind`
//! drains 10,000 jobs behind 100,000 of an exhausted key; `handover` measures how fast a permit is
//! passed on; `pinned` runs one hot key while a snapshot is held open. `producers` enqueues in 32
//! transactions that are held open for 10 ms, and `coalesce` does so with jobs of one key, which
//! then run; `keys` enqueues with unique and with coalesce keys beside plain jobs. `queues` claims
//! from fifty queues, of which five are paused, beside one. `beside` has
//! two builds of `peer-jobkit` do the same at once: `latency`, `enqueue1`, `enqueue16` or `drain`.
//! `progress` is what a job costs that says how far it is a thousand times a second, beside what a
//! drain does. `dead` replays 100,000 dead letters, and reads among 1,000,000. `pages` visits every
//! page of the dashboard, with 2,000,000 finished jobs, while workers run. `compare` is
//! `scripts/bench`: jobkit beside other job queues. Absolute figures drift with the machine; the
//! ratio within one run is what counts.

mod beside;
mod compare;
mod dead;
mod drain;
mod few;
mod hot;
mod keyed;
mod keys;
mod meter;
mod pages;
mod producers;
mod progress;
mod queues;
mod raw;
mod server;
mod zipf;

use std::path::Path;

use anyhow::{Context, Result, bail};
use sqlx::postgres::PgPoolOptions;

use crate::server::Server;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().unwrap_or_else(|| "drain".to_owned());
    if what == "compare" {
        return compare::run(arguments).await;
    }
    if what == "beside" {
        let mut word = || arguments.next().context("beside PROGRAM PROGRAM WORK [rounds]");
        let (programs, work) = ([word()?, word()?], beside::Work::named(&word()?)?);
        let rounds = arguments.next().map_or(Ok(8), |text| text.parse())?;
        let programs = programs.each_ref().map(Path::new);
        return beside::compare(&Server::find().await?, programs, work, rounds).await;
    }
    let mut numbers = arguments.map(|text| text.parse::<usize>());
    let mut number = |default| numbers.next().unwrap_or(Ok(default));
    let url = Server::find().await?.fresh().await?;
    let pool = PgPoolOptions::new().max_connections(40).connect(&url).await?;
    jobkit::migrate(&pool).await?;
    match &*what {
        "drain" | "kept" => {
            let (jobs, rounds, concurrency) = (number(100_000)?, number(5)?, number(2000)?);
            drain::compare(&pool, what == "kept", jobs, rounds, concurrency).await
        }
        "few" => {
            let (jobs, rounds, concurrency) = (number(20_000)?, number(5)?, number(50)?);
            few::drain(&pool, jobs, rounds, concurrency, number(0)? as u64).await
        }
        "idle" => few::idle(&pool, number(60)?).await,
        "keyed" => {
            let (jobs, rounds, concurrency) = (number(100_000)?, number(5)?, number(2000)?);
            keyed::compare(&pool, jobs, rounds, concurrency).await.map(drop)
        }
        "zipf" => {
            let (jobs, rounds, concurrency) = (number(100_000)?, number(3)?, number(500)?);
            zipf::repeat(&pool, jobs, rounds, concurrency, number(0)? > 0).await
        }
        "behind" => hot::behind(&pool, number(3)?, number(500)?).await,
        "handover" => hot::hand_over(&pool, number(500)?).await,
        "pinned" => hot::pinned(&pool, number(60)?).await.map(drop),
        "producers" => producers::compare(&pool, number(5)?).await,
        "coalesce" => producers::coalesce(&pool, number(5)?).await,
        "keys" => keys::compare(&pool, number(5)?).await,
        "queues" => queues::compare(&pool, number(5)?).await,
        "progress" => progress::compare(&pool, number(10)?, number(5)?).await,
        "dead" => dead::measure(&pool, number(1_000_000)?).await,
        "pages" => pages::measure(&pool, &url, number(2_000_000)?).await,
        _ => bail!("there is no benchmark `{what}`; the first lines of this program list them"),
    }
}
