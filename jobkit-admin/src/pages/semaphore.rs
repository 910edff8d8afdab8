//! One concurrency key, its permit holders and its blocked jobs.

use std::time::Duration;

use askama::Template;
use jobkit::admin::semaphores::SemaphoreDetail;

use super::concurrency::limit_text;
use crate::context::Context;
use crate::failure::Answer;
use crate::failure::{Failure, of_known_group};
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;
use crate::render::names::Names;
use crate::request::pace::rate;

#[derive(Template)]
#[template(path = "semaphore.html")]
struct Key<'a> {
    frame: Frame<'a>,
    group: &'a str,
    key: &'a str,
    /// `None` if the key is not in use.
    detail: Option<SemaphoreDetail>,
    names: Names,
}

pub(crate) async fn show(context: &Context) -> Answer {
    let group = context.request.query("group").ok_or(Failure::NotFound)?;
    let key = context.request.query("key").unwrap_or("");
    let detail = context.admin().semaphore(group, key).await?;
    let holders = detail.iter().flat_map(|detail| &detail.holders);
    let workers = holders.filter_map(|holder| holder.worker);
    let names = Names::of(&context.admin(), workers).await?;
    Ok(html(&Key { frame: Frame::of(context, "Concurrency key"), group, key, detail, names }))
}

fn page(group: &str, key: &str) -> String {
    format!("/concurrency/key?group={}&key={}", show::url(group), show::url(key))
}

pub(crate) async fn limit_key(context: &Context) -> Answer {
    let (group, key) = (context.request.must("group")?, context.request.must("key")?);
    let limit = context.request.parsed("limit")?;
    of_known_group(context.admin().limit_key(group, key, limit).await?)?;
    context.redirect(&page(group, key), &limit_text(&format!("{group}/{key}"), limit))
}

pub(crate) async fn rate_key(context: &Context) -> Answer {
    let (group, key) = (context.request.must("group")?, context.request.must("key")?);
    let rate = rate(context.request.field("rate"))?;
    of_known_group(context.admin().rate_key(group, key, rate).await?)?;
    let text = match rate {
        Some(Some(rate)) => format!("{group}/{key}: {rate}."),
        Some(None) => format!("{group}/{key} has no rate."),
        None => format!("{group}/{key} has the rate of its group."),
    };
    context.redirect(&page(group, key), &text)
}

pub(crate) async fn pause_key(context: &Context) -> Answer {
    let (group, key) = (context.request.must("group")?, context.request.must("key")?);
    let minutes: Option<u32> = context.request.parsed("minutes")?;
    let pause = Duration::from_secs(60) * minutes.unwrap_or(0);
    let reason = context.request.field("reason");
    of_known_group(context.admin().pause_key(group, key, pause, reason).await?)?;
    context.redirect(&page(group, key), &format!("{group}/{key} is paused: no job starts."))
}

pub(crate) async fn resume_key(context: &Context) -> Answer {
    let (group, key) = (context.request.must("group")?, context.request.must("key")?);
    let text = match context.admin().resume_key(group, key).await? {
        true => format!("{group}/{key} is resumed."),
        false => format!("{group}/{key} was not paused."),
    };
    context.redirect(&page(group, key), &text)
}
