//! Rates of concurrency keys, and their pauses.

use std::time::Duration;

use serde::Deserialize;

use super::json::{body, done};
use crate::context::Context;
use crate::failure::{Answer, Failure, of_known_group};
use crate::request::pace::rate;

/// A rate such as `100/min`; `"none"` removes it, null restores the default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupRate {
    group: String,
    rate: Option<String>,
}

pub(crate) async fn rate_group(context: &Context) -> Answer {
    let GroupRate { group, rate: text } = body(context)?;
    let rate = rate(text.as_deref())?;
    of_known_group(context.admin().rate_group(&group, rate).await?)?;
    Ok(done())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyRate {
    group: String,
    key: String,
    rate: Option<String>,
}

pub(crate) async fn rate_key(context: &Context) -> Answer {
    let KeyRate { group, key, rate: text } = body(context)?;
    let rate = rate(text.as_deref())?;
    of_known_group(context.admin().rate_key(&group, &key, rate).await?)?;
    Ok(done())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyPause {
    group: String,
    key: String,
    seconds: f64,
    reason: Option<String>,
}

pub(crate) async fn pause_key(context: &Context) -> Answer {
    let KeyPause { group, key, seconds, reason } = body(context)?;
    let pause = Duration::try_from_secs_f64(seconds);
    let pause = pause.map_err(|error| Failure::Invalid(format!("{error}.")))?;
    of_known_group(context.admin().pause_key(&group, &key, pause, reason.as_deref()).await?)?;
    Ok(done())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    group: String,
    key: String,
}

pub(crate) async fn resume_key(context: &Context) -> Answer {
    let Key { group, key } = body(context)?;
    context.admin().resume_key(&group, &key).await?;
    Ok(done())
}
