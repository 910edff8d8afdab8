//! Topics, and the kinds that subscribe to them.

use askama::Template;
use jobkit::admin::topics::TopicSummary;

use crate::context::Context;
use crate::failure::Answer;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;

#[derive(Template)]
#[template(path = "topics.html")]
struct Topics<'a> {
    frame: Frame<'a>,
    topics: Vec<TopicSummary>,
}

pub(crate) async fn list(context: &Context) -> Answer {
    let topics = context.admin().topics().await?;
    Ok(html(&Topics { frame: Frame::of(context, "Topics"), topics }))
}
