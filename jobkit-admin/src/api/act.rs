//! Actions.

use std::time::Duration;

use jobkit::JobId;
use jobkit::admin::dead_letters::{DeadLetterDiscarded, DeadLetterId};
use jobkit::admin::jobs::{Cancelled, Rescheduled};
use serde::Deserialize;
use serde_json::{Value, json};

use super::json::{answer, body, done};
use crate::context::Context;
use crate::failure::{Answer, Failure};
use crate::format::show::iso;
use crate::request::time::time;

/// Reports whether a job has ended or was asked to stop.
fn ended(cancelled: Cancelled) -> Answer {
    match cancelled {
        Cancelled::Now => Ok(answer(json!({"ended": true}))),
        Cancelled::NotFound => Err(Failure::NotFound),
        _ => Ok(answer(json!({"ended": false, "requested": true}))),
    }
}

pub(crate) async fn cancel(context: &Context) -> Answer {
    ended(context.admin().job(JobId(context.request.id()?)).cancel().await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    #[serde(default)]
    reason: String,
}

pub(crate) async fn discard(context: &Context) -> Answer {
    let Reason { reason } = body(context)?;
    ended(context.admin().job(JobId(context.request.id()?)).discard(&reason).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTime {
    at: Option<String>,
}

pub(crate) async fn reschedule(context: &Context) -> Answer {
    let at = body::<NewTime>(context)?.at.as_deref().map(time).transpose()?;
    match context.admin().job(JobId(context.request.id()?)).reschedule(at).await? {
        Rescheduled::Moved => Ok(done()),
        Rescheduled::NotFound => Err(Failure::NotFound),
        Rescheduled::Running => Err(Failure::Conflict("The job is running.".into())),
        _ => Err(Failure::Conflict("The job is being cancelled.".into())),
    }
}

pub(crate) async fn replay(context: &Context) -> Answer {
    let job = context.admin().dead_letter(DeadLetterId(context.request.id()?)).replay().await?;
    Ok(answer(json!({"job": job.to_string()})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edited {
    args: Value,
    queue: Option<String>,
}

pub(crate) async fn edit_and_replay(context: &Context) -> Answer {
    let Edited { args, queue } = body(context)?;
    let admin = context.admin();
    let mut replay = admin.dead_letter(DeadLetterId(context.request.id()?)).replay().args(args);
    if let Some(queue) = queue {
        replay = replay.queue(queue);
    }
    Ok(answer(json!({"job": replay.await?.to_string()})))
}

pub(crate) async fn discard_dead_letter(context: &Context) -> Answer {
    match context.admin().dead_letter(DeadLetterId(context.request.id()?)).discard().await? {
        DeadLetterDiscarded::Now => Ok(done()),
        DeadLetterDiscarded::NotFound => Err(Failure::NotFound),
        _ => {
            let text = "A job is replaying this dead letter: cancel that job first.";
            Err(Failure::Conflict(text.into()))
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Note {
    fingerprint: String,
    note: String,
}

pub(crate) async fn note_cause(context: &Context) -> Answer {
    let Note { fingerprint, note } = body(context)?;
    context.admin().cause(&fingerprint).note(&note).await?;
    Ok(done())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mute {
    fingerprint: String,
    /// How long; `null` ends it.
    seconds: Option<u64>,
}

pub(crate) async fn mute_cause(context: &Context) -> Answer {
    let Mute { fingerprint, seconds } = body(context)?;
    let admin = context.admin();
    let cause = admin.cause(&fingerprint);
    let until = match seconds.map(Duration::from_secs) {
        Some(time) => Some(cause.mute(time).await?),
        None => cause.unmute().await.map(|()| None)?,
    };
    Ok(answer(json!({"muted_until": until.as_ref().map(iso)})))
}
