//! What can be done.

use jobkit::JobId;
use jobkit::admin::dead_letters::{DeadLetterDiscarded, DeadLetterId};
use jobkit::admin::jobs::{Cancelled, Rescheduled};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{answer, body, done};
use crate::failure::Failure;
use crate::pages::concurrency::said;
use crate::router::Answer;
use crate::visit::Visit;
use crate::wanted::time;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Queue {
    queue: String,
    #[serde(default)]
    reason: String,
}

pub(super) async fn pause(visit: &Visit) -> Answer {
    let Queue { queue, reason } = body(visit)?;
    visit.admin().pause(&queue, "", &reason).await?;
    Ok(done())
}

pub(super) async fn resume(visit: &Visit) -> Answer {
    let Queue { queue, .. } = body(visit)?;
    visit.admin().resume(&queue).await?;
    Ok(done())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupLimit {
    group: String,
    limit: Option<u32>,
}

pub(super) async fn limit_group(visit: &Visit) -> Answer {
    let GroupLimit { group, limit } = body(visit)?;
    said(visit.admin().limit_group(&group, limit).await?)?;
    Ok(done())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyLimit {
    group: String,
    key: String,
    limit: Option<u32>,
}

pub(super) async fn limit_key(visit: &Visit) -> Answer {
    let KeyLimit { group, key, limit } = body(visit)?;
    said(visit.admin().limit_key(&group, &key, limit).await?)?;
    Ok(done())
}

/// What became of a job that was to end.
fn ended(cancelled: Cancelled) -> Answer {
    match cancelled {
        Cancelled::Now => Ok(answer(json!({"ended": true}))),
        Cancelled::NotFound => Err(Failure::NotFound),
        _ => Ok(answer(json!({"ended": false, "requested": true}))),
    }
}

pub(super) async fn cancel(visit: &Visit) -> Answer {
    ended(visit.admin().cancel(JobId(visit.id()?)).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    #[serde(default)]
    reason: String,
}

pub(super) async fn discard(visit: &Visit) -> Answer {
    let Reason { reason } = body(visit)?;
    ended(visit.admin().discard(JobId(visit.id()?), &reason).await?)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTime {
    at: Option<String>,
}

pub(super) async fn reschedule(visit: &Visit) -> Answer {
    let at = body::<NewTime>(visit)?.at.as_deref().map(time).transpose()?;
    match visit.admin().reschedule(JobId(visit.id()?), at).await? {
        Rescheduled::Moved => Ok(done()),
        Rescheduled::NotFound => Err(Failure::NotFound),
        Rescheduled::Running => Err(Failure::Conflict("It runs.".into())),
        _ => Err(Failure::Conflict("It is being cancelled.".into())),
    }
}

pub(super) async fn replay(visit: &Visit) -> Answer {
    let job = visit.admin().replay(DeadLetterId(visit.id()?)).await?;
    Ok(answer(json!({"job": job.to_string()})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edited {
    args: Value,
    queue: Option<String>,
}

pub(super) async fn edit_and_replay(visit: &Visit) -> Answer {
    let Edited { args, queue } = body(visit)?;
    let admin = visit.admin();
    let mut replay = admin.replay(DeadLetterId(visit.id()?)).args(args);
    if let Some(queue) = queue {
        replay = replay.queue(queue);
    }
    Ok(answer(json!({"job": replay.await?.to_string()})))
}

pub(super) async fn discard_dead_letter(visit: &Visit) -> Answer {
    match visit.admin().discard_dead_letter(DeadLetterId(visit.id()?)).await? {
        DeadLetterDiscarded::Now => Ok(done()),
        DeadLetterDiscarded::NotFound => Err(Failure::NotFound),
        _ => Err(Failure::Conflict("A job replays it: cancel that job first.".into())),
    }
}
