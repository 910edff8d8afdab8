//! Jobs.

use chrono::Utc;
use clap::Subcommand;
use jobkit::JobId;
use jobkit::admin::jobs::{
    Cancelled, JobCursor, JobDetail, JobPage, JobQuery, JobSummary, Rescheduled,
};
use serde_json::json;

use super::answer::{Answer, Failure, brief, fields, lines, table};
use super::arguments::Rows;
use super::desk::{Answered, Desk};
use crate::format::show::{ago, span, utc, worker};
use crate::format::values;
use crate::format::{payload, reports, show};

#[derive(Debug, Subcommand)]
pub(super) enum Jobs {
    /// Lists jobs
    List {
        /// A search by kind: queue: state: tag: group: key: error: ended: worker: batch: id:
        /// args.path:
        ///
        /// For example 'state:retrying kind:charge_card args.account:7 tag:"very urgent"'. States
        /// are live (the default), ready, scheduled, retrying, running, blocked, finished (ended in
        /// any way), discarded and cancelled. ended: is one of finish (success), discard, cancel,
        /// expire, supersede and coalesce.
        query: Vec<String>,
        #[command(flatten)]
        rows: Rows,
        /// Continues after the last entry of the previous page
        #[arg(long, value_name = "PLACE")]
        after: Option<JobCursor>,
    },
    /// Shows everything known about a job
    Show {
        #[arg(allow_negative_numbers = true)]
        id: i64,
    },
    /// Explains why a job is not running
    Explain {
        #[arg(allow_negative_numbers = true)]
        id: i64,
    },
    /// Makes a scheduled job due now, or replays the dead letter of a failed one
    Retry {
        #[arg(allow_negative_numbers = true)]
        id: i64,
    },
    /// Cancels a job; if it is running, asks it to stop
    Cancel {
        #[arg(allow_negative_numbers = true)]
        id: i64,
    },
}

impl Jobs {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self {
            Self::List { query, rows, after } => {
                let query = query.join(" ").parse::<JobQuery>();
                let query = query.map_err(|error| Failure::usage(error.to_string()))?;
                let page = desk.admin.jobs(&query, after, rows.limit).await?;
                Ok(listed(&page))
            }
            Self::Show { id } => show_one(desk, JobId(id)).await,
            Self::Explain { id } => explain(desk, JobId(id)).await,
            Self::Retry { id } => retry(desk, JobId(id)).await,
            Self::Cancel { id } => cancel(desk, JobId(id)).await,
        }
    }
}

fn none(id: JobId) -> Failure {
    Failure::none(&format!("job {id}"))
}

/// Printed if a search may have missed jobs that match.
const WITHHELD: &str = "\nThis search does not find jobs of a kind that redacts the field or that \
                        no worker has announced.\n";

fn listed(page: &JobPage) -> Answer {
    let next = page.next.as_ref().map(ToString::to_string);
    let items: Vec<_> = page.jobs.iter().map(values::job_summary).collect();
    let headings = ["id", "state", "kind", "queue", "attempt", "when", "error"];
    let mut text = table(headings, page.jobs.iter().map(row).collect());
    if let Some(next) = &next {
        text.push_str(&lines(&format!("\nMore follow: --after '{next}'\n")));
    }
    if let Some(rows) = page.gave_up_after {
        text.push_str(&format!("\nOnly {rows} jobs were searched; narrow the search.\n"));
    }
    if page.withheld {
        text.push_str(WITHHELD);
    }
    let (gave_up_after, withheld) = (page.gave_up_after, page.withheld);
    let answer = json!({
        "items": items, "next": next, "gave_up_after": gave_up_after, "withheld": withheld,
    });
    Answer::new(answer, text)
}

pub(super) fn row(job: &JobSummary) -> [String; 7] {
    [
        job.id.to_string(),
        job.ended.map_or(job.state.as_str(), jobkit::admin::jobs::Ended::as_str).to_owned(),
        job.kind.clone(),
        job.queue.clone(),
        format!("{}/{}", job.attempt, job.max_attempts),
        ago(&job.since.unwrap_or(job.run_at), &Utc::now()),
        job.error.as_deref().map(brief).unwrap_or_default(),
    ]
}

async fn show_one(desk: &Desk, id: JobId) -> Answered {
    let job = desk.admin.job(id);
    let (job, explanation) = tokio::try_join!(job.get(), job.explain())?;
    let job = job.ok_or_else(|| none(id))?;
    let explanation = explanation.as_ref();
    let why = explanation.map_or("", |explanation| &explanation.sentence);
    let text = whole(desk, &job, why);
    Ok(Answer::new(values::job(&job, explanation, Some(desk.redaction)), text))
}

