//! Queues.

use clap::Subcommand;
use jobkit::admin::queues::QueueSummary;
use serde_json::json;

use super::answer::{Answer, table};
use super::desk::{Answered, Desk};
use crate::format::show::{self, count};
use crate::format::values;

#[derive(Debug, Subcommand)]
pub(super) enum Queues {
    /// Lists queues
    List,
}

impl Queues {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self {
            Self::List => {
                let queues = desk.admin.queues().await?;
                let items: Vec<_> = queues.iter().map(values::queue).collect();
                let headings =
                    ["queue", "ready", "oldest", "running", "scheduled", "blocked", "held"];
                let text = table(headings, queues.iter().map(row).collect());
                Ok(Answer::new(json!({"items": items}), text))
            }
        }
    }
}

fn row(queue: &QueueSummary) -> [String; 7] {
    let paused = queue.paused.as_ref().map(|pause| {
        let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let who = text(&pause.actor).map(|actor| format!("by {actor}"));
        let why = text(&pause.reason).map(|reason| format!("({reason})"));
        let words = [Some("paused".to_owned()), who, why];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    let waiting = queue.waiting.as_ref().map(|waiting| {
        let full = if waiting.full_since.is_some() { "full, " } else { "" };
        format!("{full}{} of {} waiting", waiting.counted, waiting.most)
    });
    [
        queue.queue.clone(),
        count(&queue.ready),
        queue.ready_age.as_ref().map(show::span).unwrap_or_default(),
        running(queue),
        count(&queue.scheduled),
        count(&queue.blocked),
        [paused, waiting].into_iter().flatten().collect::<Vec<_>>().join("; "),
    ]
}

/// Running jobs out of all slots, and jobs held by workers that are stopping or gone.
fn running(queue: &QueueSummary) -> String {
    let held = queue.stopping.number() + queue.gone.number();
    let held = if held == 0 { String::new() } else { format!(" +{held} held") };
    format!("{}/{}{held}", count(&queue.running), queue.capacity)
}
