//! What holds jobs back across all workers.

use std::time::Duration;

use jobkit::admin::brakes::Scope;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::SemaphorePermit;

use super::json::{answer, body, done};
use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::values;
use crate::request::brakes::scope;
use crate::request::pace::plain;

pub(crate) async fn list(context: &Context) -> Answer {
    let brakes = context.admin().brakes().await?;
    Ok(answer(json!({"items": brakes.iter().map(values::brake).collect::<Vec<_>>()})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Held {
    scope: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    reason: String,
    /// How long a pause waits for running jobs to end.
    wait_seconds: Option<u64>,
    limit: Option<u32>,
    /// Such as `100/min`.
    rate: Option<String>,
    burst: Option<u32>,
}

impl Held {
    fn scope(&self) -> Result<Scope, Failure> {
        scope(&self.scope, &self.name)
    }
}

pub(crate) async fn pause(context: &Context) -> Answer {
    let held: Held = body(context)?;
    let (scope, wait) = (held.scope()?, wait(context, held.wait_seconds)?);
    context.admin().pause_scope(&scope, &held.reason).await?;
    paused(context, &scope, wait).await
}

/// The longest time that a request may wait.
const LONGEST_WAIT: u64 = 30;

/// How long a request waits for running jobs to end, and the turn it holds meanwhile. Turns are
/// few, so that waiting requests do not block others.
pub(super) struct Wait<'a>(Duration, SemaphorePermit<'a>);

pub(super) fn wait(context: &Context, seconds: Option<u64>) -> Result<Option<Wait<'_>>, Failure> {
    let Some(seconds) = seconds else { return Ok(None) };
    if seconds > LONGEST_WAIT {
        let text = format!("`wait_seconds` is {LONGEST_WAIT} at most: pause again to wait longer.");
        return Err(Failure::Invalid(text));
    }
    let turn = context.shared.waits.try_acquire().map_err(|_| Failure::Busy)?;
    Ok(Some(Wait(Duration::from_secs(seconds), turn)))
}

/// Answers a pause, with the number of running jobs if it waited for them.
pub(super) async fn paused(context: &Context, scope: &Scope, wait: Option<Wait<'_>>) -> Answer {
    let Some(Wait(within, _turn)) = wait else { return Ok(done()) };
    let running = context.admin().wait_until_idle(scope, within, |_| {}).await?;
    Ok(answer(json!({"running": running})))
}

pub(crate) async fn resume(context: &Context) -> Answer {
    context.admin().resume_scope(&body::<Held>(context)?.scope()?).await?;
    Ok(done())
}

pub(crate) async fn limit(context: &Context) -> Answer {
    let held: Held = body(context)?;
    context.admin().limit_running(&held.scope()?, held.limit).await?;
    Ok(done())
}

pub(crate) async fn limit_rate(context: &Context) -> Answer {
    let held: Held = body(context)?;
    let rate = plain(held.rate.as_deref(), held.burst)?;
    context.admin().limit_rate(&held.scope()?, rate).await?;
    Ok(done())
}
