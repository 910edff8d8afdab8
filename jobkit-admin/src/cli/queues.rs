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
        /// Waits up to this long for running jobs to end; exits with status 1 if some still run
        #[arg(long, value_name = "TIME", value_parser = span)]
        wait: Option<Duration>,
    },
    /// Resumes a queue
    Resume { queue: String },
    /// Bounds how many jobs may wait in a queue; beyond that, enqueues are refused
    Bound {
        queue: String,
        /// How many may wait, 1 to 1000000, or `none`
        #[arg(value_name = "NUMBER", value_parser = most)]
        most: Most,
    },
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
            Self::Pause { queue, reason, wait: Some(wait) } => {
                brakes::pause(desk, &Scope::Queue(queue), &reason, Some(wait)).await
            }
            Self::Pause { queue, reason, .. } => {
                let changed = desk.admin.pause(&queue, "", &reason).await?;
                let now = if changed { "is" } else { "was already" };
                let sentence = format!("Queue {queue} {now} paused.");
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
            Self::Bound { queue, most: Most(most) } => {
                let before = desk.admin.bound_queue(&queue, most).await?;
                let sentence = match most {
                    Some(most) => format!("Queue {queue} is bounded to {most} waiting jobs."),
                    None => format!("Queue {queue} is not bounded."),
                };
                let json = json!({"queue": queue, "bound": most, "changed": before != most});
                Ok(Answer::done(json, &sentence))
            }
        }
    }
}

/// How many jobs may wait, if that is bounded.
#[derive(Debug, Clone, Copy)]
pub(super) struct Most(Option<u32>);

fn most(text: &str) -> Result<Most, String> {
    match text {
        "none" => Ok(Most(None)),
        number => match number.parse() {
            Ok(number @ 1..=1_000_000) => Ok(Most(Some(number))),
            _ => Err("a bound is a number from 1 to 1000000, or `none`".to_owned()),
        },
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
    let bound = queue.bound.as_ref().map(|bound| {
        let full = if bound.full_since.is_some() { "full, " } else { "" };
        format!("{full}{} of {} wait", bound.waiting, bound.most)
    });
    [
        queue.queue.clone(),
        count(&queue.ready),
        queue.ready_age.as_ref().map(show::span).unwrap_or_default(),
        running(queue),
        count(&queue.scheduled),
        count(&queue.blocked),
        [paused, bound].into_iter().flatten().collect::<Vec<_>>().join("; "),
    ]
}

/// Running jobs and slots, and jobs held by workers that are stopping or gone.
fn running(queue: &QueueSummary) -> String {
    let held = queue.stopping.number() + queue.gone.number();
    let held = if held == 0 { String::new() } else { format!(" +{held} held") };
    format!("{}/{}{held}", count(&queue.running), queue.capacity)
}
