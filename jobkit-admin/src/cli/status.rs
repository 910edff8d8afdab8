//! How it stands with the whole.

use std::time::Duration;

use jobkit::{Attention, Overview};

use super::answer::{fields, plain};
use super::{Answer, Answered, Desk};
use crate::api::values;
use crate::show::{ago, count, span, utc};

pub(super) async fn run(desk: &Desk) -> Answered {
    let now = desk.admin.overview().await?;
    Ok(Answer::new(values::overview(&now), text(&now)))
}

fn text(now: &Overview) -> String {
    let since = |word: &str, age: Option<Duration>| {
        age.map(|age| format!(", {word} {}", span(&age))).unwrap_or_default()
    };
    let next = now.next_run_at.map(|time| format!(", the next {}", ago(&time, &now.at)));
    let mut text = fields(vec![
        ("ready", count(&now.ready) + &since("the oldest for", now.ready_age)),
        ("running", format!("{} of {}", now.running, now.capacity)),
        ("scheduled", count(&now.scheduled) + &next.unwrap_or_default()),
        ("retrying", count(&now.retrying)),
        ("blocked", count(&now.blocked) + &since("the oldest for", now.blocked_age)),
        ("dead", count(&now.dead)),
    ]);
    if !now.attention.is_empty() {
        text.push_str("\nNeeds attention:\n");
    }
    for item in &now.attention {
        text.push_str(&format!("- {}\n", plain(&sentence(item))));
    }
    text
}

fn sentence(item: &Attention) -> String {
    match item {
        Attention::PausedQueue { queue, since, actor, reason, ready } => {
            let by = actor.as_ref().map(|actor| format!(" by {actor}")).unwrap_or_default();
            let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            format!("queue {queue} is paused{by} since {}, {} ready{why}", utc(since), count(ready))
        }
        Attention::KeyAtLimit { group, key, limit, taken, blocked, blocked_age } => format!(
            "{group}/{key} has {taken} of {limit} permits taken, {} blocked, the next for {}",
            count(blocked),
            span(blocked_age)
        ),
        Attention::LateWorker(worker) => format!(
            "worker {} ({:x}) is silent for {}, {} running",
            worker.name,
            worker.id,
            span(&worker.heartbeat_age),
            worker.running
        ),
        Attention::Unserved { queue, kind, announced, ready } => {
            let ever = if *announced { "" } else { ", and none has ever announced it" };
            format!("no live worker serves {kind} in {queue}{ever}: {} ready", count(ready))
        }
        Attention::StuckJob(stuck) => format!("job {}: {stuck}", stuck.job),
        Attention::DeadLetters { lately } => {
            format!("{} dead letters within the last hour", count(lately))
        }
        _ => "something that this binary does not know".to_owned(),
    }
}
