//! What is limited or paused across all workers.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use jobkit::admin::limits::{Limit, LimitFilter, Limited, Rate, Scope, To};
use serde_json::{Value, json};

use super::answer::{Answer, Failure, fields, table};
use super::arguments::span;
use super::desk::{Answered, Desk};
use crate::format::change::Parts;
use crate::format::{show, values};

#[derive(Debug, Subcommand)]
pub(super) enum Limits {
    /// Lists what is limited or paused
    List {
        /// Only what is paused
        #[arg(long)]
        paused: bool,
    },
    /// Shows the limits and the pause in force for one target, and who set them
    Show {
        #[command(flatten)]
        target: Target,
    },
    /// Sets how many jobs run at a time, how often they start, and how many may wait
    Set {
        #[command(flatten)]
        target: Target,
        #[command(flatten)]
        to: Wanted,
    },
    /// Pauses a queue, a kind, a key or everything: no new job starts; running jobs continue
    Pause {
        #[command(flatten)]
        target: Target,
        /// The reason, for the audit log
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
        /// How long to pause a key: 90s, 10m
        #[arg(long = "for", value_name = "TIME", value_parser = span, requires = "key")]
        time: Option<Duration>,
        /// Waits up to this long for running jobs to end; exits with status 1 if some still run
        #[arg(long, value_name = "TIME", value_parser = span, conflicts_with = "key")]
        wait: Option<Duration>,
    },
    /// Ends a pause
    Resume {
        #[command(flatten)]
        target: Target,
    },
    /// Waits until no job of a queue or a kind is running; exits with status 1 if some still run
    Wait {
        #[command(flatten)]
        target: Target,
        /// The longest time to wait
        #[arg(long, value_name = "TIME", default_value = "5min", value_parser = span)]
        within: Duration,
    },
}

