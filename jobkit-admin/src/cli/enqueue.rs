//! A new job.

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::answer::{Answer, Failure};
use super::arguments;
use super::desk::{Answered, Desk};

#[derive(Debug, clap::Args)]
pub(super) struct Enqueue {
    /// Its kind, one that a binary has announced
    kind: String,
    /// The payload, as JSON
    #[arg(value_name = "JSON", default_value = "{}", value_parser = arguments::json)]
    args: Value,
    /// The queue to wait in
    #[arg(long)]
    queue: Option<String>,
    /// Not before this time: 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    at: Option<DateTime<Utc>>,
    /// -3 to 3; a smaller number runs first
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    priority: Option<i32>,
    /// How many attempts it gets, 1 to 1000
    #[arg(long, value_name = "NUMBER")]
    attempts: Option<i32>,
    /// Its concurrency key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Its dead-letter key
    #[arg(long, value_name = "KEY")]
    dead_letter_key: Option<String>,
    /// A tag; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// What travels with it beside the payload, as JSON
    #[arg(long, value_name = "JSON", value_parser = arguments::json)]
    metadata: Option<Value>,
    /// The version of the payload [default: 1]
    #[arg(long, value_name = "NUMBER")]
    payload_version: Option<u16>,
}

impl Enqueue {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        let mut job = desk.admin.enqueue(self.kind, self.args);
        if let Some(queue) = self.queue {
            job = job.queue(queue);
        }
        if let Some(at) = self.at {
            job = job.at(at);
        }
        if let Some(priority) = self.priority {
            job = job.priority(priority);
        }
        if let Some(attempts) = self.attempts {
            job = job.max_attempts(attempts);
        }
        if let Some(key) = self.key {
            job = job.concurrency_key(key);
        }
        if let Some(key) = self.dead_letter_key {
            job = job.dead_letter_key(key);
        }
        if !self.tag.is_empty() {
            job = job.tags(self.tag);
        }
        if let Some(metadata) = self.metadata {
            job = job.metadata(metadata);
        }
        if let Some(version) = self.payload_version {
            job = job.version(version);
        }
        let id = job.await.map_err(|error| Failure::refused(error.to_string()))?;
        let json = json!({"job": id.to_string()});
        Ok(Answer::done(json, &format!("Job {id} is enqueued.")))
    }
}
