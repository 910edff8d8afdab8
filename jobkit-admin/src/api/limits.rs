//! What is limited or paused.

use std::time::Duration;

use jobkit::admin::limits::{LimitFilter, Rate, Scope, To};
use serde::{Deserialize, Deserializer};
use serde_json::json;
use tokio::sync::SemaphorePermit;

use super::json::{answer, body, done};
use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::change::Parts;
use crate::format::values;
use crate::request::limits;

pub(crate) async fn list(context: &Context) -> Answer {
    let request = &context.request;
    let mut filter = LimitFilter::all();
    filter = request.query("scope").into_iter().fold(filter, |filter, word| filter.of(&[word]));
    filter = request.query("name").into_iter().fold(filter, LimitFilter::named);
    if request.query("paused") == Some("true") {
        filter = filter.paused();
    }
    let found = context.admin().limits(&filter).await?;
    Ok(answer(json!({"items": found.iter().map(values::limit).collect::<Vec<_>>()})))
}

/// What is limited, paused or resumed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    scope: String,
    #[serde(default)]
    name: String,
    key: Option<String>,
}

impl Target {
    fn scope(&self) -> Result<Scope, Failure> {
        limits::scope(&self.scope, &self.name, self.key.as_deref())
    }
}

/// Null resets a part to what the code sets, `"none"` removes the limit, and a missing part is left
/// unchanged.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Set {
    scope: String,
    #[serde(default)]
    name: String,
    key: Option<String>,
    #[serde(default, deserialize_with = "given")]
    running: Option<Option<Number>>,
    /// Such as `100/min`.
    #[serde(default, deserialize_with = "given")]
    rate: Option<Option<String>>,
    burst: Option<u32>,
    #[serde(default, deserialize_with = "given")]
    waiting: Option<Option<Number>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    Number(u32),
    Word(String),
}

/// A value that is present, which may be null.
fn given<'de, T, D>(from: D) -> Result<Option<Option<T>>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(from).map(Some)
}

fn number(given: Option<Number>) -> Result<To<u32>, Failure> {
    match given {
        None => Ok(To::Reset),
        Some(Number::Number(most)) => Ok(To::Value(most)),
        Some(Number::Word(word)) => limits::number(&word),
    }
}

fn rate(given: Option<String>) -> Result<To<Rate>, Failure> {
    given.map_or(Ok(To::Reset), |text| limits::rate(&text))
}

pub(crate) async fn set(context: &Context) -> Answer {
    let Set { scope, name, key, running, rate: often, burst, waiting } = body(context)?;
    let scope = Target { scope, name, key }.scope()?;
    let parts = Parts {
        running: running.map(number).transpose()?,
        rate: often.map(rate).transpose()?,
        burst,
        waiting: waiting.map(number).transpose()?,
    };
    let limited = context.admin().limit(scope.clone()).set(&limits::change(&parts)?).await?;
    limits::known(limited, &scope)?;
    Ok(done())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Pause {
    scope: String,
    #[serde(default)]
    name: String,
    key: Option<String>,
    /// How long a key is paused.
    seconds: Option<f64>,
    #[serde(default)]
    reason: String,
    /// How long the request waits for running jobs to end.
    wait_seconds: Option<u64>,
}

pub(crate) async fn pause(context: &Context) -> Answer {
    let Pause { scope, name, key, seconds, reason, wait_seconds } = body(context)?;
    let scope = Target { scope, name, key }.scope()?;
    let wait = wait(context, wait_seconds)?;
    let admin = context.admin();
    let handle = admin.limit(scope.clone());
    let Some(seconds) = seconds else {
        handle.pause(&reason).await?;
        let Some(Wait(within, _turn)) = wait else { return Ok(done()) };
        let running = handle.wait_until_idle(within, |_| {}).await?;
        return Ok(answer(json!({"running": running})));
    };
    let time = Duration::try_from_secs_f64(seconds);
    let time = time.map_err(|error| Failure::Invalid(format!("{error}.")))?;
    limits::known(handle.pause_for(time, &reason).await?, &scope)?;
    Ok(done())
}

/// The longest time that a request may wait.
const LONGEST_WAIT: u64 = 30;

/// How long a request waits for running jobs to end, and the slot it holds meanwhile. There are few
/// slots, so that waiting requests do not block others.
struct Wait<'a>(Duration, SemaphorePermit<'a>);

fn wait(context: &Context, seconds: Option<u64>) -> Result<Option<Wait<'_>>, Failure> {
    let Some(seconds) = seconds else { return Ok(None) };
    if seconds > LONGEST_WAIT {
        let text = format!("`wait_seconds` is at most {LONGEST_WAIT}: pause again to wait longer.");
        return Err(Failure::Invalid(text));
    }
    let turn = context.shared.waits.try_acquire().map_err(|_| Failure::Busy)?;
    Ok(Some(Wait(Duration::from_secs(seconds), turn)))
}

pub(crate) async fn resume(context: &Context) -> Answer {
    context.admin().limit(body::<Target>(context)?.scope()?).resume().await?;
    Ok(done())
}