#[derive(Debug, Args)]
pub(super) struct Target {
    #[command(flatten)]
    of: Of,
    /// A key of the group or of the limiter
    #[arg(long, conflicts_with_all = ["queue", "kind", "all"])]
    key: Option<String>,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Of {
    /// A queue
    #[arg(long)]
    queue: Option<String>,
    /// A kind, all versions of it
    #[arg(long)]
    kind: Option<String>,
    /// A group of concurrency keys
    #[arg(long)]
    group: Option<String>,
    /// A limiter
    #[arg(long)]
    limiter: Option<String>,
    /// Everything
    #[arg(long)]
    all: bool,
}

impl Target {
    fn scope(self) -> Scope {
        let Of { queue, kind, group, limiter, .. } = self.of;
        match (self.key, group, limiter) {
            (Some(key), Some(group), _) | (Some(key), None, Some(group)) => {
                Scope::Key { group, key }
            }
            (None, Some(group), _) => Scope::Group(group),
            (None, _, Some(limiter)) => Scope::Limiter(limiter),
            _ => queue.map(Scope::Queue).or(kind.map(Scope::Kind)).unwrap_or(Scope::All),
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct Wanted {
    /// How many jobs may run at a time, 0 to 1000000; 0 stops them. For a group: per key
    #[arg(long, value_name = "NUMBER")]
    running: Option<u32>,
    /// How often jobs may start: 5/s, 100/min, 1000/h. For a group or a limiter: per key
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// How many jobs may start at once after an idle time [default: one second's worth]
    #[arg(long, value_name = "NUMBER", requires = "rate")]
    burst: Option<u32>,
    /// How many jobs may wait in a queue, 1 to 1000000; beyond that, enqueues are refused
    #[arg(long, value_name = "NUMBER")]
    waiting: Option<u32>,
    /// Removes these limits, even if the code sets them
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    none: Vec<Part>,
    /// Resets these limits to what the code sets
    #[arg(long, value_name = "WHAT", value_delimiter = ',')]
    reset: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Running,
    Rate,
    Waiting,
}

impl Wanted {
    fn parts(&self) -> Result<Parts, Failure> {
        Ok(Parts {
            running: self.part(Part::Running, self.running)?,
            rate: self.part(Part::Rate, self.rate)?,
            burst: self.burst,
            waiting: self.part(Part::Waiting, self.waiting)?,
        })
    }

    /// The new value of one part; it may be given only once.
    fn part<T>(&self, part: Part, value: Option<T>) -> Result<Option<To<T>>, Failure> {
        let none = self.none.contains(&part).then_some(To::NoLimit);
        let reset = self.reset.contains(&part).then_some(To::Reset);
        let mut said = value.map(To::Value).into_iter().chain(none).chain(reset);
        let first = said.next();
        if said.next().is_some() {
            let what = format!("{part:?}").to_lowercase();
            return Err(Failure::usage(format!("{what} is set more than once")));
        }
        Ok(first)
    }
}

impl Limits {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self {
            Self::List { paused } => list(desk, paused).await,
            Self::Show { target } => show_one(desk, target.scope()).await,
            Self::Set { target, to } => set(desk, target.scope(), &to).await,
            Self::Pause { target, reason, time, wait } => {
                let scope = target.scope();
                match (scope.key(), time) {
                    (Some(_), Some(time)) => pause_key(desk, scope, time, &reason).await,
                    (Some(_), None) => Err(Failure::usage("pausing a key needs a time: --for 10m")),
                    _ => pause(desk, scope, &reason, wait).await,
                }
            }
            Self::Resume { target } => {
                let scope = target.scope();
                let changed = desk.admin.limit(scope.clone()).resume().await?;
                let now = if changed { "is resumed" } else { "was not paused" };
                Ok(done(&scope, changed, &format!("{scope} {now}.")))
            }
            Self::Wait { target, within } => {
                let scope = target.scope();
                let running = idle(desk, &scope, within).await?;
                let mut json = named(&scope);
                json["running"] = running.into();
                Ok(Answer::done(json, &rest(running)).wrong(running > 0))
            }
        }
    }
}

async fn list(desk: &Desk, paused: bool) -> Answered {
    let filter = LimitFilter::all();
    let filter = if paused { filter.paused() } else { filter };
    let limits = desk.admin.limits(&filter).await?;
    let items: Vec<_> = limits.iter().map(values::limit).collect();
    let row = |limit: &Limit| {
        [limit.scope.to_string(), limit.to_string(), show::said_by(limit).to_owned()]
    };
    let text = table(["what", "limit", "set by"], limits.iter().map(row).collect());
    Ok(Answer::new(json!({"items": items}), text))
}

async fn show_one(desk: &Desk, scope: Scope) -> Answered {
    let limit = desk.admin.limit(scope.clone()).get().await?;
    let limit = limit.ok_or_else(|| unknown(&scope))?;
    let said = |value: Option<String>, by: &str| match value {
        Some(value) => format!("{value} (by {by})"),
        None => format!("none (by {by})"),
    };
    let number = |number: Option<u32>| number.map(|number| number.to_string());
    let nothing = || "not set".to_owned();
    let running = limit.running.map(|it| said(number(it.value), it.by.as_str()));
    let rate = limit.rate.map(|it| said(it.value.map(|rate| rate.to_string()), it.by.as_str()));
    let waiting = limit.waiting.map(|it| said(number(it.value), it.by.as_str()));
    let paused =
        limit.paused.as_ref().map_or_else(|| "no".to_owned(), |pause| format!("yes{pause}"));
    let text = fields(vec![
        ("what", scope.to_string()),
        ("running", running.unwrap_or_else(nothing)),
        ("rate", rate.unwrap_or_else(nothing)),
        ("waiting", waiting.unwrap_or_else(nothing)),
        ("paused", paused),
        ("running now", number(limit.runs).unwrap_or_default()),
        ("waiting now", number(limit.waits).unwrap_or_default()),
    ]);
    Ok(Answer::new(values::limit(&limit), text))
}

async fn set(desk: &Desk, scope: Scope, to: &Wanted) -> Answered {
    let change = to.parts()?.change().map_err(Failure::usage)?;
    let handle = desk.admin.limit(scope.clone());
    let limited = handle.set(&change).await?;
    if limited == Limited::Unknown {
        return Err(unknown(&scope));
    }
    let now = handle.get().await?.map(|limit| limit.to_string());
    let now = now.filter(|now| !now.is_empty()).unwrap_or_else(|| "no limit".to_owned());
    Ok(done(&scope, limited == Limited::Changed, &format!("{scope}: {now}.")))
}

async fn pause_key(desk: &Desk, scope: Scope, time: Duration, reason: &str) -> Answered {
    let limited = desk.admin.limit(scope.clone()).pause_for(time, reason).await?;
    if limited == Limited::Unknown {
        return Err(unknown(&scope));
    }
    let sentence = format!("{scope} is paused for {time:?}.");
    Ok(done(&scope, limited == Limited::Changed, &sentence))
}

/// Pauses something. If a time is given, waits at most that long for running jobs to end, and
/// reports how many are still running.
async fn pause(desk: &Desk, scope: Scope, reason: &str, wait: Option<Duration>) -> Answered {
    let changed = desk.admin.limit(scope.clone()).pause(reason).await?;
    let now = if changed { "is" } else { "was already" };
    let sentence = format!("{scope} {now} paused.");
    let Some(within) = wait else {
        return Ok(done(&scope, changed, &sentence));
    };
    let running = idle(desk, &scope, within).await?;
    let mut json = named(&scope);
    json["changed"] = changed.into();
    json["running"] = running.into();
    let sentence = show::capital(&format!("{sentence} {}", rest(running)));
    Ok(Answer::done(json, &sentence).wrong(running > 0))
}

/// Waits until none of its jobs is running, and reports how many are meanwhile.
async fn idle(desk: &Desk, scope: &Scope, within: Duration) -> Result<u32, Failure> {
    let progress = |running: u32| eprintln!("{running} jobs are running");
    Ok(desk.admin.limit(scope.clone()).wait_until_idle(within, progress).await?)
}

fn rest(running: u32) -> String {
    if running == 0 { "No jobs are running.".into() } else { format!("{running} still running.") }
}

fn unknown(scope: &Scope) -> Failure {
    let what = if matches!(scope, Scope::Limiter(_)) { "limiter" } else { "group" };
    Failure::refused(format!("no worker has announced the {what} {}", scope.name()))
}

fn named(scope: &Scope) -> Value {
    json!({"scope": scope.word(), "name": scope.name(), "key": scope.key()})
}

fn done(scope: &Scope, changed: bool, sentence: &str) -> Answer {
    let mut json = named(scope);
    json["changed"] = changed.into();
    Answer::done(json, &show::capital(sentence))
}
