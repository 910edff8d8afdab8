//! Topics, and who subscribes to them.

use chrono::Utc;
use clap::Subcommand;
use jobkit::JobId;
use jobkit::admin::topics::Subscriber;
use serde_json::{Value, json};

use super::answer::{Answer, Failure, table};
use super::arguments;
use super::desk::{Answered, Desk};
use crate::format::show::ago;
use crate::format::topics;

#[derive(Debug, Subcommand)]
pub(super) enum Topics {
    /// Lists topics and the kinds that subscribe to them
    List,
    /// Publishes to a topic: enqueues a job for each kind that subscribes to it
    Publish {
        topic: String,
        /// The payload, as JSON
        #[arg(value_name = "JSON", default_value = "{}", value_parser = arguments::json)]
        args: Value,
        /// The version of the payload [default: 1]
        #[arg(long, value_name = "NUMBER")]
        payload_version: Option<u16>,
    },
    /// Unsubscribes a kind from a topic, until a worker announces it again
    Unsubscribe { topic: String, kind: String },
}

impl Topics {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self {
            Self::List => {
                let topics = desk.admin.topics().await?;
                let items: Vec<_> = topics.iter().map(topics::topic).collect();
                let rows = topics.iter().flat_map(|topic| {
                    topic.subscribers.iter().map(|subscriber| row(&topic.topic, subscriber))
                });
                let text = table(["topic", "kind", "workers", "announced"], rows.collect());
                Ok(Answer::new(json!({"items": items}), text))
            }
            Self::Publish { topic, args, payload_version } => {
                let jobs = desk.admin.topic(&topic).publish(&args, payload_version).await?;
                let jobs: Vec<_> = jobs.iter().map(JobId::to_string).collect();
                let sentence = match &*jobs {
                    [] => format!("No kind subscribes to {topic}: nothing was enqueued."),
                    [one] => format!("Job {one} is enqueued."),
                    many => format!("Jobs {} are enqueued.", many.join(", ")),
                };
                Ok(Answer::done(json!({"jobs": jobs}), &sentence))
            }
            Self::Unsubscribe { topic, kind } => {
                if !desk.admin.topic(&topic).unsubscribe(&kind).await? {
                    let none = format!("the kind {kind} does not subscribe to {topic}");
                    return Err(Failure::refused(none));
                }
                let sentence = format!("{kind} no longer subscribes to {topic}.");
                Ok(Answer::done(json!({"topic": topic, "kind": kind}), &sentence))
            }
        }
    }
}

fn row(topic: &str, subscriber: &Subscriber) -> [String; 4] {
    let Subscriber { kind, announced_at, workers, .. } = subscriber;
    [topic.to_owned(), kind.clone(), workers.to_string(), ago(announced_at, &Utc::now())]
}
