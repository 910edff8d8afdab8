//! A new job.

use std::time::Duration;

use chrono::{DateTime, Utc};
use jobkit::Admin;
use jobkit::admin::jobs::ByKind;
use jobkit::unique::{Enqueued, OnDuplicate, While};
use serde_json::{Value, json};

use super::answer::Answer;
use super::arguments;
use super::desk::{Answered, Desk};

#[derive(Debug, clap::Args)]
pub(super) struct Enqueue {
    /// The kind, which a worker must have announced
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
    /// The priority, -3 to 3; smaller numbers run first
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    priority: Option<i32>,
    /// How many attempts it gets, 1 to 1000
    #[arg(long, value_name = "NUMBER")]
    attempts: Option<i32>,
    /// Expires the job if it has not started this long after it was due, 1s to 366days
    #[arg(long, value_name = "TIME", value_parser = arguments::span)]
    expires: Option<Duration>,
    /// How long to keep retrying after the first failure, 1s to 366days
    #[arg(long, value_name = "TIME", value_parser = arguments::span)]
    retry_for: Option<Duration>,
    /// The concurrency key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The dead-letter key
    #[arg(long, value_name = "KEY")]
    dead_letter_key: Option<String>,
    /// A tag; may be repeated
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Metadata stored with the payload, as JSON
    #[arg(long, value_name = "JSON", value_parser = arguments::json)]
    metadata: Option<Value>,
    /// The version of the payload [default: 1]
    #[arg(long, value_name = "NUMBER")]
    payload_version: Option<u16>,
    /// A unique key, in place of the kind's own: enqueues nothing if another job holds the key
    #[arg(long, value_name = "KEY")]
    unique_key: Option<String>,
    /// The group of the unique key [default: the kind]
    #[arg(long, value_name = "GROUP", requires = "unique_key")]
    unique_group: Option<String>,
    /// While in which state the job holds the key: queued, running or unfinished
    /// [default: unfinished]
    #[arg(long, value_name = "STATE", requires = "unique_key")]
    unique_while: Option<While>,
    /// The minimum time that the job holds the key
    #[arg(long, value_name = "TIME", requires = "unique_key", value_parser = arguments::span)]
    unique_for: Option<Duration>,
    /// What a duplicate does: skip, replace, debounce or run_again [default: skip]
    #[arg(long, value_name = "WHAT", requires = "unique_key")]
    on_duplicate: Option<OnDuplicate>,
    /// The coalesce key: of all waiting jobs with this key, only the newest runs
    #[arg(long, value_name = "KEY", conflicts_with = "unique_key")]
    coalesce_key: Option<String>,
    /// The group of the coalesce key [default: the kind]
    #[arg(long, value_name = "GROUP", requires = "coalesce_key")]
    coalesce_group: Option<String>,
}

impl Enqueue {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        let job = self.job(&desk.admin);
        let enqueued = job.enqueue_unique().await?;
        let (id, answer) = (enqueued.id(), enqueued.as_str());
        let json = json!({"job": id.to_string(), "answer": answer});
        Ok(Answer::done(
            json,
            &match enqueued {
                Enqueued::New(_) => format!("Job {id} is enqueued."),
                Enqueued::Existing(_) => {
                    format!("Job {id} already has this key; nothing was enqueued.")
                }
                Enqueued::Replaced(_) => format!("Job {id} has this key and was changed."),
            },
        ))
    }

    /// The job that the arguments describe.
    fn job(self, admin: &Admin) -> ByKind<'_> {
        let mut job = self.timed(self.unique(admin.enqueue(&self.kind, self.args.clone())));
        if let Some(queue) = self.queue {
            job = job.queue(queue);
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
        job
    }

    /// Adds the options about time.
    fn timed<'a>(&self, mut job: ByKind<'a>) -> ByKind<'a> {
        if let Some(at) = self.at {
            job = job.at(at);
        }
        if let Some(after) = self.expires {
            job = job.expires(after);
        }
        if let Some(budget) = self.retry_for {
            job = job.retry_for(budget);
        }
        job
    }

    /// Adds the unique or coalesce key.
    fn unique<'a>(&self, mut job: ByKind<'a>) -> ByKind<'a> {
        if let Some(key) = &self.unique_key {
            job = job.unique_key(key);
        }
        if let Some(group) = &self.unique_group {
            job = job.unique_group(group);
        }
        if let Some(key) = &self.coalesce_key {
            job = job.coalesce_key(key);
        }
        if let Some(group) = &self.coalesce_group {
            job = job.coalesce_group(group);
        }
        if let Some(holds) = self.unique_while {
            job = job.unique_while(holds);
        }
        if let Some(at_least) = self.unique_for {
            job = job.unique_for(at_least);
        }
        if let Some(what) = self.on_duplicate {
            job = job.on_duplicate(what);
        }
        job
    }
}
