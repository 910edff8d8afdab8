//! Schedules. Their names are in the query or the body, since a name may be any text.

use std::time::Duration;

use axum::http::StatusCode;
use axum::response::IntoResponse;
use jobkit::admin::schedules::{ScheduleEdit, ScheduleError, ScheduledJob};
use jobkit::schedule::{CatchUp, Overlap, Schedule};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::json::{answer, body, done};
use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::recurring;
use crate::format::show;

impl From<ScheduleError> for Failure {
    fn from(error: ScheduleError) -> Self {
        match error {
            ScheduleError::Failed(error) => Self::Failed(error),
            refused => Self::Refused("Refused schedule", format!("{refused}.")),
        }
    }
}

pub(crate) async fn list(context: &Context) -> Answer {
    let limit = context.request.clamped("limit", 1, 500, 100);
    let after = context.request.query("after").unwrap_or("");
    let found = context.admin().schedules(after, limit).await?;
    let last = found.last().filter(|_| found.len() == limit as usize);
    let next = last.map(|last| {
        context.link(&format!("/api/v1/schedules?limit={limit}&after={}", show::url(&last.name)))
    });
    let items: Vec<_> = found.iter().map(recurring::schedule).collect();
    Ok(answer(json!({"items": items, "next": next})))
}

/// The schedule that the query names.
fn named(context: &Context) -> Result<&str, Failure> {
    context
        .request
        .query("name")
        .filter(|name| !name.is_empty())
        .ok_or_else(|| Failure::Invalid("A name is required.".into()))
}

pub(crate) async fn show(context: &Context) -> Answer {
    let name = named(context)?;
    let found = context.admin().schedule(name).get().await?.ok_or(Failure::NotFound)?;
    Ok(answer(recurring::schedule_detail(&found, context.redaction())))
}

pub(crate) async fn runs(context: &Context) -> Answer {
    let name = named(context)?;
    let limit = context.request.clamped("limit", 1, 500, 100);
    let before = context.request.query("before").map(crate::request::time::time).transpose()?;
    let found = context.admin().schedule(name).runs(before, limit).await?;
    let items: Vec<_> = found.iter().map(recurring::schedule_run).collect();
    Ok(answer(json!({"items": items})))
}

/// `"none"`, `"latest"`, or the bounds of `all`.
#[derive(Deserialize)]
#[serde(untagged)]
enum CaughtUp {
    Word(String),
    All { max: u32, window: f64 },
}

impl TryFrom<CaughtUp> for CatchUp {
    type Error = Failure;

    fn try_from(text: CaughtUp) -> Result<Self, Failure> {
        match text {
            CaughtUp::Word(word) if word == "none" => Ok(Self::None),
            CaughtUp::Word(word) if word == "latest" => Ok(Self::Latest),
            CaughtUp::Word(_) => {
                Err(Failure::Invalid("catch_up must be none, latest or an object.".into()))
            }
            CaughtUp::All { max, window } => Ok(Self::All { max, window: duration(window)? }),
        }
    }
}

fn duration(seconds: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(seconds).map_err(|error| Failure::Invalid(format!("{error}.")))
}

fn overlap(word: &str) -> Result<Overlap, Failure> {
    match word {
        "allow" => Ok(Overlap::Allow),
        "skip_if_running" => Ok(Overlap::SkipIfRunning),
        _ => Err(Failure::Invalid("overlap must be allow or skip_if_running.".into())),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct New {
    name: String,
    times: String,
    kind: String,
    #[serde(default = "nothing")]
    args: Value,
    queue: Option<String>,
    priority: Option<i32>,
    concurrency_key: Option<String>,
    version: Option<u16>,
    catch_up: Option<CaughtUp>,
    overlap: Option<String>,
    jitter: Option<f64>,
}

/// The payload of a struct without fields.
fn nothing() -> Value {
    Value::Object(Map::new())
}

pub(crate) async fn create(context: &Context) -> Answer {
    let new: New = body(context)?;
    let mut schedule = Schedule::new(new.times);
    if let Some(catch_up) = new.catch_up {
        schedule = schedule.catch_up(catch_up.try_into()?);
    }
    if let Some(word) = new.overlap {
        schedule = schedule.overlap(overlap(&word)?);
    }
    if let Some(seconds) = new.jitter {
        schedule = schedule.jitter(duration(seconds)?);
    }
    let mut job = ScheduledJob::new(new.kind, new.args);
    if let Some(queue) = new.queue {
        job = job.queue(queue);
    }
    if let Some(priority) = new.priority {
        job = job.priority(priority);
    }
    if let Some(key) = new.concurrency_key {
        job = job.concurrency_key(key);
    }
    if let Some(version) = new.version {
        job = job.version(version);
    }
    match context.admin().schedule(&new.name).create(schedule, job).await? {
        true => Ok((StatusCode::CREATED, answer(json!({"name": new.name}))).into_response()),
        false => Err(Failure::Conflict("A schedule of this name already exists.".into())),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Changed {
    name: String,
    times: Option<String>,
    args: Option<Value>,
    queue: Option<String>,
    priority: Option<i32>,
    catch_up: Option<CaughtUp>,
    overlap: Option<String>,
    jitter: Option<f64>,
}

pub(crate) async fn edit(context: &Context) -> Answer {
    let changed: Changed = body(context)?;
    let mut edit = ScheduleEdit::new();
    if let Some(times) = changed.times {
        edit = edit.times(times);
    }
    if let Some(args) = changed.args {
        edit = edit.args(args);
    }
    if let Some(queue) = changed.queue {
        edit = edit.queue(queue);
    }
    if let Some(priority) = changed.priority {
        edit = edit.priority(priority);
    }
    if let Some(catch_up) = changed.catch_up {
        edit = edit.catch_up(catch_up.try_into()?);
    }
    if let Some(word) = changed.overlap {
        edit = edit.overlap(overlap(&word)?);
    }
    if let Some(seconds) = changed.jitter {
        edit = edit.jitter(duration(seconds)?);
    }
    found(context.admin().schedule(&changed.name).edit(edit).await?)
}

fn found(found: bool) -> Answer {
    if found { Ok(done()) } else { Err(Failure::NotFound) }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
    #[serde(default)]
    reason: String,
}

pub(crate) async fn pause(context: &Context) -> Answer {
    let Named { name, reason } = body(context)?;
    found(context.admin().schedule(&name).pause(&reason).await?.is_some())
}

pub(crate) async fn resume(context: &Context) -> Answer {
    let Named { name, .. } = body(context)?;
    found(context.admin().schedule(&name).resume().await?.is_some())
}

pub(crate) async fn run(context: &Context) -> Answer {
    let Named { name, .. } = body(context)?;
    let job = context.admin().schedule(&name).run().await?.ok_or(Failure::NotFound)?;
    Ok(answer(json!({"job": job.to_string()})))
}

pub(crate) async fn delete(context: &Context) -> Answer {
    let Named { name, .. } = body(context)?;
    found(context.admin().schedule(&name).delete().await?)
}
