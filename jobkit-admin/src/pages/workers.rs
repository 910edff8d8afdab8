//! Workers, and the jobs that they run.

use askama::Template;
use jobkit::admin::workers::{GoneWorker, StopRequest, WorkerDetail, WorkerSummary};

use crate::context::Context;
use crate::failure::Answer;
use crate::failure::Failure;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;

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

/// What is still known about a worker that has ended.
#[derive(Template)]
#[template(path = "worker_gone.html")]
struct Gone<'a> {
    frame: Frame<'a>,
    worker: GoneWorker,
}

impl Gone<'_> {
    /// Its host and process id, if its name consists of them.
    fn place(&self) -> Option<(&str, &str)> {
        let (host, process) = self.worker.name.rsplit_once(':')?;
        let digits = !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit());
        digits.then_some((host, process))
    }
}

/// The look and the text of a worker's state.
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
    worker.slots()
}

pub(crate) async fn list(context: &Context) -> Answer {
    let workers = context.admin().workers().await?;
    Ok(html(&Workers { frame: Frame::of(context, "Workers"), workers }))
}

/// A worker's id, as links have it: unsigned, in hexadecimal.
fn id(context: &Context) -> Result<i64, Failure> {
    let id = context.request.param("id").and_then(|id| u64::from_str_radix(id, 16).ok());
    id.map(u64::cast_signed).ok_or(Failure::NotFound)
}

pub(crate) async fn show(context: &Context) -> Answer {
    let id = id(context)?;
    let frame = Frame::of(context, "Worker");
    if let Some(worker) = context.admin().worker(id).get().await? {
        return Ok(html(&Worker { frame, worker }));
    }
    let worker = context.admin().worker(id).gone().await?.ok_or(Failure::NotFound)?;
    Ok(html(&Gone { frame, worker }))
}

pub(crate) async fn stop(context: &Context) -> Answer {
    let id = id(context)?;
    let message = match context.admin().worker(id).stop().await? {
        StopRequest::Requested => "The worker has been asked to stop.",
        StopRequest::NotFound => return Err(Failure::NotFound),
        _ => "It is already stopping.",
    };
    context.redirect(&format!("/workers/{}", show::worker(&id)), message)
}
