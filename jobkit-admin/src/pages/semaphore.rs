//! One concurrency key: who holds its permits, and who waits for one.

use askama::Template;
use jobkit::admin::semaphores::SemaphoreDetail;

use super::concurrency::{limit_text, said};
use crate::failure::{Failure, html};
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "semaphore.html")]
struct Key<'a> {
    frame: Frame<'a>,
    group: &'a str,
    key: &'a str,
    /// `None` when nothing is known of the key: nobody uses it.
    detail: Option<SemaphoreDetail>,
}

pub(crate) async fn show(visit: &Visit) -> Answer {
    let group = visit.query("group").ok_or(Failure::NotFound)?;
    let key = visit.query("key").unwrap_or("");
    let detail = visit.admin().semaphore(group, key).await?;
    Ok(html(&Key { frame: visit.frame("Concurrency key"), group, key, detail }))
}

fn page(group: &str, key: &str) -> String {
    format!("/concurrency/key?group={}&key={}", show::url(group), show::url(key))
}

pub(crate) async fn limit_key(visit: &Visit) -> Answer {
    let (group, key) = (visit.must("group")?, visit.must("key")?);
    let limit = visit.parsed("limit")?;
    said(visit.admin().limit_key(group, key, limit).await?)?;
    visit.redirect(&page(group, key), &limit_text(&format!("{group}/{key}"), limit))
}
