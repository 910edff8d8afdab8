//! What holds jobs back across all workers.

use std::time::Duration;

use clap::{Args, Subcommand};
use jobkit::admin::brakes::{Brake, Rate, Scope};
use serde_json::json;

use super::answer::{Answer, Failure, table};
use super::arguments::span;
use super::desk::{Answered, Desk};
use crate::format::values;

#[derive(Debug, Subcommand)]
pub(super) enum Brakes {
    /// Lists what is paused, or has a limit or a rate
    List,
    /// Pauses a queue, a kind or everything: no job starts; running jobs continue
    Pause {
        #[command(flatten)]
        what: What,
        /// The reason, for the audit
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
        /// Waits up to this long for running jobs to end; exits with status 1 if some still run
        #[arg(long, value_name = "TIME", value_parser = span)]
        wait: Option<Duration>,
    },
    /// Resumes a queue, a kind or everything
    Resume {
        #[command(flatten)]
        what: What,
    },
    /// Limits how many jobs of a queue or a kind run at a time, across all workers
    Limit {
        #[command(flatten)]
        what: What,
        /// The limit, 1 to 1000000
        #[arg(long, value_name = "NUMBER", required_unless_present = "reset")]
        to: Option<u32>,
        /// Removes the limit
        #[arg(long, conflicts_with = "to")]
        reset: bool,
    },
    /// Limits how often jobs of a queue or a kind start, across all workers
    Rate {
        #[command(flatten)]
        what: What,
        /// The rate: 5/s, 100/min, 1000/h
        #[arg(long, value_name = "RATE", required_unless_present = "reset")]
        to: Option<Rate>,
        /// How many may start at once [default: a second's worth]
        #[arg(long, value_name = "NUMBER")]
        burst: Option<u32>,
        /// Removes the rate
        #[arg(long, conflicts_with = "to")]
        reset: bool,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct What {
    /// A queue
    #[arg(long)]
    queue: Option<String>,
    /// A kind, in all versions
    #[arg(long)]
    kind: Option<String>,
    /// Everything
    #[arg(long)]
    all: bool,
}

impl What {
    fn scope(self) -> Scope {
        let kind = self.kind.map(Scope::Kind);
        self.queue.map(Scope::Queue).or(kind).unwrap_or(Scope::All)
    }
}

impl Brakes {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self {
            Self::List => {
                let brakes = desk.admin.brakes().await?;
                let items: Vec<_> = brakes.iter().map(values::brake).collect();
                let text = table(["what", "held back"], brakes.iter().map(row).collect());
                Ok(Answer::new(json!({"items": items}), text))
            }
            Self::Pause { what, reason, wait } => pause(desk, &what.scope(), &reason, wait).await,
            Self::Resume { what } => {
                let scope = what.scope();
                let changed = desk.admin.resume_scope(&scope).await?;
                let now = if changed { "is resumed" } else { "was not paused" };
                Ok(done(&scope, changed, &format!("{scope} {now}.")))
            }
            Self::Limit { what, to, .. } => {
                let scope = named(what)?;
                let before = desk.admin.limit_running(&scope, to).await?;
                let now = to.map_or("no limit".to_owned(), |to| format!("a limit of {to}"));
                Ok(done(&scope, before != to, &format!("{scope} has {now}.")))
            }
            Self::Rate { what, to, burst, .. } => {
                let scope = named(what)?;
                let rate = to.map(|rate| rate.burst(burst.unwrap_or(rate.burst)));
                desk.admin.limit_rate(&scope, rate).await?;
                let now = rate.map_or("no rate".to_owned(), |rate| format!("a rate: {rate}"));
                Ok(done(&scope, true, &format!("{scope} has {now}.")))
            }
        }
    }
}

/// Pauses something. Given a time, it waits at most that long for running jobs to end, and reports
/// how many still run.
pub(super) async fn pause(
    desk: &Desk,
    scope: &Scope,
    reason: &str,
    wait: Option<Duration>,
) -> Answered {
    let changed = desk.admin.pause_scope(scope, reason).await?;
    let now = if changed { "is" } else { "was already" };
    let sentence = format!("{scope} {now} paused.");
    let Some(within) = wait else {
        return Ok(done(scope, changed, &sentence));
    };
    let progress = |running: u32| eprintln!("{running} jobs are running");
    let running = desk.admin.wait_until_idle(scope, within, progress).await?;
    let rest = if running == 0 {
        "No jobs are running.".into()
    } else {
        format!("{running} still running.")
    };
    let json = json!({
        "scope": scope.word(), "name": scope.name(), "changed": changed, "running": running,
    });
    let sentence = capital(&format!("{sentence} {rest}"));
    Ok(Answer::done(json, &sentence).wrong(running > 0))
}

fn named(what: What) -> Result<Scope, Failure> {
    match what.scope() {
        Scope::All => Err(Failure::usage("only a queue or a kind can have a limit or a rate")),
        scope => Ok(scope),
    }
}

fn done(scope: &Scope, changed: bool, sentence: &str) -> Answer {
    let json = json!({"scope": scope.word(), "name": scope.name(), "changed": changed});
    Answer::done(json, &capital(sentence))
}

/// A sentence with its first letter large.
fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

fn row(brake: &Brake) -> [String; 2] {
    [brake.scope.to_string(), brake.to_string()]
}
