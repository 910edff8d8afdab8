//! One concurrency key, its permit holders and its blocked jobs.

use askama::Template;
use jobkit::admin::semaphores::SemaphoreDetail;

use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;
use crate::render::names::Names;

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
