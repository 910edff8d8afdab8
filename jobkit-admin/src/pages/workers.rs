//! Workers: who is alive, and what they run.

use askama::Template;
use jobkit::admin::workers::{StopRequest, WorkerDetail, WorkerSummary};

use crate::failure::{Failure, html};
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "workers.html")]
struct Workers<'a> {
    frame: Frame<'a>,
    workers: Vec<WorkerSummary>,
}

#[derive(Template)]
#[template(path = "worker.html")]
struct Worker<'a> {
    frame: Frame<'a>,
    worker: WorkerDetail,
}

/// What is left of a worker that is not here any more: its id.
#[derive(Template)]
#[template(path = "worker_gone.html")]
struct Gone<'a> {
    frame: Frame<'a>,
    id: String,
}

/// What to say of a worker, with the look it has.
fn condition(worker: &WorkerSummary) -> (&'static str, &'static str) {
    match worker {
        worker if worker.lapsed => ("failed", "lapsed"),
        worker if worker.late => ("failed", "late"),
        worker if worker.stopping => ("paused", "stopping"),
        worker if worker.stop_requested_at.is_some() => ("paused", "asked to stop"),
        _ => ("running", "alive"),
    }
}

/// How many jobs it can run at a time.
fn slots(worker: &WorkerSummary) -> u32 {
    worker.queues.iter().filter_map(|served| served.slots).sum()
}

pub(crate) async fn list(visit: &Visit) -> Answer {
    let workers = visit.admin().workers().await?;
    Ok(html(&Workers { frame: visit.frame("Workers"), workers }))
}

/// A worker's id, as links have it: unsigned, in hexadecimal.
fn id(visit: &Visit) -> Result<i64, Failure> {
    let id = visit.param("id").and_then(|id| u64::from_str_radix(id, 16).ok());
    id.map(u64::cast_signed).ok_or(Failure::NotFound)
}

pub(crate) async fn show(visit: &Visit) -> Answer {
    let id = id(visit)?;
    let frame = visit.frame("Worker");
    match visit.admin().worker(id).await? {
        Some(worker) => Ok(html(&Worker { frame, worker })),
        // Its finished jobs lead here for as long as they are kept.
        None => Ok(html(&Gone { frame, id: show::worker(&id) })),
    }
}

pub(crate) async fn stop(visit: &Visit) -> Answer {
    let id = id(visit)?;
    let said = match visit.admin().stop_worker(id).await? {
        StopRequest::Requested => "The worker has been asked to stop.",
        StopRequest::NotFound => return Err(Failure::NotFound),
        _ => "It is stopping already.",
    };
    visit.redirect(&format!("/workers/{}", show::worker(&id)), said)
}
