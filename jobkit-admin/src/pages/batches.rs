//! Batches, and one with its callbacks and members.

use askama::Template;
use chrono::{DateTime, Utc};
use jobkit::JobId;
use jobkit::admin::batches::{
    BatchCancelled, BatchDetail, BatchQuery, BatchState, BatchSummary, Callback, CallbackRole,
    Members,
};
use jobkit::admin::jobs::{Ended, JobSummary, State};
use jobkit::batch::BatchId;

use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::batches::percent;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;
use crate::request::batches as requested;

const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "batches.html")]
struct Batches<'a> {
    frame: Frame<'a>,
    batches: Vec<BatchSummary>,
    open: bool,
    next: Option<BatchId>,
}

#[derive(Template)]
#[template(path = "batch.html")]
struct One<'a> {
    frame: Frame<'a>,
    it: BatchSummary,
    callbacks: Vec<Callback>,
    which: Members,
    members: Vec<JobSummary>,
    /// Whether this is not the first page of members.
    later: bool,
    next: Option<JobId>,
}

impl One<'_> {
    fn may_cancel(&self) -> bool {
        let open = self.it.ended_at.is_none() && self.it.cancelled_at.is_none();
        open && self.frame.may("bulk") && self.frame.may("cancel")
    }

    /// Since when it is where it is, or when it is due.
    fn since<'j>(&self, job: &'j JobSummary) -> &'j DateTime<Utc> {
        job.since.as_ref().unwrap_or(&job.run_at)
    }

    fn is_current(&self, which: &Members) -> bool {
        self.which == *which
    }

    /// Members that ended neither by success nor as dead letters, in words.
    fn others(&self) -> Vec<String> {
        let counts = &self.it.counts;
        let others = [
            (counts.cancelled, "cancelled"),
            (counts.discarded, "discarded"),
            (counts.expired, "expired"),
            (counts.replaced, "replaced by other jobs"),
        ];
        let some = others.into_iter().filter(|(jobs, _)| *jobs > 0);
        some.map(|(jobs, how)| format!("{} {how}", show::large(&jobs))).collect()
    }
}

/// How a batch looks.
fn look(batch: &BatchSummary) -> &'static str {
    match batch.state() {
        BatchState::Ended => "finished",
        BatchState::Cancelling | BatchState::Cancelled => "discarded",
        BatchState::Held => "paused",
        BatchState::Open => "scheduled",
        _ => "running",
    }
}

/// How many members have not ended.
fn left(batch: &BatchSummary) -> String {
    show::large(&batch.counts.open())
}

/// When a callback runs, in words.
fn when(role: &CallbackRole) -> &'static str {
    match role {
        CallbackRole::ThenIfAll => "if all succeed",
        CallbackRole::OrElse => "at the first dead letter",
        _ => "after all have ended",
    }
}

/// How the job of a callback looks, and its state.
fn state(callback: &Callback) -> (&'static str, &'static str) {
    match (callback.state, callback.ended) {
        (_, Some(Ended::Succeeded)) => ("finished", "finished"),
        (_, Some(Ended::Cancelled)) => ("discarded", "cancelled"),
        (_, Some(_)) => ("discarded", "discarded"),
        (Some(State::Scheduled), _) => ("scheduled", "waiting"),
        (Some(state), _) => (state.as_str(), state.as_str()),
        (None, _) => ("none", "no longer kept"),
    }
}

/// The names of the tabs of members.
fn label(which: &Members) -> &'static str {
    match which {
        Members::Live => "Not ended",
        Members::Finished => "In the history",
        Members::Dead => "Dead letters",
        _ => "All",
    }
}

pub(crate) async fn list(context: &Context) -> Answer {
    let before = context.request.query("before").and_then(|id| id.parse().ok()).map(BatchId);
    let open = requested::is_open(&context.request)?;
    let query = if open { BatchQuery::all().open() } else { BatchQuery::all() };
    let batches = context.admin().batches(query, before, PAGE).await?;
    let full = batches.len() == PAGE as usize;
    let next = batches.last().filter(|_| full).map(|last| last.id);
    Ok(html(&Batches { frame: Frame::of(context, "Batches"), batches, open, next }))
}

pub(crate) async fn show(context: &Context) -> Answer {
    let (admin, id) = (context.admin(), BatchId(context.request.id()?));
    let which = requested::members(&context.request)?.unwrap_or(Members::All);
    let after = context.request.query("after").and_then(|id| id.parse().ok()).map(JobId);
    let batch = admin.batch(id);
    let (batch, members) = tokio::try_join!(batch.get(), batch.members(which, after, PAGE))?;
    let BatchDetail { summary: it, callbacks, .. } = batch.ok_or(Failure::NotFound)?;
    let full = members.len() == PAGE as usize;
    let next = members.last().filter(|_| full).map(|last| last.id);
    let (title, later) = (format!("Batch {id}"), after.is_some());
    let frame = Frame::of(context, &title);
    Ok(html(&One { frame, it, callbacks, which, members, later, next }))
}

pub(crate) async fn cancel(context: &Context) -> Answer {
    let id = BatchId(context.request.id()?);
    requested::may_cancel(&context.access)?;
    let reason = requested::reason(context.request.field("reason").unwrap_or(""))?;
    let admin = context.admin();
    match admin.batch(id).cancel(reason).await? {
        BatchCancelled::By(operation) => {
            let message = format!("Operation {operation} cancels what is left of batch {id}.");
            context.redirect(&format!("/operations/{operation}"), &message)
        }
        _ => Err(requested::ended(&admin, id).await?),
    }
}
