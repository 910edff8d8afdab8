//! Queues, and their pauses.

use askama::Template;
use jobkit::admin::queues::QueueSummary;

use crate::failure::html;
use crate::frame::Frame;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "queues.html")]
struct Queues<'a> {
    frame: Frame<'a>,
    queues: Vec<QueueSummary>,
}

pub(crate) async fn list(visit: &Visit) -> Answer {
    let queues = visit.admin().queues().await?;
    Ok(html(&Queues { frame: visit.frame("Queues"), queues }))
}

pub(crate) async fn pause(visit: &Visit) -> Answer {
    let queue = visit.must("queue")?;
    let reason = visit.field("reason").unwrap_or("");
    visit.admin().pause(queue, "", reason).await?;
    visit.redirect("/queues", &format!("{queue} is paused: nothing of it starts."))
}

pub(crate) async fn resume(visit: &Visit) -> Answer {
    let queue = visit.must("queue")?;
    let said = match visit.admin().resume(queue).await? {
        true => format!("{queue} is resumed."),
        false => format!("{queue} was not paused."),
    };
    visit.redirect("/queues", &said)
}
