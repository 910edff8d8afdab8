//! Schedules.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use jobkit::admin::schedules::{
    ScheduleEdit, ScheduleError, ScheduleRun, ScheduleSummary, ScheduledJob,
};
use jobkit::schedule::{CatchUp, Overlap, Schedule};
use serde_json::{Value, json};

use super::answer::{Answer, Failure, table};
use super::desk::{Answered, Desk};
use crate::format::show::{span, utc};
use crate::format::{invisible, recurring};

#[derive(Debug, Subcommand)]
pub(super) enum Schedules {
    /// Lists schedules
    List {
        /// Continues after this name
        #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
        after: String,
        /// The most rows to list
        #[arg(long, value_name = "NUMBER", default_value_t = 200)]
        limit: u32,
    },
    /// Shows a schedule with its payload, as JSON
    Show { name: String },
    /// Lists the runs of a schedule, fired or skipped, the latest first
    Runs {
        name: String,
        /// The most rows to list
        #[arg(long, value_name = "NUMBER", default_value_t = 50)]
        limit: u32,
    },
    /// Creates a schedule that deploys do not change
    Create {
        name: String,
        /// When: '0 3 * * * Europe/Berlin', '@daily', 'every 15m'
        times: String,
        /// The kind of the jobs
        kind: String,
        /// The payload of the jobs, as JSON
        #[arg(default_value = "{}")]
        args: String,
        /// The concurrency key of the jobs
        #[arg(long, value_name = "TEXT")]
        concurrency_key: Option<String>,
        #[command(flatten)]
        rules: Rules,
    },
    /// Changes a schedule; deploys do not undo the change
    Edit {
        name: String,
        /// When: '0 3 * * * Europe/Berlin', '@daily', 'every 15m'
        #[arg(long, value_name = "TEXT")]
        times: Option<String>,
        /// The payload of the jobs, as JSON
        #[arg(long, value_name = "JSON")]
        args: Option<String>,
        #[command(flatten)]
        rules: Rules,
    },
    /// Pauses a schedule: runs that come due are recorded as skipped
    Pause {
        name: String,
        /// The reason, for the audit log
        #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
        reason: String,
    },
    /// Resumes a schedule; runs skipped during the pause stay skipped
    Resume { name: String },
    /// Enqueues a job of the schedule now
    Run { name: String },
    /// Deletes a schedule; its jobs and history are kept
    Delete { name: String },
}

/// Further settings of a schedule.
#[derive(Debug, Args)]
pub(super) struct Rules {
    /// The queue of the jobs
    #[arg(long, value_name = "NAME")]
    queue: Option<String>,
    /// The priority of the jobs, -3 (first) to 3
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    priority: Option<i32>,
    /// Which missed runs to catch up on
    #[arg(long, value_name = "WHICH")]
    catch_up: Option<Which>,
    /// With --catch-up all: at most this many
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    catch_up_max: u32,
    /// With --catch-up all: only runs overdue by no more than this
    #[arg(long, value_name = "TIME", default_value = "1d")]
    catch_up_window: humantime::Duration,
    /// Skips a run while the job of an earlier one has not ended (true or false)
    #[arg(long, value_name = "BOOL")]
    skip_if_running: Option<bool>,
    /// Delays each job by a random time up to this
    #[arg(long, value_name = "TIME")]
    jitter: Option<humantime::Duration>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Which {
    None,
    Latest,
    All,
}

impl Rules {
    fn catch_up(&self) -> Option<CatchUp> {
        Some(match self.catch_up? {
            Which::None => CatchUp::None,
            Which::Latest => CatchUp::Latest,
            Which::All => {
                CatchUp::All { max: self.catch_up_max, window: self.catch_up_window.into() }
            }
        })
    }

    fn overlap(&self) -> Option<Overlap> {
        let skip = self.skip_if_running?;
        Some(if skip { Overlap::SkipIfRunning } else { Overlap::Allow })
    }

    fn jitter(&self) -> Option<Duration> {
        self.jitter.map(Into::into)
    }
}

impl From<ScheduleError> for Failure {
    fn from(error: ScheduleError) -> Self {
        match error {
            ScheduleError::Failed(error) => error.into(),
            refused => Self::refused(refused.to_string()),
        }
    }
}

impl Schedules {
    pub(super) async fn run(self, desk: &Desk) -> Answered {
        match self {
            Self::List { after, limit } => {
                let found = desk.admin.schedules(&after, limit).await?;
                let items: Vec<_> = found.iter().map(recurring::schedule).collect();
                let headings = ["schedule", "times", "kind", "next", "last", "missed", "state"];
                let text = table(headings, found.iter().map(row).collect());
                Ok(Answer::new(json!({"items": items}), text))
            }
            Self::Show { name } => {
                let found = desk.admin.schedule(&name).get().await?;
                let found = found.ok_or_else(|| Failure::none("such schedule"))?;
                let text = recurring::schedule_detail(&found, Some(desk.redaction));
                // Both forms are JSON, in which an escape stands for the same character.
                Ok(Answer::new(&text, invisible::escaped_in(&text)))
            }
            Self::Runs { name, limit } => {
                let found = desk.admin.schedule(&name).runs(None, limit).await?;
                let items: Vec<_> = found.iter().map(recurring::schedule_run).collect();
                let text = table(["instant", "job", "skipped"], found.iter().map(run).collect());
                Ok(Answer::new(json!({"items": items}), text))
            }
            Self::Create { name, times, kind, args, concurrency_key, rules } => {
                create(desk, &name, times, (kind, args, concurrency_key), &rules).await
            }
            Self::Edit { name, times, args, rules } => edit(desk, &name, times, args, &rules).await,
            act => act.act(desk).await,
        }
    }

