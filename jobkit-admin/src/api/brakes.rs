//! What holds jobs back over all workers.

use jobkit::admin::brakes::Scope;
use serde::Deserialize;
use serde_json::json;

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
    context.admin().pause_scope(&held.scope()?, &held.reason).await?;
    Ok(done())
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
