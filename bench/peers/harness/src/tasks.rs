//! What a program may be asked to do.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::latency::{Moments, note, now_us, started};
use crate::{Peer, arg, env_or, protocol};

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
        "steady" => steady::<P>(arg(2, 1000.0), arg(3, 60.0)).await?,
        _ => bail!(
            "setup | enqueue PRODUCERS SECS | bulk JOBS BATCH | work | latency JOBS GAP_MS | \
             steady RATE SECS"
        ),
    }
    std::process::exit(0)
}

fn connections() -> u32 {
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
    protocol::end(&json!({"n": peer.done(), "begun": started()}))
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

/// A stream of jobs, as even as bulk calls every 10 ms make it.
async fn steady<P: Peer>(rate: f64, secs: f64) -> Result<()> {
    let peer = P::connect(connections()).await?;
    let moments = Moments::watch((rate * secs * 1.1) as usize + 1000);
    peer.start_worker().await?;
    sleep(Duration::from_secs(1)).await;
    protocol::start()?;
    let began = Instant::now();
    let mut ticks = interval(Duration::from_millis(10));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let (mut sent, mut edges) = (0_i64, vec![0]);
    while began.elapsed().as_secs_f64() < secs {
        ticks.tick().await;
        let due = ((began.elapsed().as_secs_f64() * rate) as i64 - sent).min(1000);
        if due > 0 {
            (sent..sent + due).for_each(|seq| note(&moments.called, seq));
            peer.enqueue_many(sent, usize::try_from(due)?, now_us()).await?;
            sent += due;
        }
        if began.elapsed().as_secs_f64() >= secs / 6.0 * edges.len() as f64 {
            edges.push(usize::try_from(sent)?);
        }
    }
    let (begun, all) = (started(), usize::try_from(sent)?);
    edges.truncate(6);
    edges.push(all);
    all_begun(all).await;
    let summary = |jobs| moments.summary(&moments.called, jobs);
    let sixths: Vec<_> = edges.windows(2).map(|edge| summary(edge[0]..edge[1])).collect();
    protocol::end(&json!({"n": begun, "sent": sent, "secs": secs, "latency": summary(0..all),
        "sixths": sixths}))
}

/// Waits a few seconds for stragglers.
async fn all_begun(jobs: usize) {
    let began = Instant::now();
    while started() < jobs as u64 && began.elapsed() < Duration::from_secs(8) {
        sleep(Duration::from_millis(2)).await;
    }
}
