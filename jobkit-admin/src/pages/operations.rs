//! Actions on everything that matches a filter: previewed, confirmed, then carried out by workers.

use std::hash::{BuildHasher, Hasher, RandomState};

use askama::Template;
use jobkit::admin::Count;
use jobkit::admin::operations::{BulkAction, Operation, OperationResult, Preview};

use crate::context::Context;
use crate::failure::Answer;
use crate::failure::Failure;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;
use crate::request::bulk::{BulkRequest, FIELDS};

/// From this many on, the number must be typed, or the name where the number is not known.
const MANY: u32 = 100;

const PAGE: u32 = 50;

#[derive(Template)]
#[template(path = "operations.html")]
struct Operations<'a> {
    frame: Frame<'a>,
    operations: Vec<Operation>,
    next: Option<i64>,
}

#[derive(Template)]
#[template(path = "operation_new.html")]
struct New<'a> {
    frame: Frame<'a>,
    title: &'static str,
    effect: &'static str,
    preview: Preview,
    fields: Vec<(&'static str, &'a str)>,
    /// The ids of the selected rows.
    rows: Vec<&'a str>,
    /// How many rows are selected.
    selected: Option<usize>,
    /// What has to be typed.
    typed: Option<String>,
    bulk: BulkRequest,
    /// Identifies this page, so that submitting it twice acts once.
    key: String,
}

impl New<'_> {
    /// The fields that say what matches, for people.
    fn facts(&self) -> impl Iterator<Item = &(&'static str, &str)> {
        self.fields.iter().filter(|(name, _)| !["verb", "only"].contains(name))
    }

    /// Whether the action cannot be undone.
    fn is_destructive(&self) -> bool {
        !matches!(self.title, "Replay dead letters" | "Run jobs now")
    }

    /// Whether it is unknown how many match.
    fn is_uncounted(&self) -> bool {
        matches!(self.preview.count, Count::AtLeast(_))
    }

    fn is_about_none(&self) -> bool {
        self.preview.count == Count::Exactly(0)
    }
}

#[derive(Template)]
#[template(path = "operation.html")]
struct One<'a> {
    frame: Frame<'a>,
    operation: Operation,
    filter: String,
    results: Vec<OperationResult>,
}

impl One<'_> {
    /// The page of an item that was skipped.
    fn link(&self, result: &OperationResult) -> String {
        let jobs = matches!(self.operation.verb.as_str(), "cancel" | "discard" | "reschedule");
        let place = if jobs { "jobs" } else { "dead" };
        self.frame.link(&format!("/{place}/{}", result.subject))
    }
}

/// How an operation looks.
fn look(operation: &Operation) -> &'static str {
    match operation.state.as_str() {
        "running" => "running",
        "done" => "finished",
        "failed" => "failed",
        "counting" => "running",
        "cancelled" => "discarded",
        _ => "scheduled",
    }
}

/// How much of it is done, in percent; `None` while the total is not known.
fn reached(operation: &Operation) -> Option<u64> {
    match operation.state.as_str() {
        "done" => return Some(100),
        "cancelled" | "failed" if operation.total.is_none() => return Some(0),
        _ => {}
    }
    let seen = operation.done + operation.skipped;
    operation.total.map(|total| (seen * 100 / total.max(1)).min(99))
}

/// The title of the page, and the effect of the action.
fn words(action: &BulkAction) -> (&'static str, &'static str) {
    match action.verb() {
        "cancel" => ("Cancel jobs", "Waiting jobs end at once; running jobs are asked to stop."),
        "discard" => ("Discard jobs", "They end as discarded and will not run."),
        "reschedule" => ("Run jobs now", "Waiting jobs become due at once."),
        "replay" => ("Replay dead letters", "Each becomes a new job with all its attempts."),
        "purge" => ("Purge dead letters", "They are removed permanently."),
        _ => ("Discard dead letters", "They are removed permanently."),
    }
}

pub(crate) async fn list(context: &Context) -> Answer {
    let before = context.request.query("before").and_then(|id| id.parse().ok());
    let operations = context.admin().operations(before, PAGE).await?;
    let full = operations.len() == PAGE as usize;
    let next = operations.last().filter(|_| full).map(|last| last.id);
    Ok(html(&Operations { frame: Frame::of(context, "Operations"), operations, next }))
}

pub(crate) async fn new(context: &Context) -> Answer {
    let bulk = BulkRequest::of(&context.request);
    let action = bulk.action(&context.access)?;
    let preview = context.admin().preview(&action).await?;
    let (title, effect) = words(&action);
    let selected = bulk.selected();
    let rows = if selected.is_some() { context.request.rows() } else { Vec::new() };
    let typed = match preview.count {
        Count::AtLeast(_) => Some(bulk.name(&context.access)?),
        Count::Exactly(number) => Some(number.to_string()).filter(|_| number > MANY),
    };
    let fields =
        FIELDS.into_iter().filter_map(|name| Some((name, context.request.query(name)?))).collect();
    // Random, by the keys of a hash.
    let key = format!("{:016x}", RandomState::new().build_hasher().finish());
    let frame = Frame::of(context, title);
    Ok(html(&New { frame, title, effect, preview, fields, rows, selected, typed, bulk, key }))
}

pub(crate) async fn begin(context: &Context) -> Answer {
    let bulk = BulkRequest::of(&context.request);
    let (action, key) = (bulk.action(&context.access)?, context.request.must("idempotency_key")?);
    let reason = bulk.reason()?;
    let shown = context.request.parsed::<u32>("count")?.unwrap_or(0);
    let count = context.admin().preview(&action).await?.count;
    if !bulk.is_confirmed_by_name(&context.access, count)? {
        must_be_typed(context, shown, count.number())?;
    }
    let operation = context.admin().begin_operation(&action, reason, key).await?;
    let message = format!("Operation {} has started.", operation.id);
    context.redirect(&format!("/operations/{}", operation.id), &message)
}

/// Checks that the number shown was typed, and that it has not become large in the meantime.
fn must_be_typed(context: &Context, shown: u32, now: u32) -> Result<(), Failure> {
    if shown > MANY && context.request.parsed::<u32>("typed")? != Some(shown) {
        let text = format!("Type {shown} to confirm the number.");
        return Err(Failure::Invalid(text));
    }
    if shown <= MANY && now > MANY {
        let text = format!("{now} match by now. Check the preview again.");
        return Err(Failure::Conflict(text));
    }
    Ok(())
}

pub(crate) async fn show(context: &Context) -> Answer {
    let (admin, id) = (context.admin(), context.request.id()?);
    let operation = admin.operation(id);
    let (operation, results) = tokio::try_join!(operation.get(), operation.results())?;
    let operation = operation.ok_or(Failure::NotFound)?;
    let filter = crate::format::payload::circumstances(&operation.filter);
    let title = format!("Operation {id}");
    Ok(html(&One { frame: Frame::of(context, &title), operation, filter, results }))
}

pub(crate) async fn cancel(context: &Context) -> Answer {
    let id = context.request.id()?;
    let message = match context.admin().operation(id).cancel().await? {
        true => format!("Operation {id} is cancelled; what it has already done is not undone."),
        false => return Err(Failure::Conflict("The operation has already ended.".into())),
    };
    context.redirect(&format!("/operations/{id}"), &message)
}