fn whole(desk: &Desk, job: &JobDetail, why: &str) -> String {
    let of = &job.summary;
    let key = of.concurrency.as_ref().map(|(group, key)| format!("{group}/{key}"));
    let state = of.ended.map_or(of.state.as_str(), jobkit::admin::jobs::Ended::as_str);
    let (progress, checkpoint) = said(job);
    let mut text = fields(vec![
        ("id", of.id.to_string()),
        ("state", state.to_owned()),
        ("why", why.to_owned()),
        ("kind", of.kind.clone()),
        ("version", job.version.to_string()),
        ("queue", of.queue.clone()),
        ("priority", of.priority.to_string()),
        ("attempt", format!("{} of {}", of.attempt, of.max_attempts)),
        ("worker", of.worker.as_ref().map(worker).unwrap_or_default()),
        ("run at", utc(&of.run_at)),
        ("created", utc(&of.created_at)),
        ("progress", progress),
        ("checkpoint", checkpoint),
        ("steps", steps(job)),
        ("took", of.took.as_ref().map(span).unwrap_or_default()),
        ("concurrency", key.unwrap_or_default()),
        (
            if job.coalesces { "coalesce key" } else { "unique key" },
            unique_key(job).unwrap_or_default(),
        ),
        ("dead-letter key", job.dead_letter_key.clone().unwrap_or_default()),
        ("dead letter", job.dead_letter.map(|id| id.to_string()).unwrap_or_default()),
        ("schedule", schedule(job)),
        ("batch", of_batch(job)),
        ("replays", job.replays.map(|id| id.to_string()).unwrap_or_default()),
        ("replayed by", job.replayed_by.map(|id| id.to_string()).unwrap_or_default()),
        ("reason", job.reason.clone().unwrap_or_default()),
        ("tags", of.tags.join(", ")),
    ]);
    text.push_str(&attempts(job));
    text.push_str(&format!("\nargs: {}\n", payload::shown(&job.args, Some(desk.redaction))));
    for (name, json) in [("metadata", &job.metadata), ("result", &job.result)] {
        if let Some(json) = json {
            let json = payload::shown(json, Some(desk.redaction));
            text.push_str(&format!("{name}: {json}\n"));
        }
    }
    text
}

/// The schedule that enqueued it, and for which instant.
fn schedule(job: &JobDetail) -> String {
    let schedule = job.schedule.as_ref();
    schedule.map(|(name, at)| format!("{name}, for {}", utc(at))).unwrap_or_default()
}

/// Its steps that have returned.
fn steps(job: &JobDetail) -> String {
    job.steps.iter().map(|step| &*step.name).collect::<Vec<_>>().join(", ")
}

/// The batch that it belongs to: `7`, or `callback of 7`.
fn of_batch(job: &JobDetail) -> String {
    let member = job.batch.map(|id| id.to_string());
    let callback = job.callback_of.map(|id| format!("callback of {id}"));
    [member, callback].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `group/key`, of a job that is unique or coalesces.
fn unique_key(job: &JobDetail) -> Option<String> {
    job.unique_group
        .as_ref()
        .zip(job.unique_key.as_ref())
        .map(|(group, key)| format!("{group}/{key}"))
}

/// The last reported progress, and the checkpoint for the next attempt.
fn said(job: &JobDetail) -> (String, String) {
    let now = Utc::now();
    let progress = job.reports.first().and_then(|report| report.progress.as_ref());
    (
        progress.map(|progress| reports::said(progress, &now)).unwrap_or_default(),
        job.checkpoint.as_ref().map(|saved| reports::saved(saved, &now)).unwrap_or_default(),
    )
}

/// How attempts failed, and what they logged.
fn attempts(job: &JobDetail) -> String {
    let mut text: String = job.attempts.iter().map(attempt).collect();
    for report in job.reports.iter().rev().filter(|report| !report.lines.is_empty()) {
        let log = format!("\nlog of attempt {}\n{}", report.attempt, reports::log(&report.lines));
        text.push_str(&lines(&log));
    }
    text
}

/// A failed attempt, with its whole error.
pub(super) fn attempt(failed: &jobkit::admin::dead_letters::FailedAttempt) -> String {
    let took = failed.took.as_ref().map(|took| format!(" after {}", show::span(took)));
    let took = took.unwrap_or_default();
    let (attempt, outcome, ended) = (failed.attempt, &failed.outcome, utc(&failed.ended_at));
    let kind = failed.error_type.as_deref().unwrap_or("");
    let head = format!("\nattempt {attempt}, {ended}{took}: {outcome} {kind}");
    lines(&format!("{}\n{}\n", head.trim_end(), failed.error))
}

async fn explain(desk: &Desk, id: JobId) -> Answered {
    let explanation = desk.admin.job(id).explain().await?.ok_or_else(|| none(id))?;
    let reasons = values::reasons(&explanation);
    let json = json!({"id": id.to_string(), "why": explanation.sentence, "reasons": reasons});
    Ok(Answer::new(json, lines(&reasons.join("\n"))))
}

async fn retry(desk: &Desk, id: JobId) -> Answered {
    let again = match desk.admin.job(id).reschedule(None).await? {
        Rescheduled::Moved => id,
        Rescheduled::Running => return Err(Failure::refused(format!("job {id} is running"))),
        Rescheduled::CancelRequested => {
            return Err(Failure::refused(format!("job {id} is being cancelled")));
        }
        _ => {
            let job = desk.admin.job(id).get().await?.ok_or_else(|| none(id))?;
            let ended = || Failure::refused(format!("job {id} has ended and has no dead letter"));
            desk.admin.dead_letter(job.dead_letter.ok_or_else(ended)?).replay().await?
        }
    };
    let sentence = match again == id {
        true => format!("Job {id} is due now."),
        false => format!("Job {again} replays job {id}."),
    };
    Ok(Answer::done(json!({"id": id.to_string(), "job": again.to_string()}), &sentence))
}

async fn cancel(desk: &Desk, id: JobId) -> Answered {
    let ended = match desk.admin.job(id).cancel().await? {
        Cancelled::Now => true,
        Cancelled::NotFound => {
            return Err(Failure::refused(format!("there is no live job {id}")));
        }
        _ => false,
    };
    let sentence = match ended {
        true => format!("Job {id} is cancelled."),
        false => format!("Job {id} is running; its worker was asked to stop it."),
    };
    let json = json!({"id": id.to_string(), "ended": ended, "requested": !ended});
    Ok(Answer::done(json, &sentence))
}
