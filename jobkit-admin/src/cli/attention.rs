//! What needs attention, and what is acknowledged.

use chrono::{DateTime, Utc};
use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use jobkit::admin::overview::Attention as Item;
use serde_json::json;

use super::answer::{Answer, Failure};
use super::arguments::Late;
use super::desk::{Answered, Desk};
use super::status;
use crate::format::overview;

#[derive(Debug, clap::Args)]
pub(super) struct Attention {
    #[command(subcommand)]
    command: Option<Act>,
    #[command(flatten)]
    late: Late,
}

/// One thing that needs attention.
#[derive(Debug, clap::Args)]
struct Which {
    /// The name of the item, as `attention` shows it
    #[arg(value_parser = PossibleValuesParser::new(Item::NAMES))]
    what: String,
    /// The subject: a queue, a key as group/key, or a worker; optional if there is only one
    #[arg(default_value = "", hide_default_value = true)]
    subject: String,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Lists what needs attention, and what is acknowledged (the default)
    List,
    /// Acknowledges an item until it happens again, for 30 days at most
    Acknowledge {
        #[command(flatten)]
        which: Which,
        /// The reason, for the audit log
        #[arg(long, default_value = "", value_name = "TEXT")]
        reason: String,
        /// When it was seen: 2026-01-31T12:00:00Z [default: now]
        #[arg(long, value_name = "TIME")]
        seen: Option<DateTime<Utc>>,
    },
    /// Withdraws an acknowledgement
    Unacknowledge {
        #[command(flatten)]
        which: Which,
    },
}

impl Attention {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self.command.unwrap_or(Act::List) {
            Act::List => {
                let now = self.late.of(&desk.admin).overview().await?;
                let json = overview::json(&now);
                let json = json!({
                    "at": json["at"], "items": json["attention"],
                    "acknowledged": json["acknowledged"],
                });
                let mut text: String = now.attention.iter().map(entry).collect();
                text.extend(now.acknowledged.iter().map(|it| status::acknowledged(it, now.at)));
                let text = if text.is_empty() { "Nothing needs attention.".into() } else { text };
                Ok(Answer::new(json, text))
            }
            Act::Acknowledge { which: Which { what, subject }, reason, seen } => {
                if !desk.admin.attention(&what, &subject).acknowledge(seen, &reason).await? {
                    return Err(Failure::none("such name"));
                }
                let of = if subject.is_empty() { "" } else { " of " };
                let sentence =
                    format!("{what}{of}{subject} is acknowledged until it happens again.");
                Ok(Answer::done(json!({"what": what, "subject": subject}), &sentence))
            }
            Act::Unacknowledge { which: Which { what, subject } } => {
                let changed = desk.admin.attention(&what, &subject).unacknowledge().await?;
                let sentence = match changed {
                    true => "It needs attention again.",
                    false => "It was not acknowledged.",
                };
                let json = json!({"what": what, "subject": subject, "changed": changed});
                Ok(Answer::done(json, sentence))
            }
        }
    }
}

/// An item, with the arguments that acknowledge it.
fn entry(item: &Item) -> String {
    let subject = item.subject();
    let subject = if subject.is_empty() { subject } else { format!(" {subject:?}") };
    format!("{}  acknowledge with: {}{subject}\n", status::line(item), item.name())
}
