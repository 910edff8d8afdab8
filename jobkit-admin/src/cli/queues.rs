//! Queues.

use std::time::Duration;

use clap::Subcommand;
use jobkit::admin::brakes::Scope;
use jobkit::admin::queues::QueueSummary;
use serde_json::json;

use super::answer::{Answer, table};
use super::arguments::span;
use super::brakes;
use super::desk::{Answered, Desk};
use crate::format::show::{self, count};
use crate::format::values;

#[derive(Debug, Subcommand)]
pub(super) enum Queues {
    /// Lists queues
    List,
    /// Pauses a queue: no job starts; running jobs continue
    Pause {
        queue: String,
        /// The reason, for the audit
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
        /// Returns once nothing of it runs, or after this time with exit status 1
        #[arg(long, value_name = "TIME", value_parser = span)]
        wait: Option<Duration>,
    },
    /// Resumes a queue
    Resume { queue: String },
}

impl Queues {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self {
            Self::List => {
                let queues = desk.admin.queues().await?;
                let items: Vec<_> = queues.iter().map(values::queue).collect();
                let headings =
                    ["queue", "ready", "oldest", "running", "scheduled", "blocked", "paused"];
                let text = table(headings, queues.iter().map(row).collect());
                Ok(Answer::new(json!({"items": items}), text))
            }
            Self::Pause { queue, reason, wait: Some(wait) } => {
                brakes::pause(desk, &Scope::Queue(queue), &reason, Some(wait)).await
            }
            Self::Pause { queue, reason, .. } => {
                let changed = desk.admin.pause(&queue, "", &reason).await?;
                let before = if changed { "" } else { ", as it was before" };
                let sentence = format!("Queue {queue} is paused{before}.");
                Ok(Answer::done(json!({"queue": queue, "changed": changed}), &sentence))
            }
            Self::Resume { queue } => {
                let changed = desk.admin.resume(&queue).await?;
                let sentence = match changed {
                    true => format!("Queue {queue} is resumed."),
                    false => format!("Queue {queue} was not paused."),
                };
                Ok(Answer::done(json!({"queue": queue, "changed": changed}), &sentence))
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
    [
        queue.queue.clone(),
        count(&queue.ready),
        queue.ready_age.as_ref().map(show::span).unwrap_or_default(),
        format!("{}/{}", count(&queue.running), queue.capacity),
        count(&queue.scheduled),
        count(&queue.blocked),
        paused.unwrap_or_default(),
    ]
}
