//! One dead letter: what failed, how often, and with which payload.

use askama::Template;
use jobkit::admin::dead_letters::{DeadLetter, DeadLetterDiscarded, DeadLetterId, DeadLetterState};

use crate::failure::{Failure, html};
use crate::frame::Frame;
use crate::payload;
use crate::router::Answer;
use crate::show;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "dead_letter.html")]
struct Letter<'a> {
    frame: Frame<'a>,
    letter: DeadLetter,
    args: String,
    metadata: Option<String>,
}

impl Letter<'_> {
    fn is_open(&self) -> bool {
        self.letter.summary.state == DeadLetterState::Open
    }

    /// Whether the payload can be edited: only what is seen in full can be.
    fn is_editable(&self) -> bool {
        let visit = self.frame.visit;
        let whole = payload::is_whole(&self.letter.args, visit.redaction());
        self.is_open() && self.frame.may("edit_replay") && whole
    }
}

pub(crate) async fn show(visit: &Visit) -> Answer {
    let id = DeadLetterId(visit.id()?);
    let letter = visit.admin().dead_letter(id).await?.ok_or(Failure::NotFound)?;
    let redaction = visit.redaction();
    let args = payload::shown(&letter.args, redaction);
    let metadata = letter.metadata.as_ref().map(|metadata| payload::shown(metadata, redaction));
    let title = format!("Dead letter {id}");
    Ok(html(&Letter { frame: visit.frame(&title), letter, args, metadata }))
}

pub(crate) async fn replay(visit: &Visit) -> Answer {
    let id = DeadLetterId(visit.id()?);
    let job = visit.admin().replay(id).await?;
    visit.redirect(&format!("/dead/{id}"), &format!("Job {job} replays dead letter {id}."))
}

pub(crate) async fn edit_and_replay(visit: &Visit) -> Answer {
    let id = DeadLetterId(visit.id()?);
    let args: serde_json::Value = serde_json::from_str(visit.must("args")?)
        .map_err(|error| Failure::Invalid(format!("The payload is no JSON: {error}.")))?;
    let admin = visit.admin();
    let mut replay = admin.replay(id).args(args);
    if let Some(queue) = visit.field("queue") {
        replay = replay.queue(queue);
    }
    let job = replay.await?;
    let said = format!("Job {job} replays dead letter {id} with the new payload.");
    visit.redirect(&format!("/dead/{id}"), &said)
}

pub(crate) async fn discard(visit: &Visit) -> Answer {
    let id = DeadLetterId(visit.id()?);
    match visit.admin().discard_dead_letter(id).await? {
        DeadLetterDiscarded::Now => visit.redirect("/dead", &format!("Dead letter {id} is gone.")),
        DeadLetterDiscarded::Replaying => {
            Err(Failure::Conflict("A job replays it: cancel that job first.".into()))
        }
        _ => Err(Failure::NotFound),
    }
}
