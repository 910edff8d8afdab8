//! Batches.

use chrono::Utc;
use clap::Subcommand;
use jobkit::JobId;
use jobkit::admin::batches::{
    BatchCancelled, BatchDetail, BatchQuery, BatchSummary, Callback, Members,
};
use jobkit::admin::jobs::{Ended, State};
use jobkit::batch::BatchId;
use serde_json::json;

use super::answer::{Answer, Failure, fields, table, tell};
use super::arguments::{Consent, Rows};
use super::desk::{Answered, Desk};
use super::jobs::row as job;
use super::operations;
use crate::format::batches::{batch as summary, detail, percent};
use crate::format::show::{ago, large, utc};
use crate::format::values;

/// The largest page there is.
const PAGE: u32 = 100;

#[derive(Debug, clap::Args)]
pub(super) struct Batches {
    /// Shows this batch; without an id, batches are listed, the newest first
    id: Option<i64>,
    /// Lists only batches that have not ended
    #[arg(long, conflicts_with = "id")]
    open: bool,
    #[command(flatten)]
    rows: Rows,
    /// Continues after the last batch of the previous page
    #[arg(long, value_name = "ID", conflicts_with = "id")]
    after: Option<i64>,
    #[command(subcommand)]
    command: Option<Act>,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Lists the members of a batch, in the order in which they were added
    Members {
        id: i64,
        /// Only these: live (not ended), finished (ended and kept in the history), dead
        #[arg(long, value_name = "WHICH", value_parser = which, default_value = "all")]
        only: Members,
        #[command(flatten)]
        rows: Rows,
        /// Continues after the last member of the previous page
        #[arg(long, value_name = "JOB")]
        after: Option<i64>,
    },
    /// Cancels the members that have not ended, and keeps others from being added
    Cancel {
        id: i64,
        #[command(flatten)]
        consent: Consent,
    },
}

fn which(text: &str) -> Result<Members, String> {
    let known = Members::ALL.into_iter().find(|which| which.as_str() == text);
    known.ok_or_else(|| "it is one of live, finished, dead and all".to_owned())
}

impl Batches {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        let Self { id, open, rows, after, command } = self;
        match (command, id) {
            (Some(Act::Members { id, only, rows, after }), _) => {
                members(desk, BatchId(id), only, after.map(JobId), rows.limit).await
            }
            (Some(Act::Cancel { id, consent }), _) => cancel(desk, BatchId(id), consent).await,
            (None, Some(id)) => show_one(desk, BatchId(id)).await,
            (None, None) => list(desk, open, after.map(BatchId), rows.limit).await,
        }
    }
}

fn none(id: BatchId) -> Failure {
    Failure::none(&format!("batch {id}"))
}

async fn list(desk: &Desk, open: bool, before: Option<BatchId>, limit: u32) -> Answered {
    let query = if open { BatchQuery::all().open() } else { BatchQuery::all() };
    let batches = desk.admin.batches(query, before, limit).await?;
    let items: Vec<_> = batches.iter().map(summary).collect();
    let full = batches.len() == limit.min(PAGE) as usize;
    let next = batches.last().filter(|_| full).map(|last| last.id);
    let headings = ["id", "state", "ended", "members", "left", "dead", "opened"];
    let mut text = table(headings, batches.iter().map(row).collect());
    if let Some(next) = next {
        text.push_str(&format!("\nMore may follow: --after {next}\n"));
    }
    Ok(Answer::new(json!({"items": items, "next": next.map(|id| id.to_string())}), text))
}

fn row(batch: &BatchSummary) -> [String; 7] {
    [
        batch.id.to_string(),
        batch.state().as_str().to_owned(),
        format!("{} %", percent(batch)),
        large(&batch.counts.members),
        large(&batch.counts.open()),
        large(&batch.counts.dead),
        ago(&batch.created_at, &Utc::now()),
    ]
}

async fn show_one(desk: &Desk, id: BatchId) -> Answered {
    let found = desk.admin.batch(id).get().await?.ok_or_else(|| none(id))?;
    Ok(Answer::new(detail(&found), whole(&found)))
}

fn whole(found: &BatchDetail) -> String {
    let of = &found.summary;
    let counts = &of.counts;
    let some = |jobs: u64| if jobs == 0 { String::new() } else { large(&jobs) };
    let at = |time: &Option<_>| time.as_ref().map(utc).unwrap_or_default();
    let left = format!("{} of {}", large(&counts.open()), large(&counts.members));
    let mut text = fields(vec![
        ("id", of.id.to_string()),
        ("state", of.state().as_str().to_owned()),
        ("not ended", left),
        ("succeeded", large(&counts.finished)),
        ("dead letters", some(counts.dead)),
        ("which keep it open", some(of.held)),
        ("discarded", some(counts.discarded)),
        ("cancelled", some(counts.cancelled)),
        ("expired", some(counts.expired)),
        ("replaced", some(counts.replaced)),
        ("opened", utc(&of.created_at)),
        ("closed", at(&of.closed_at)),
        ("cancelled at", at(&of.cancelled_at)),
        ("ended", at(&of.ended_at)),
    ]);
    if !found.callbacks.is_empty() {
        text.push('\n');
        let headings = ["callback", "job", "kind", "state"];
        text.push_str(&table(headings, found.callbacks.iter().map(callback).collect()));
    }
    text.push_str(&format!("\nIts members: jobkit batches members {}\n", of.id));
    text
}

fn callback(callback: &Callback) -> [String; 4] {
    let state = callback.ended.map(Ended::as_str).or(callback.state.map(State::as_str));
    [
        callback.role.as_str().to_owned(),
        callback.job.to_string(),
        callback.kind.clone().unwrap_or_default(),
        state.unwrap_or("no longer kept").to_owned(),
    ]
}

async fn members(
    desk: &Desk,
    id: BatchId,
    only: Members,
    after: Option<JobId>,
    limit: u32,
) -> Answered {
    let batch = desk.admin.batch(id);
    let (known, jobs) = tokio::try_join!(batch.get(), batch.members(only, after, limit))?;
    known.ok_or_else(|| none(id))?;
    let next = jobs.last().filter(|_| jobs.len() == limit as usize).map(|last| last.id);
    let items: Vec<_> = jobs.iter().map(values::job_summary).collect();
    let headings = ["id", "state", "kind", "queue", "attempt", "when", "error"];
    let mut text = table(headings, jobs.iter().map(job).collect());
    if let Some(next) = next {
        text.push_str(&format!("\nMore may follow: --after {next}\n"));
    }
    Ok(Answer::new(json!({"items": items, "next": next.map(|id| id.to_string())}), text))
}

/// Cancels it, and carries that out together with any workers; without consent, only reports how
/// many members would be cancelled.
async fn cancel(desk: &Desk, id: BatchId, consent: Consent) -> Answered {
    let batch = desk.admin.batch(id);
    let found = batch.get().await?.ok_or_else(|| none(id))?.summary;
    let ended = || Failure::refused(format!("batch {id} has already ended"));
    if found.state().has_ended() {
        return Err(ended());
    }
    if !consent.yes {
        tell("jobkit: nothing was done; use --yes to do it");
        let left = large(&found.counts.open());
        let sentence = format!("{left} members of batch {id} would be cancelled.");
        return Ok(Answer::done(summary(&found), &sentence).wrong(true));
    }
    match batch.cancel(&consent.reason).await? {
        BatchCancelled::By(operation) => operations::finish(desk, operation).await,
        _ => Err(ended()),
    }
}
