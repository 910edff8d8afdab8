//! Workers.

use chrono::Utc;
use clap::Subcommand;
use jobkit::admin::workers::{GoneWorker, RunningJob, StopRequest, WorkerSummary};
use serde_json::{Value, json};

use super::answer::{Answer, Failure, fields, table};
use super::arguments::worker;
use super::desk::{Answered, Desk};
use crate::format::reports;
use crate::format::show::{self, iso, span, utc};
use crate::format::values;

#[derive(Debug, clap::Args)]
pub(super) struct Workers {
    #[command(subcommand)]
    command: Option<Act>,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Lists workers (the default)
    List,
    /// Shows a worker and what it runs
    Show {
        #[arg(value_parser = worker)]
        id: i64,
    },
    /// Asks a worker to stop: its jobs finish within its grace period or are released
    Stop {
        #[arg(value_parser = worker)]
        id: i64,
    },
}

impl Workers {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self.command.unwrap_or(Act::List) {
            Act::List => {
                let workers = desk.admin.workers().await?;
                let items: Vec<_> = workers.iter().map(values::of_worker).collect();
                let headings = ["id", "name", "state", "running", "heartbeat", "queues"];
                let text = table(headings, workers.iter().map(row).collect());
                Ok(Answer::new(json!({"items": items}), text))
            }
            Act::Show { id } => {
                let worker = desk.admin.worker(id);
                let Some(worker) = worker.get().await? else {
                    return gone(&worker.gone().await?.ok_or_else(|| none(id))?);
                };
                let mut json = values::of_worker(&worker.summary);
                json["jobs"] = worker.jobs.iter().map(running).collect();
                Ok(Answer::new(json, whole(&worker.summary, &worker.jobs)))
            }
            Act::Stop { id } => stop(desk, id).await,
        }
    }
}

fn none(id: i64) -> Failure {
    Failure::refused(format!("there is no worker {id:x}: it has ended or never existed"))
}

/// What is known about a worker that has ended.
fn gone(worker: &GoneWorker) -> Answered {
    let why = if worker.stopped { "stopped cleanly" } else { "lost: its lease lapsed" };
    let time = |time: &Option<_>| time.as_ref().map(utc).unwrap_or_default();
    let text = fields(vec![
        ("id", show::worker(&worker.id)),
        ("name", worker.name.clone()),
        ("state", why.to_owned()),
        ("started", time(&worker.started_at)),
        ("heartbeat", time(&worker.heartbeat_at)),
        ("ended", utc(&worker.ended_at)),
        ("jobs in hand", worker.jobs.to_string()),
    ]);
    let json = json!({
        "id": show::worker(&worker.id), "name": worker.name, "gone": true,
        "stopped": worker.stopped, "started_at": worker.started_at.as_ref().map(iso),
        "heartbeat_at": worker.heartbeat_at.as_ref().map(iso), "ended_at": iso(&worker.ended_at),
        "jobs_in_hand": worker.jobs,
    });
    Ok(Answer::new(json, text))
}

async fn stop(desk: &Desk, id: i64) -> Answered {
    let (requested, sentence) = match desk.admin.worker(id).stop().await? {
        StopRequest::Requested => (true, format!("Worker {id:x} is asked to stop.")),
        StopRequest::NotFound => return Err(none(id)),
        _ => (false, format!("Worker {id:x} is already stopping.")),
    };
    let json = json!({"id": show::worker(&id), "requested": requested, "stopping": true});
    Ok(Answer::done(json, &sentence))
}

fn state(worker: &WorkerSummary) -> &'static str {
    match worker {
        WorkerSummary { lapsed: true, .. } => "lapsed",
        WorkerSummary { late: true, .. } => "late",
        WorkerSummary { stopping: true, .. } => "stopping",
        WorkerSummary { stop_requested_at: Some(_), .. } => "asked to stop",
        _ => "alive",
    }
}

fn queues(worker: &WorkerSummary) -> String {
    let served = worker.queues.iter().map(|served| match served.slots {
        Some(_) => format!("{} ({})", served.queue, show::served(served)),
        None => served.queue.clone(),
    });
    served.collect::<Vec<_>>().join(", ")
}

fn row(worker: &WorkerSummary) -> [String; 6] {
    [
        show::worker(&worker.id),
        worker.name.clone(),
        state(worker).to_owned(),
        worker.running.to_string(),
        format!("{} ago", span(&worker.heartbeat_age)),
        queues(worker),
    ]
}

fn whole(worker: &WorkerSummary, jobs: &[RunningJob]) -> String {
    let mut text = fields(vec![
        ("id", show::worker(&worker.id)),
        ("name", worker.name.clone()),
        ("state", state(worker).to_owned()),
        ("started", utc(&worker.started_at)),
        ("heartbeat", format!("{} ago", span(&worker.heartbeat_age))),
        ("lease", format!("{}, until {}", span(&worker.lease), utc(&worker.lease_until))),
        ("queues", queues(worker)),
        ("kinds", worker.kinds.join(", ")),
        ("tzdata", worker.zones.clone().unwrap_or_default()),
    ]);
    let row = |job: &RunningJob| {
        let progress =
            job.progress.as_ref().map(|said| reports::said(said, &Utc::now())).unwrap_or_default();
        [job.job.to_string(), job.kind.clone(), job.queue.clone(), utc(&job.since), progress]
    };
    text.push('\n');
    text.push_str(&table(
        ["job", "kind", "queue", "since", "progress"],
        jobs.iter().map(row).collect(),
    ));
    text
}

fn running(job: &RunningJob) -> Value {
    json!({
        "job": job.job.to_string(),
        "kind": job.kind,
        "queue": job.queue,
        "attempt": job.attempt,
        "since": iso(&job.since),
        "progress": job.progress.as_ref().map(reports::progress),
    })
}
