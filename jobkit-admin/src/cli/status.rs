//! The status of the whole system.

use std::time::Duration;

use chrono::{DateTime, Utc};
use jobkit::admin::overview::{Acknowledged, Attention, Overview};

use super::answer::{Answer, fields, plain};
use super::arguments::Late;
use super::desk::{Answered, Desk};
use crate::format::overview;
use crate::format::show::{ago, count, span};

#[derive(Debug, clap::Args)]
pub(super) struct Status {
    #[command(flatten)]
    late: Late,
}

impl Status {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        let now = self.late.of(&desk.admin).overview().await?;
        Ok(Answer::new(overview::json(&now), text(&now)))
    }
}

fn text(now: &Overview) -> String {
    let since = |word: &str, age: Option<Duration>| {
        age.map(|age| format!(", {word} {}", span(&age))).unwrap_or_default()
    };
    let next = now.next_run_at.map(|time| format!(", the next {}", ago(&time, &now.at)));
    let mut text = fields(vec![
        ("ready", count(&now.ready) + &since("the oldest for", now.ready_age)),
        ("running", running(now)),
        ("scheduled", count(&now.scheduled) + &next.unwrap_or_default()),
        ("retrying", count(&now.retrying)),
        ("blocked", count(&now.blocked) + &since("the oldest for", now.blocked_age)),
        ("dead", count(&now.dead)),
    ]);
    if !now.attention.is_empty() {
        text.push_str("\nNeeds attention:\n");
    }
    for item in &now.attention {
        text.push_str(&line(item));
    }
    if !now.acknowledged.is_empty() {
        text.push_str("\nAcknowledged:\n");
    }
    for known in &now.acknowledged {
        text.push_str(&acknowledged(known, now.at));
    }
    text
}

/// Running jobs out of all slots, and jobs held by workers that are stopping or gone.
fn running(now: &Overview) -> String {
    let held = |number: u32, by: &str| match number {
        0 => String::new(),
        number => format!(", {number} held by workers that are {by}"),
    };
    let (stopping, gone) = (held(now.stopping, "stopping"), held(now.gone, "gone"));
    format!("{} of {}{stopping}{gone}", now.running, now.capacity)
}

/// Its severity, its name, what was found and what to do.
pub(super) fn line(item: &Attention) -> String {
    let severity = item.severity().as_str().to_uppercase();
    format!("- {severity} {}: {}; {}\n", item.name(), plain(&item.found()), item.advice())
}

/// An acknowledged item, with who acknowledged it and when.
pub(super) fn acknowledged(known: &Acknowledged, now: DateTime<Utc>) -> String {
    let Acknowledged { item, actor, reason, at, .. } = known;
    let by = actor.as_ref().map(|actor| format!(" by {actor}")).unwrap_or_default();
    let why = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let said = format!("{} (acknowledged {}{by}{why})", item.found(), ago(at, &now));
    format!("- {}: {}\n", item.name(), plain(&said))
}
