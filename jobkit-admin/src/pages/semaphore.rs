//! One concurrency key: who holds its permits, and who waits for one.

use askama::Template;
use jobkit::admin::semaphores::SemaphoreDetail;

use super::concurrency::limit_text;
use crate::context::Context;
use crate::failure::Answer;
use crate::failure::{Failure, of_known_group};
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;

#[derive(Template)]
#[template(path = "semaphore.html")]
struct Key<'a> {
    frame: Frame<'a>,
    group: &'a str,
    key: &'a str,
    /// `None` when nothing is known of the key: nobody uses it.
    detail: Option<SemaphoreDetail>,
}

pub(crate) async fn show(context: &Context) -> Answer {
    let group = context.request.query("group").ok_or(Failure::NotFound)?;
    let key = context.request.query("key").unwrap_or("");
    let detail = context.admin().semaphore(group, key).await?;
    Ok(html(&Key { frame: Frame::of(context, "Concurrency key"), group, key, detail }))
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
