//! Concurrency keys.

use std::time::Duration;

use clap::Subcommand;
use jobkit::admin::semaphores::{
    BlockedJob, Limited, PermitHolder, Rate, Semaphore, SemaphoreDetail, SemaphoreFilter,
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
    /// Lists keys with a permit taken, a job blocked, or a limit of their own
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
    /// Lists groups with their limits
    Groups,
    /// Shows who holds the permits of a key, and who waits for one
    Show { group: String, key: String },
    /// Limits how many jobs of a key, or of each key of a group, run at a time
    Limit {
        group: String,
        key: Option<String>,
        /// The limit, 0 to 1000000; 0 stops them
        #[arg(long, value_name = "NUMBER", required_unless_present = "reset")]
        to: Option<u32>,
        /// Restores the default limit
        #[arg(long, conflicts_with = "to")]
        reset: bool,
    },
    /// Limits how often jobs of a key, or of each key of a group, start
    Rate {
        group: String,
        key: Option<String>,
        /// The rate: 5/s, 100/min, 1000/h; or none
        #[arg(long, value_name = "RATE", required_unless_present = "reset")]
        to: Option<String>,
        /// How many may start at once after a rest [default: a second's worth]
        #[arg(long, requires = "to")]
        burst: Option<u32>,
        /// Restores the default rate
        #[arg(long, conflicts_with = "to")]
        reset: bool,
    },
    /// Pauses a key for a while: none of its jobs starts before then
    Pause {
        group: String,
        key: String,
        /// For how long: 90s, 10m
        #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
        pause: Duration,
        /// Why, for the audit
        #[arg(long)]
        reason: Option<String>,
    },
    /// Ends the pause of a key
    Resume { group: String, key: String },
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
            Self::Groups => groups(desk).await,
            Self::Show { group, key } => {
                let detail = desk.admin.semaphore(&group, &key).await?;
                let none = || {
                    let what = "has no permit taken, no job blocked and no limit of its own";
                    Failure::refused(format!("{group}/{key} {what}"))
                };
                Ok(whole(&detail.ok_or_else(none)?))
            }
            Self::Limit { group, key, to, .. } => limit(desk, &group, key.as_deref(), to).await,
            Self::Rate { group, key, to, burst, .. } => {
                rate(desk, &group, key.as_deref(), to.as_deref(), burst).await
            }
            Self::Pause { group, key, pause, reason } => {
                let reason = reason.as_deref();
                known(desk.admin.pause_key(&group, &key, pause, reason).await?, &group)?;
                let sentence = format!("{group}/{key} is paused for {pause:?}.");
                Ok(Answer::done(json!({"group": group, "key": key}), &sentence))
            }
            Self::Resume { group, key } => {
                let was = desk.admin.resume_key(&group, &key).await?;
                let now = if was { "is resumed" } else { "was not paused" };
                let sentence = format!("{group}/{key} {now}.");
                Ok(Answer::done(json!({"group": group, "key": key, "was_paused": was}), &sentence))
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

/// The rate of a key; or that it is paused.
fn pace(semaphore: &Semaphore) -> String {
    match (&semaphore.paused_until, semaphore.rate) {
        (Some(until), _) => format!("paused until {}", utc(until)),
        (None, rate) => rate.map(|rate| rate.to_string()).unwrap_or_default(),
    }
}

async fn groups(desk: &Desk) -> Answered {
    let groups = desk.admin.groups().await?;
    let items: Vec<_> = groups.iter().map(values::group).collect();
    let row = |group: &jobkit::admin::semaphores::ConcurrencyGroup| {
        let own = group.override_limit.map(|limit| limit.to_string());
        let rate = group.override_rate.unwrap_or(group.default_rate);
        let rate = rate.map(|rate| rate.to_string()).unwrap_or_default();
        let limit = match group.limiter {
            true => "limiter".to_owned(),
            false => limit_text(group.default_limit),
        };
        [group.name.clone(), limit, own.unwrap_or_default(), rate]
    };
    let text = table(["group", "default", "limit set", "rate"], groups.iter().map(row).collect());
    Ok(Answer::new(json!({"items": items}), text))
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

async fn limit(desk: &Desk, group: &str, key: Option<&str>, to: Option<u32>) -> Answered {
    let limited = match key {
        Some(key) => desk.admin.limit_key(group, key, to).await?,
        None => desk.admin.limit_group(group, to).await?,
    };
    known(limited, group)?;
    let what = key.map_or(group.to_owned(), |key| format!("{group}/{key}"));
    let sentence = match to {
        Some(limit) => format!("The limit of {what} is {limit}."),
        None => format!("The limit of {what} is its default again."),
    };
    Ok(Answer::done(json!({"group": group, "key": key, "limit": to}), &sentence))
}

fn known(limited: Limited, group: &str) -> Result<(), Failure> {
    match limited {
        Limited::UnknownGroup => {
            Err(Failure::refused(format!("no worker has announced the group {group}")))
        }
        _ => Ok(()),
    }
}

async fn rate(
    desk: &Desk,
    group: &str,
    key: Option<&str>,
    to: Option<&str>,
    burst: Option<u32>,
) -> Answered {
    let wrong = || Failure::refused("a rate looks like 5/s, 100/min or 1000/h, or is none");
    let parsed = |text: &str| match text {
        "none" => Ok(None),
        text => text.parse::<Rate>().map(Some).map_err(|_| wrong()),
    };
    let rate = to.map(parsed).transpose()?;
    let rate = rate.map(|rate| rate.map(|rate| burst.map_or(rate, |burst| rate.burst(burst))));
    let limited = match key {
        Some(key) => desk.admin.rate_key(group, key, rate).await?,
        None => desk.admin.rate_group(group, rate).await?,
    };
    known(limited, group)?;
    let what = key.map_or(group.to_owned(), |key| format!("{group}/{key}"));
    let sentence = match rate {
        Some(Some(rate)) => format!("The rate of {what} is {rate}."),
        Some(None) => format!("{what} has no rate."),
        None => format!("The rate of {what} is its default again."),
    };
    let rate = rate.flatten().map(|rate| rate.to_string());
    Ok(Answer::done(json!({"group": group, "key": key, "rate": rate}), &sentence))
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
