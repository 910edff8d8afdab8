//! What holds queues and kinds back, for the pages of both.

use jobkit::admin::brakes::Scope;

use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::request::brakes;
use crate::request::pace::plain;

fn scope(context: &Context) -> Result<Scope, Failure> {
    let (word, name) = (context.request.must("scope")?, context.request.field("name"));
    brakes::scope(word, name.unwrap_or(""))
}

/// Redirects to the page that shows it.
fn back(context: &Context, scope: &Scope, now: &str) -> Answer {
    let page = if matches!(scope, Scope::Queue(_)) { "/queues" } else { "/kinds" };
    context.redirect(page, &format!("{scope} {now}"))
}

pub(crate) async fn pause(context: &Context) -> Answer {
    let (scope, reason) = (scope(context)?, context.request.field("reason").unwrap_or(""));
    context.admin().pause_scope(&scope, reason).await?;
    back(context, &scope, "is paused: no job starts.")
}

pub(crate) async fn resume(context: &Context) -> Answer {
    let scope = scope(context)?;
    let resumed = context.admin().resume_scope(&scope).await?;
    back(context, &scope, if resumed { "is resumed." } else { "was not paused." })
}

pub(crate) async fn limit(context: &Context) -> Answer {
    let (scope, limit) = (scope(context)?, context.request.parsed("limit")?);
    context.admin().limit_running(&scope, limit).await?;
    let now = limit.map_or("has no limit.".into(), |limit| format!("has a limit of {limit}."));
    back(context, &scope, &now)
}

pub(crate) async fn rate(context: &Context) -> Answer {
    let (scope, request) = (scope(context)?, &context.request);
    let rate = plain(request.field("rate"), request.parsed("burst")?)?;
    context.admin().limit_rate(&scope, rate).await?;
    let now = rate.map_or("has no rate.".into(), |rate| format!("has a rate: {rate}."));
    back(context, &scope, &now)
}
