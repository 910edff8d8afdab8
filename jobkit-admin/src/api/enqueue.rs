//! A new job, by the name of its kind.

use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::json::{answer, body};
use crate::context::Context;
use crate::failure::Answer;
use crate::request::time::time;

/// What is left out comes from the kind.
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
    concurrency_key: Option<String>,
    dead_letter_key: Option<String>,
    tags: Option<Vec<String>>,
    metadata: Option<Value>,
    version: Option<u16>,
}

/// The payload of a struct without fields.
fn nothing() -> Value {
    Value::Object(Map::new())
}

pub(crate) async fn enqueue(context: &Context) -> Answer {
    let wanted: Wanted = body(context)?;
    let admin = context.admin();
    let mut job = admin.enqueue(wanted.kind, wanted.args);
    if let Some(queue) = wanted.queue {
        job = job.queue(queue);
    }
    if let Some(at) = wanted.at {
        job = job.at(time(&at)?);
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
    let job = job.await?.to_string();
    let url = context.link(&format!("/api/v1/jobs/{job}"));
    let said = answer(json!({"job": job, "url": url}));
    Ok((StatusCode::CREATED, [(LOCATION, url)], said).into_response())
}
