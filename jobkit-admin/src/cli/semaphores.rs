//! Concurrency keys.

use clap::Subcommand;
use jobkit::admin::semaphores::{
    BlockedJob, PermitHolder, Semaphore, SemaphoreDetail, SemaphoreFilter,
};
use jobkit::policy::Concurrency;
use serde_json::{Value, json};

use super::answer::{Answer, Failure, lines, table};
use super::arguments::Rows;
use super::desk::{Answered, Desk};
use crate::format::show::{self, bounded, iso, utc};
use crate::format::values;

#[derive(Debug, Subcommand)]
pub(super) enum Semaphores {
    /// Lists keys that have permits taken, blocked jobs, or their own limit
    List {
        /// Only keys of this group
        #[arg(long)]
        group: Option<String>,
        /// Only keys with no permit left
        #[arg(long)]
        at_limit: bool,
        /// Only keys with blocked jobs
        #[arg(long)]
        blocked: bool,
        #[command(flatten)]
        rows: Rows,
        /// Continues after this key
        #[arg(long, num_args = 2, value_names = ["GROUP", "KEY"])]
        after: Vec<String>,
    },
    /// Shows which jobs hold permits of a key, and which wait for one
    Show { group: String, key: String },
}

impl Semaphores {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self {
            Self::List { group, at_limit, blocked, rows, after } => {
                let mut filter = SemaphoreFilter::all();
                filter = group.into_iter().fold(filter, SemaphoreFilter::group);
                filter = if at_limit { filter.at_limit() } else { filter };
                filter = if blocked { filter.blocked() } else { filter };
                let after = after.first().zip(after.get(1));
                let after = after.map(|(group, key)| (&**group, &**key));
                let found = desk.admin.semaphores(&filter, after, rows.limit).await?;
                Ok(listed(&found, rows.limit))
            }
            Self::Show { group, key } => {
                let detail = desk.admin.semaphore(&group, &key).await?;
                let none = || {
                    let what = "has no permits taken, no blocked jobs and no limit of its own";
                    Failure::refused(format!("{group}/{key} {what}"))
                };
                Ok(whole(&detail.ok_or_else(none)?))
            }
        }
    }
}

fn listed(found: &[Semaphore], limit: u32) -> Answer {
    let last = found.last().filter(|_| found.len() == limit as usize);
    let next = last.map(|last| json!([last.group, last.key]));
    let items: Vec<_> = found.iter().map(values::semaphore).collect();
    let headings = ["group", "key", "taken", "limit", "rate", "blocked", "since"];
    let mut text = table(headings, found.iter().map(row).collect());
    if let Some(last) = last {
        let more = format!("\nMore may follow: --after '{}' '{}'\n", last.group, last.key);
        text.push_str(&lines(&more));
    }
    Answer::new(json!({"items": items, "next": next}), text)
}

fn row(semaphore: &Semaphore) -> [String; 7] {
    let own = if semaphore.override_limit.is_some() { " (its own)" } else { "" };
    [
        semaphore.group.clone(),
        semaphore.key.clone(),
        semaphore.taken.to_string(),
        limit_text(semaphore.limit) + own,
        pace(semaphore),
        bounded(&semaphore.blocked),
        semaphore.blocked_since.as_ref().map(utc).unwrap_or_default(),
    ]
}

fn limit_text(limit: u32) -> String {
    if limit == Concurrency::UNLIMITED { "none".to_owned() } else { limit.to_string() }
}

/// The rate of a key, or until when it is paused.
fn pace(semaphore: &Semaphore) -> String {
    match (&semaphore.paused_until, semaphore.rate) {
        (Some(until), _) => format!("paused until {}", utc(until)),
        (None, rate) => rate.map(|rate| rate.to_string()).unwrap_or_default(),
    }
}

fn whole(detail: &SemaphoreDetail) -> Answer {
    let holders: Vec<Value> = detail.holders.iter().map(holder).collect();
    let blocked: Vec<Value> = detail.blocked.iter().map(blocked_job).collect();
    let mut json = values::semaphore(&detail.semaphore);
    json["holders"] = holders.into();
    json["blocked_jobs"] = blocked.into();
    let headings = ["group", "key", "taken", "limit", "rate", "blocked", "since"];
    let mut text = table(headings, vec![row(&detail.semaphore)]);
    text.push_str("\nPermits held by:\n");
    let holders = detail.holders.iter().map(|holder| {
        let worker = holder.worker.as_ref().map(show::worker);
        [holder.job.to_string(), worker.unwrap_or_default(), utc(&holder.since)]
    });
    text.push_str(&table(["job", "worker", "since"], holders.collect()));
    text.push_str("\nWaiting for permits:\n");
    let blocked = detail
        .blocked
        .iter()
        .map(|job| [job.job.to_string(), job.kind.clone(), job.queue.clone(), utc(&job.since)]);
    text.push_str(&table(["job", "kind", "queue", "since"], blocked.collect()));
    Answer::new(json, text)
}

fn holder(holder: &PermitHolder) -> Value {
    json!({
        "job": holder.job.to_string(),
        "worker": holder.worker.as_ref().map(show::worker),
        "since": iso(&holder.since),
    })
}

fn blocked_job(job: &BlockedJob) -> Value {
    json!({
        "job": job.job.to_string(),
        "kind": job.kind,
        "queue": job.queue,
        "priority": job.priority,
        "since": iso(&job.since),
    })
}
