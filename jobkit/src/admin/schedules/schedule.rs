use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::JobId;
use crate::admin::Payload;
use crate::schedule::{CatchUp, Overlap};

/// A schedule in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleSummary {
    /// Its name.
    pub name: String,
    /// When it recurs, as [`Times`](crate::schedule::Times) reads it.
    pub times: String,
    /// The kind of its jobs.
    pub kind: String,
    /// Their queue.
    pub queue: String,
    /// The next instant; `None` if there is none.
    pub next_at: Option<DateTime<Utc>>,
    /// How long that instant has been overdue.
    pub overdue: Option<Duration>,
    /// The last instant that fired, or the time of a manual run, and its job; among the latest 200
    /// rows of the history.
    pub last: Option<(DateTime<Utc>, JobId)>,
    /// Missed instants of the last 24 hours, by rows among the latest 200 of the history. One row
    /// may stand for many instants.
    pub missed: u32,
    /// The same for instants that a pause skipped.
    pub skipped_by_pause: u32,
    /// What happens to missed instants.
    pub catch_up: CatchUp,
    /// What happens to instants that overlap with a running job.
    pub overlap: Overlap,
    /// The longest random delay of its jobs.
    pub jitter: Duration,
    /// The pause, if it is paused.
    pub paused: Option<SchedulePause>,
    /// When a worker last declared it; `None` if an operator created it.
    pub declared_at: Option<DateTime<Utc>>,
    /// What operators changed and code no longer changes: `times`, `catch_up`, `overlap`, `jitter`,
    /// `queue`, `args`.
    pub edited: Vec<String>,
}

/// The pause of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchedulePause {
    /// Since when, by the database's clock.
    pub since: DateTime<Utc>,
    /// Who paused it, by the name they gave.
    pub actor: Option<String>,
    /// The reason they gave.
    pub reason: Option<String>,
}

/// A schedule, with the job it enqueues.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleDetail {
    /// The fields of a list.
    pub summary: ScheduleSummary,
    /// The payload of its jobs.
    pub args: Payload,
    /// Their metadata, without the name of the schedule and the instant.
    pub metadata: Option<Payload>,
    /// Their tags.
    pub tags: Vec<String>,
    /// The version of the payload.
    pub version: u16,
    /// Their priority.
    pub priority: i16,
    /// Their maximum number of attempts.
    pub max_attempts: u16,
    /// Their concurrency group and key.
    pub concurrency: Option<(String, String)>,
    /// Their dead-letter key.
    pub dead_letter_key: Option<String>,
    /// When it was created.
    pub created_at: DateTime<Utc>,
}

/// An instant of a schedule, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleRun {
    /// When it was due; for a manual run, its time.
    pub instant: DateTime<Utc>,
    /// The job that was enqueued, or …
    pub job: Option<JobId>,
    /// … why none was: `missed`, `paused` or `running`.
    pub skipped: Option<String>,
    /// The row stands for all instants from this one up to `instant`, which need not be an instant
    /// itself, except those with their own row.
    pub since: Option<DateTime<Utc>>,
    /// Whether somebody ran it manually.
    pub by_hand: bool,
    /// Who did.
    pub actor: Option<String>,
    /// When it was decided.
    pub decided_at: DateTime<Utc>,
}

/// A schedule with an overdue instant.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OverdueSchedule {
    /// Its name.
    pub name: String,
    /// When it recurs.
    pub times: String,
    /// For how long.
    pub overdue: Duration,
}

/// A schedule that is paused and did not fire because of that.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PausedSchedule {
    /// Its name.
    pub name: String,
    /// When it recurs.
    pub times: String,
    /// Since when it is paused, by the database's clock.
    pub since: DateTime<Utc>,
    /// Who paused it, by the name they gave.
    pub actor: Option<String>,
    /// The reason they gave.
    pub reason: Option<String>,
}
