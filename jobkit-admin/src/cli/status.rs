//! The status of the whole queue.

use std::time::Duration;

use jobkit::admin::overview::Overview;

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
        text.push_str(&format!("- {}: {}\n", plain(&item.found()), item.advice()));
    }
    text
}
