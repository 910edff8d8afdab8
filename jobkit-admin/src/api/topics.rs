//! Topics. Their names are in the body, since a name may be any text.

use axum::http::StatusCode;
use axum::response::IntoResponse;
use jobkit::JobId;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::json::{answer, body, done};
use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::topics;

pub(crate) async fn list(context: &Context) -> Answer {
    let topics = context.admin().topics().await?;
    Ok(answer(json!({"items": topics.iter().map(topics::topic).collect::<Vec<_>>()})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    topic: String,
    #[serde(default = "nothing")]
    args: Value,
    version: Option<u16>,
}

fn nothing() -> Value {
    Value::Object(Map::new())
}

pub(crate) async fn publish(context: &Context) -> Answer {
    let Event { topic, args, version } = body(context)?;
    let jobs = context.admin().topic(&topic).publish(&args, version).await?;
    let status = if jobs.is_empty() { StatusCode::OK } else { StatusCode::CREATED };
    let jobs: Vec<_> = jobs.iter().map(JobId::to_string).collect();
    Ok((status, answer(json!({"jobs": jobs}))).into_response())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Subscription {
    topic: String,
    kind: String,
}

pub(crate) async fn unsubscribe(context: &Context) -> Answer {
    let Subscription { topic, kind } = body(context)?;
    match context.admin().topic(&topic).unsubscribe(&kind).await? {
        true => Ok(done()),
        false => Err(Failure::NotFound),
    }
}