    async fn act(self, desk: &Desk) -> Answered {
        let none = || Failure::none("such schedule");
        let (name, sentence) = match self {
            Self::Pause { name, reason } => {
                desk.admin.schedule(&name).pause(&reason).await?.ok_or_else(none)?;
                let sentence = format!("Schedule {name} is paused.");
                (name, sentence)
            }
            Self::Resume { name } => {
                desk.admin.schedule(&name).resume().await?.ok_or_else(none)?;
                let sentence = format!("Schedule {name} is not paused.");
                (name, sentence)
            }
            Self::Run { name } => {
                let job = desk.admin.schedule(&name).run().await?.ok_or_else(none)?;
                let sentence = format!("Job {job} is enqueued.");
                let told = json!({"schedule": name, "job": job.to_string()});
                return Ok(Answer::done(told, &sentence));
            }
            Self::Delete { name } => {
                if !desk.admin.schedule(&name).delete().await? {
                    return Err(none());
                }
                let sentence = format!("Schedule {name} is deleted.");
                (name, sentence)
            }
            _ => return Ok(Answer::nothing()),
        };
        Ok(Answer::done(json!({"schedule": name}), &sentence))
    }
}

fn payload(text: &str) -> Result<Value, Failure> {
    crate::format::json::read(text.as_bytes())
        .map_err(|error| Failure::usage(format!("the payload is not JSON: {error}")))
}

async fn create(
    desk: &Desk,
    name: &str,
    times: String,
    (kind, args, key): (String, String, Option<String>),
    rules: &Rules,
) -> Answered {
    let mut job = ScheduledJob::new(kind, payload(&args)?);
    if let Some(key) = key {
        job = job.concurrency_key(key);
    }
    if let Some(queue) = &rules.queue {
        job = job.queue(queue);
    }
    if let Some(priority) = rules.priority {
        job = job.priority(priority);
    }
    let schedule = Schedule::new(times)
        .catch_up(rules.catch_up().unwrap_or_default())
        .overlap(rules.overlap().unwrap_or_default())
        .jitter(rules.jitter().unwrap_or_default());
    if !desk.admin.schedule(name).create(schedule, job).await? {
        return Err(Failure::refused(format!("schedule {name} already exists: edit it")));
    }
    Ok(Answer::done(json!({"schedule": name}), &format!("Schedule {name} is created.")))
}

async fn edit(
    desk: &Desk,
    name: &str,
    times: Option<String>,
    args: Option<String>,
    rules: &Rules,
) -> Answered {
    let mut edit = ScheduleEdit::new();
    if let Some(times) = times {
        edit = edit.times(times);
    }
    if let Some(args) = args {
        edit = edit.args(payload(&args)?);
    }
    if let Some(queue) = &rules.queue {
        edit = edit.queue(queue);
    }
    if let Some(priority) = rules.priority {
        edit = edit.priority(priority);
    }
    if let Some(catch_up) = rules.catch_up() {
        edit = edit.catch_up(catch_up);
    }
    if let Some(overlap) = rules.overlap() {
        edit = edit.overlap(overlap);
    }
    if let Some(jitter) = rules.jitter() {
        edit = edit.jitter(jitter);
    }
    if !desk.admin.schedule(name).edit(edit).await? {
        return Err(Failure::none("such schedule"));
    }
    Ok(Answer::done(json!({"schedule": name}), &format!("Schedule {name} is changed.")))
}

fn row(schedule: &ScheduleSummary) -> [String; 7] {
    let state = match (&schedule.paused, &schedule.overdue) {
        (Some(pause), _) => match pause.reason.as_deref().filter(|reason| !reason.is_empty()) {
            Some(reason) => format!("paused ({reason})"),
            None => "paused".to_owned(),
        },
        (None, Some(overdue)) => format!("{} overdue", span(overdue)),
        (None, None) => String::new(),
    };
    [
        schedule.name.clone(),
        schedule.times.clone(),
        schedule.kind.clone(),
        schedule.next_at.as_ref().map(utc).unwrap_or_default(),
        schedule.last.as_ref().map(|(at, _)| utc(at)).unwrap_or_default(),
        schedule.missed.to_string(),
        state,
    ]
}

fn run(run: &ScheduleRun) -> [String; 3] {
    let since = run.since.as_ref().map(|since| format!(", and all since {}", utc(since)));
    let skipped = run.skipped.clone().unwrap_or_default() + &since.unwrap_or_default();
    [utc(&run.instant), run.job.map(|job| job.to_string()).unwrap_or_default(), skipped]
}
