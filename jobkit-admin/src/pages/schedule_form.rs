//! The page that creates or changes a schedule.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use chrono::{DateTime, Utc};
use jobkit::admin::schedules::{ScheduleDetail, ScheduleEdit, ScheduleError, ScheduledJob};
use jobkit::schedule::{Schedule, Times};
use serde_json::{Map, Value};

use super::schedules::page;
use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::{payload, show};
use crate::render::frame::Frame;
use crate::render::html;
use crate::request::schedules::{Read, ScheduleForm};

/// How many instants a preview shows.
const INSTANTS: usize = 5;

#[derive(Template)]
#[template(path = "schedule_form.html")]
struct Page<'a> {
    frame: Frame<'a>,
    form: ScheduleForm,
    /// It changes an existing schedule.
    changes: bool,
    /// Announced kinds, for a new schedule.
    kinds: Vec<String>,
    /// The payload of its jobs now.
    args: Option<String>,
    /// The next instants, once a preview was asked for.
    instants: Vec<DateTime<Utc>>,
}

async fn shown(context: &Context, form: ScheduleForm, status: StatusCode) -> Answer {
    let preview = context.request.field("preview").is_some();
    let times = form.text("times").parse::<Times>().ok().filter(|_| preview);
    let frame = Frame::of(context, "New schedule");
    let instants = times.map_or(Vec::new(), |times| next(&times, frame.now));
    let kinds = context.admin().kinds().await?.into_iter().map(|kind| kind.kind).collect();
    let page = Page { frame, form, changes: false, kinds, args: None, instants };
    Ok(with(status, html(&page)))
}

fn shown_of(
    context: &Context,
    schedule: &ScheduleDetail,
    form: ScheduleForm,
    status: StatusCode,
) -> Response {
    let preview = context.request.field("preview").is_some();
    let times = form.text("times").parse::<Times>().ok().filter(|_| preview);
    let frame = Frame::of(context, "Change a schedule");
    let instants = times.map_or(Vec::new(), |times| next(&times, frame.now));
    let args = Some(payload::shown(&schedule.args, context.redaction()));
    let page = Page { frame, form, changes: true, kinds: Vec::new(), args, instants };
    with(status, html(&page))
}

fn with(status: StatusCode, mut response: Response) -> Response {
    *response.status_mut() = status;
    response
}

fn next(times: &Times, now: DateTime<Utc>) -> Vec<DateTime<Utc>> {
    std::iter::successors(times.next_after(now), |at| times.next_after(*at))
        .take(INSTANTS)
        .collect()
}

pub(crate) async fn new(context: &Context) -> Answer {
    shown(context, ScheduleForm::empty(), StatusCode::OK).await
}

pub(crate) async fn create(context: &Context) -> Answer {
    let mut form = ScheduleForm::sent(&context.request);
    let read = form.read();
    if context.request.field("preview").is_some() {
        return shown(context, form, StatusCode::OK).await;
    }
    for field in ["name", "kind"] {
        if form.given(field).is_none() {
            form.blame(field, "This is required.");
        }
    }
    if let (Some(read), Some(name), Some(kind)) = (read, form.given("name"), form.given("kind")) {
        match make(context, &form, name, kind, read).await {
            Ok(true) => return context.redirect(&page(name), &format!("{name} is created.")),
            Ok(false) => form.blame("name", "A schedule of this name already exists."),
            Err(error) => form.blame("", refused(error)?),
        }
    }
    shown(context, form, StatusCode::UNPROCESSABLE_ENTITY).await
}

async fn make(
    context: &Context,
    form: &ScheduleForm,
    name: &str,
    kind: &str,
    read: Read,
) -> Result<bool, ScheduleError> {
    let schedule = Schedule::new(read.times.to_string())
        .catch_up(read.catch_up)
        .overlap(read.overlap)
        .jitter(read.jitter);
    let mut job = ScheduledJob::new(kind, read.args.unwrap_or(Value::Object(Map::new())));
    if let Some(queue) = form.given("queue") {
        job = job.queue(queue);
    }
    if let Some(key) = form.given("concurrency_key") {
        job = job.concurrency_key(key);
    }
    if let Some(priority) = read.priority {
        job = job.priority(priority);
    }
    context.admin().schedule(name).create(schedule, job).await
}

/// The reason for a refusal, in a sentence for the page.
fn refused(error: ScheduleError) -> Result<String, Failure> {
    match error {
        ScheduleError::Failed(error) => Err(Failure::Failed(error)),
        refused => Ok(format!("{refused}.")),
    }
}

async fn found(context: &Context, name: &str) -> Result<ScheduleDetail, Failure> {
    context.admin().schedule(name).get().await?.ok_or(Failure::NotFound)
}

pub(crate) async fn change(context: &Context) -> Answer {
    let name = context.request.query("name");
    let name = name.ok_or_else(|| Failure::Invalid("A name is required.".into()))?;
    let schedule = found(context, name).await?;
    let form = ScheduleForm::of(&schedule);
    Ok(shown_of(context, &schedule, form, StatusCode::OK))
}

pub(crate) async fn edit(context: &Context) -> Answer {
    let schedule = found(context, context.request.must("name")?).await?;
    let mut form = ScheduleForm::sent(&context.request);
    let read = form.read();
    if context.request.field("preview").is_some() {
        return Ok(shown_of(context, &schedule, form, StatusCode::OK));
    }
    if let Some(read) = read {
        let (name, edit) = (&schedule.summary.name, changed(&form, &schedule, read));
        match context.admin().schedule(name).edit(edit).await {
            Ok(true) => return context.redirect(&page(name), &format!("{name} is changed.")),
            Ok(false) => return Err(Failure::NotFound),
            Err(error) => form.blame("", refused(error)?),
        }
    }
    Ok(shown_of(context, &schedule, form, StatusCode::UNPROCESSABLE_ENTITY))
}

/// Only the fields that changed: the others still follow the code.
fn changed(form: &ScheduleForm, schedule: &ScheduleDetail, read: Read) -> ScheduleEdit {
    let was = &schedule.summary;
    let mut edit = ScheduleEdit::new();
    if was.times != read.times.to_string() {
        edit = edit.times(read.times.to_string());
    }
    if was.catch_up != read.catch_up {
        edit = edit.catch_up(read.catch_up);
    }
    if was.overlap != read.overlap {
        edit = edit.overlap(read.overlap);
    }
    if was.jitter != read.jitter {
        edit = edit.jitter(read.jitter);
    }
    if let Some(queue) = form.given("queue").filter(|queue| *queue != was.queue) {
        edit = edit.queue(queue);
    }
    if let Some(priority) = read.priority.filter(|it| *it != i32::from(schedule.priority)) {
        edit = edit.priority(priority);
    }
    match read.args {
        Some(args) => edit.args(args),
        None => edit,
    }
}
