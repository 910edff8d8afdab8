//! Jobs are enqueued one by one, each in a transaction of its own, while a worker is up.

use std::time::Duration;

use anyhow::Result;

use super::Stage;
use super::contestant::{CEILING, Contestant};
use super::drain::{self, costs, limit, number, raw_costs};
use super::record::Figures;
use crate::meter::Meter;

/// Who enqueues, and what the worker does meanwhile.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Enqueue {
    pub(crate) producers: usize,
    /// Whether the worker serves the queue; otherwise it is idle, and listens for another one.
    pub(crate) served: bool,
    /// Whether each job has a payload of 50 KB.
    pub(crate) large: bool,
}

impl Enqueue {
    pub(crate) const fn of(producers: usize, served: bool) -> Self {
        Self { producers, served, large: false }
    }
}

/// So many seconds of it.
pub(crate) async fn run(
    stage: &Stage,
    contestant: &Contestant,
    enqueue: Enqueue,
    seconds: usize,
) -> Result<Figures> {
    let Enqueue { producers, served, large } = enqueue;
    let (producers, seconds) = (producers.to_string(), seconds.to_string());
    if contestant.name == CEILING {
        // One row with the job, one that says that it is ready.
        let line = limit(stage, &["insert", &producers, &seconds, "split"], large).await?;
        let mut figures = raw_costs(&line)?;
        figures.insert("jobs_per_s", number(&line, "jobs_s")?);
        return Ok(figures);
    }
    let url = stage.database(contestant).await?;
    let queue = if served { "default" } else { "idle" };
    let knobs = vec![("QUEUE", queue.to_owned())];
    let mut worker = stage.crew(contestant, &url, &["work".to_owned()], knobs, 1).await?;
    worker.go().await?;
    let task = ["enqueue".to_owned(), producers, seconds];
    let knobs = large.then(drain::large).into_iter().collect();
    let mut crew = stage.crew(contestant, &url, &task, knobs, 1).await?;
    // It has gone to sleep by then.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let meter = Meter::of(&stage.server.admin, crew.pids()).await?;
    crew.go().await?;
    let ends = crew.ends(Duration::from_secs(60)).await?;
    let jobs = number(&ends[0], "n")?;
    let reading = meter.stop(&stage.server.admin, (jobs as usize).max(1)).await?;
    crew.leave().await?;
    worker.dismiss().await?;
    let mut figures = costs(&reading);
    figures.insert("jobs_per_s", jobs / number(&ends[0], "secs")?);
    Ok(figures)
}
