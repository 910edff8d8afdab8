//! Queues.

use askama::Template;
use jobkit::admin::limits::{Limit, LimitFilter};
use jobkit::admin::queues::QueueSummary;

use crate::context::Context;
use crate::failure::Answer;
use crate::format::show;
use crate::render::frame::Frame;
use crate::render::html;

#[derive(Template)]
#[template(path = "queues.html")]
struct Queues<'a> {
    frame: Frame<'a>,
    queues: Vec<QueueSummary>,
    limits: Vec<Limit>,
}

pub(crate) async fn list(context: &Context) -> Answer {
    let admin = context.admin();
    let of_queues = LimitFilter::all().of(&["queue"]);
    let (queues, limits) = tokio::try_join!(admin.queues(), admin.limits(&of_queues))?;
    Ok(html(&Queues { frame: Frame::of(context, "Queues"), queues, limits }))
}
