//! Queues, their pauses and their bounds.

use askama::Template;
use jobkit::admin::brakes::Brake;
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
    brakes: Vec<Brake>,
}

pub(crate) async fn list(context: &Context) -> Answer {
    let admin = context.admin();
    let (queues, brakes) = tokio::try_join!(admin.queues(), admin.brakes())?;
    Ok(html(&Queues { frame: Frame::of(context, "Queues"), queues, brakes }))
}

pub(crate) async fn pause(context: &Context) -> Answer {
    let queue = context.request.must("queue")?;
    let reason = context.request.field("reason").unwrap_or("");
    context.admin().pause(queue, "", reason).await?;
    context.redirect("/queues", &format!("{queue} is paused: no job starts."))
}

pub(crate) async fn resume(context: &Context) -> Answer {
    let queue = context.request.must("queue")?;
    let message = match context.admin().resume(queue).await? {
        true => format!("{queue} is resumed."),
        false => format!("{queue} was not paused."),
    };
    context.redirect("/queues", &message)
}

pub(crate) async fn bound(context: &Context) -> Answer {
    let (queue, most) = (context.request.must("queue")?, context.request.parsed("bound")?);
    context.admin().bound_queue(queue, most).await?;
    let now =
        most.map_or("is not bounded.".into(), |most| format!("is bounded to {most} waiting jobs."));
    context.redirect("/queues", &format!("{queue} {now}"))
}
