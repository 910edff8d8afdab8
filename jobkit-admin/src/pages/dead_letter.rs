//! One dead letter: what failed, how often, and with which payload.

use askama::Template;
use jobkit::admin::dead_letters::{DeadLetter, DeadLetterDiscarded, DeadLetterId, DeadLetterState};

use crate::context::Context;
use crate::failure::Answer;
use crate::failure::Failure;
use crate::format::{json, payload, show};
use crate::render::frame::Frame;
use crate::render::html;
use crate::render::names::Names;

#[derive(Template)]
#[template(path = "dead_letter.html")]
struct Letter<'a> {
    frame: Frame<'a>,
    letter: DeadLetter,
    args: String,
    metadata: Option<String>,
    names: Names,
}

impl Letter<'_> {
    fn is_open(&self) -> bool {
        self.letter.summary.state == DeadLetterState::Open
    }

    /// Whether the payload can be edited: only if it is shown in full.
    fn is_editable(&self) -> bool {
        let context = self.frame.context;
        let whole = payload::is_whole(&self.letter.args, context.redaction());
        self.is_open() && self.frame.may("edit_replay") && whole
    }
}

pub(crate) async fn show(context: &Context) -> Answer {
    let id = DeadLetterId(context.request.id()?);
    let letter = context.admin().dead_letter(id).get().await?.ok_or(Failure::NotFound)?;
    let redaction = context.redaction();
    let args = payload::shown(&letter.args, redaction);
    let metadata = letter.metadata.as_ref().map(|metadata| payload::shown(metadata, redaction));
    let title = format!("Dead letter {id}");
    let workers = letter.errors.iter().filter_map(|failed| failed.worker);
    let names = Names::of(&context.admin(), workers).await?;
    Ok(html(&Letter { frame: Frame::of(context, &title), letter, args, metadata, names }))
}

pub(crate) async fn replay(context: &Context) -> Answer {
    let id = DeadLetterId(context.request.id()?);
    let job = context.admin().dead_letter(id).replay().await?;
    context.redirect(&format!("/dead/{id}"), &format!("Job {job} replays dead letter {id}."))
}

pub(crate) async fn edit_and_replay(context: &Context) -> Answer {
    let id = DeadLetterId(context.request.id()?);
    let args: serde_json::Value = json::read(context.request.must("args")?.as_bytes())
        .map_err(|error| Failure::Invalid(format!("The payload is not JSON: {error}.")))?;
    let admin = context.admin();
    let mut replay = admin.dead_letter(id).replay().args(args);
    if let Some(queue) = context.request.field("queue") {
        replay = replay.queue(queue);
    }
    let job = replay.await?;
    let message = format!("Job {job} replays dead letter {id} with the new payload.");
    context.redirect(&format!("/dead/{id}"), &message)
}

pub(crate) async fn discard(context: &Context) -> Answer {
    let id = DeadLetterId(context.request.id()?);
    match context.admin().dead_letter(id).discard().await? {
        DeadLetterDiscarded::Now => {
            context.redirect("/dead", &format!("Dead letter {id} is removed."))
        }
        DeadLetterDiscarded::Replaying => {
            let text = "A job is replaying this dead letter: cancel that job first.";
            Err(Failure::Conflict(text.into()))
        }
        _ => Err(Failure::NotFound),
    }
}
