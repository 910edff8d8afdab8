//! Jobs at a rate, to a worker in the same process.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::latency::{Moments, note, now_us, started};
use crate::load::{equal_slots, real_ms, run_ms};
use crate::tasks::{all_begun, connections};
use crate::{Peer, protocol};

/// As even as bulk calls, one every `gap`, make it.
struct Stream {
    rate: f64,
    secs: f64,
    gap: Duration,
    /// Of how many equal parts of the time it tells.
    parts: usize,
}

/// How far it was between two parts.
struct Edge {
    secs: f64,
    sent: usize,
    done: u64,
}

impl Stream {
    /// Watches its jobs.
    fn moments(&self) -> &'static Moments {
        Moments::watch((self.rate * self.secs * 1.1) as usize + 1000)
    }

    /// Sends it all; gives the beginning, the end, and the edges between the parts.
    async fn send<P: Peer>(&self, producer: &P, worker: &P) -> Result<Vec<Edge>> {
        let moments = self.moments();
        let began = Instant::now();
        let elapsed = || began.elapsed().as_secs_f64();
        let edge = |sent| Edge { secs: elapsed(), sent, done: worker.done() };
        let mut ticks = interval(self.gap);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (mut sent, mut edges) = (0, vec![edge(0)]);
        while elapsed() < self.secs {
            ticks.tick().await;
            let due = ((elapsed() * self.rate) as usize).saturating_sub(sent).min(1000);
            if due > 0 {
                let first = i64::try_from(sent)?;
                let jobs = first..first + i64::try_from(due)?;
                jobs.clone().for_each(|seq| note(&moments.called, seq));
                producer.enqueue_many(first, due, now_us()).await?;
                jobs.for_each(|seq| note(&moments.committed, seq));
                sent += due;
            }
            if elapsed() >= self.secs / self.parts as f64 * edges.len() as f64 {
                edges.push(edge(sent));
            }
        }
        edges.truncate(self.parts);
        edges.push(edge(sent));
        Ok(edges)
    }
}

/// At a rate that the worker can easily do.
pub(crate) async fn steady<P: Peer>(rate: f64, secs: f64) -> Result<()> {
    let peer = P::connect(connections()).await?;
    let stream = Stream { rate, secs, gap: Duration::from_millis(10), parts: 6 };
    let moments = stream.moments();
    peer.start_worker().await?;
    sleep(Duration::from_secs(1)).await;
    protocol::start()?;
    let edges = stream.send(&peer, &peer).await?;
    let (begun, sent) = (started(), edges[stream.parts].sent);
    all_begun(sent).await;
    let summary = |jobs| moments.summary(&moments.called, jobs);
    let sixths: Vec<_> = edges.windows(2).map(|part| summary(part[0].sent..part[1].sent)).collect();
    protocol::end(&json!({"n": begun, "sent": sent, "secs": secs, "latency": summary(0..sent),
        "sixths": sixths}))
}

/// At this share of what the slots could do if none of them ever stood idle. The producer has
/// connections of its own. The first third is a start, and not told of.
pub(crate) async fn offered<P: Peer>(share: f64, secs: f64) -> Result<()> {
    let real = real_ms().await?.context("SLOTS and WORK_MS")?;
    let slots = equal_slots().context("SLOTS")?;
    let rate = share * slots as f64 * 1000.0 / real;
    let (producer, worker) = (P::connect(2).await?, P::connect(connections()).await?);
    let stream = Stream { rate, secs, gap: Duration::from_millis(5), parts: 3 };
    let moments = stream.moments();
    worker.start_worker().await?;
    sleep(Duration::from_secs(1)).await;
    protocol::start()?;
    let edges = stream.send(&producer, &worker).await?;
    let (from, middle, to) = (&edges[1], &edges[2], &edges[3]);
    let works = all_begun(to.sent).await;
    let wait = |from: &Edge, to: &Edge| moments.summary(&moments.committed, from.sent..to.sent);
    let secs = to.secs - from.secs;
    protocol::end(&json!({
        "sent": to.sent, "begun": started(), "stopped": !works,
        "left": to.sent as f64 - to.done as f64, "asked_per_s": rate,
        "offered_per_s": (to.sent - from.sent) as f64 / secs,
        "done_per_s": (to.done - from.done) as f64 / secs,
        "real_ms": real, "run_ms": run_ms(),
        "wait": wait(from, to), "thirds": [wait(from, middle), wait(middle, to)],
    }))
}
