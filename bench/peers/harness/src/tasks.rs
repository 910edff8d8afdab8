//! What a program may be asked to do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;
use tokio::time::{interval, sleep};

use crate::latency::{Moments, note, now_us, started};
use crate::load::{real_ms, run_ms};
use crate::{Peer, arg, env_or, protocol, stream};

/// Does what the command line says, and ends the process: workers are not waited for.
///
/// # Errors
/// When the contestant fails.
pub async fn run<P: Peer>() -> Result<()> {
    match &*arg(1, String::new()) {
        "setup" => P::setup().await?,
        "enqueue" => enqueue::<P>(arg(2, 1), arg(3, 4.0)).await?,
        "bulk" => bulk::<P>(arg(2, 100_000), arg(3, 1000)).await?,
        "work" => work::<P>().await?,
        "latency" => latency::<P>(arg(2, 500), Duration::from_millis(arg(3, 20))).await?,
        "steady" => stream::steady::<P>(arg(2, 1000.0), arg(3, 60.0)).await?,
        "offered" => stream::offered::<P>(arg(2, 0.9), arg(3, 15.0)).await?,
        _ => bail!(
            "setup | enqueue PRODUCERS SECS | bulk JOBS BATCH | work | latency JOBS GAP_MS | \
             steady RATE SECS | offered SHARE SECS"
        ),
    }
    std::process::exit(0)
}

pub(crate) fn connections() -> u32 {
    env_or("POOL", 20)
}

async fn enqueue<P: Peer>(producers: u32, secs: f64) -> Result<()> {
    let peer = Arc::new(P::connect(producers + 1).await?);
    let mut ready = Vec::new();
    for _ in 0..producers {
        let mut producer = peer.producer().await?;
        peer.enqueue_one(&mut producer, -1, 0).await?;
        ready.push(producer);
    }
    protocol::start()?;
    let began = Instant::now();
    let producers: Vec<_> = ready
        .into_iter()
        .map(|mut producer| {
            let peer = Arc::clone(&peer);
            tokio::spawn(async move {
                let mut jobs = 0;
                while began.elapsed().as_secs_f64() < secs {
                    peer.enqueue_one(&mut producer, -1, 0).await?;
                    jobs += 1;
                }
                Ok::<u64, anyhow::Error>(jobs)
            })
        })
        .collect();
    let mut jobs = 0;
    for producer in producers {
        jobs += producer.await??;
    }
    protocol::end(&json!({"n": jobs, "secs": began.elapsed().as_secs_f64()}))
}

async fn bulk<P: Peer>(jobs: usize, batch: usize) -> Result<()> {
    let peer = P::connect(2).await?;
    protocol::start()?;
    let began = Instant::now();
    for from in (0..jobs).step_by(batch) {
        peer.enqueue_many(i64::try_from(from)?, batch.min(jobs - from), 0).await?;
    }
    protocol::end(&json!({"n": jobs, "secs": began.elapsed().as_secs_f64()}))
}

/// Works off what is there, and says how far it is.
async fn work<P: Peer>() -> Result<()> {
    let real = real_ms().await?;
    let peer = P::connect(connections()).await?;
    protocol::start()?;
    let stop = protocol::told_to_stop();
    tokio::pin!(stop);
    peer.start_worker().await?;
    let (mut said, mut told) = (0, Instant::now());
    loop {
        // Seldom while nothing happens: an idle worker would cost less than to look at it.
        let pause = if told.elapsed() < Duration::from_secs(1) { 5 } else { 250 };
        tokio::select! {
            stopped = &mut stop => break stopped?,
            () = sleep(Duration::from_millis(pause)) => {}
        }
        let done = peer.done();
        if done != said {
            protocol::done(done)?;
            (said, told) = (done, Instant::now());
        }
    }
    protocol::end(
        &json!({"n": peer.done(), "begun": started(), "real_ms": real, "run_ms": run_ms()}),
    )
}

/// One job after the other to an idle worker.
async fn latency<P: Peer>(jobs: usize, gap: Duration) -> Result<()> {
    let peer = P::connect(connections()).await?;
    let moments = Moments::watch(jobs);
    peer.start_worker().await?;
    let mut producer = peer.producer().await?;
    sleep(Duration::from_millis(2500)).await;
    protocol::start()?;
    let began = Instant::now();
    let mut ticks = interval(gap);
    for seq in 0..i64::try_from(jobs)? {
        ticks.tick().await;
        note(&moments.called, seq);
        peer.enqueue_one(&mut producer, seq, now_us()).await?;
        note(&moments.committed, seq);
    }
    all_begun(jobs).await;
    let latency = moments.summary(&moments.committed, 0..jobs);
    protocol::end(&json!({"n": jobs, "secs": began.elapsed().as_secs_f64(), "latency": latency}))
}

/// Waits for stragglers for half a minute, and only while jobs begin: whether they do.
pub(crate) async fn all_begun(jobs: usize) -> bool {
    let (mut seen, mut moved) = (started(), Instant::now());
    let until = moved + Duration::from_secs(30);
    while seen < jobs as u64 && Instant::now() < until {
        if moved.elapsed() > Duration::from_secs(8) {
            return false;
        }
        sleep(Duration::from_millis(2)).await;
        if started() != seen {
            (seen, moved) = (started(), Instant::now());
        }
    }
    true
}
