//! A new job, by the name of its kind.

use std::mem::take;
use std::time::Duration;

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use jobkit::admin::jobs::ByKind;
use jobkit::unique::Enqueued;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::json::{answer, body};
use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::request::time::time;

/// Fields that are left out come from the kind.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    kind: String,
    #[serde(default = "nothing")]
    args: Value,
    queue: Option<String>,
    at: Option<String>,
    priority: Option<i32>,
    max_attempts: Option<i32>,
    /// In seconds, like the next field.
    expires: Option<u64>,
    retry_for: Option<u64>,
    concurrency_key: Option<String>,
    dead_letter_key: Option<String>,
    tags: Option<Vec<String>>,
    metadata: Option<Value>,
    version: Option<u16>,
    unique_key: Option<String>,
    unique_group: Option<String>,
    unique_while: Option<String>,
    /// In seconds.
    unique_for: Option<u64>,
    on_duplicate: Option<String>,
    coalesce_key: Option<String>,
    coalesce_group: Option<String>,
}

/// The payload of a struct without fields.
fn nothing() -> Value {
    Value::Object(Map::new())
}

pub(crate) async fn enqueue(context: &Context) -> Answer {
    let mut wanted: Wanted = body(context)?;
    let admin = context.admin();
    let job = admin.enqueue(take(&mut wanted.kind), take(&mut wanted.args));
    let mut job = timed(unique(job, &mut wanted)?, &wanted)?;
    if let Some(queue) = wanted.queue {
        job = job.queue(queue);
    }
    if let Some(priority) = wanted.priority {
        job = job.priority(priority);
    }
    if let Some(attempts) = wanted.max_attempts {
        job = job.max_attempts(attempts);
    }
    if let Some(key) = wanted.concurrency_key {
        job = job.concurrency_key(key);
    }
    if let Some(key) = wanted.dead_letter_key {
        job = job.dead_letter_key(key);
    }
    if let Some(tags) = wanted.tags {
        job = job.tags(tags);
    }
    if let Some(metadata) = wanted.metadata {
        job = job.metadata(metadata);
    }
    if let Some(version) = wanted.version {
        job = job.version(version);
    }
    let enqueued = job.enqueue_unique().await?;
    let job = enqueued.id().to_string();
    let url = context.link(&format!("/api/v1/jobs/{job}"));
    let said = answer(json!({"job": job, "url": url, "answer": enqueued.as_str()}));
    let status = match enqueued {
        Enqueued::New(_) => StatusCode::CREATED,
        _ => StatusCode::OK,
    };
    Ok((status, [(LOCATION, url)], said).into_response())
}

/// Adds the options about time.
fn timed<'a>(mut job: ByKind<'a>, wanted: &Wanted) -> Result<ByKind<'a>, Failure> {
    if let Some(at) = &wanted.at {
        job = job.at(time(at)?);
    }
    if let Some(seconds) = wanted.expires {
        job = job.expires(Duration::from_secs(seconds));
    }
    if let Some(seconds) = wanted.retry_for {
        job = job.retry_for(Duration::from_secs(seconds));
    }
    Ok(job)
}

/// Adds the unique or coalesce key.
fn unique<'a>(mut job: ByKind<'a>, wanted: &mut Wanted) -> Result<ByKind<'a>, Failure> {
    if wanted.unique_key.is_some() && wanted.coalesce_key.is_some() {
        return Err(Failure::Invalid(
            "a job can have `unique_key` or `coalesce_key`, not both".to_owned(),
        ));
    }
    let other = match wanted.coalesce_key {
        Some(_) => &wanted.unique_group,
        None => &wanted.coalesce_group,
    };
    if other.is_some() {
        let text = "`unique_group` needs `unique_key`, and `coalesce_group` needs `coalesce_key`";
        return Err(Failure::Invalid(text.to_owned()));
    }
    if let Some(key) = wanted.unique_key.take() {
        job = job.unique_key(key);
    }
    if let Some(key) = wanted.coalesce_key.take() {
        job = job.coalesce_key(key);
    }
    if let Some(group) = wanted.coalesce_group.take() {
        job = job.coalesce_group(group);
    }
    if let Some(group) = wanted.unique_group.take() {
        job = job.unique_group(group);
    }
    if let Some(holds) = &wanted.unique_while {
        job = job.unique_while(holds.parse().map_err(Failure::Invalid)?);
    }
    if let Some(seconds) = wanted.unique_for {
        job = job.unique_for(Duration::from_secs(seconds));
    }
    if let Some(what) = &wanted.on_duplicate {
        job = job.on_duplicate(what.parse().map_err(Failure::Invalid)?);
    }
    Ok(job)
}
