use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::JobId;
use crate::admin::Payload;
use crate::schedule::{CatchUp, Overlap};

/// A schedule, as a list shows it.
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
    /// The next instant; `None` when none will come.
    pub next_at: Option<DateTime<Utc>>,
    /// For how long that has passed without anybody deciding about it.
    pub overdue: Option<Duration>,
    /// The last instant for which a job was enqueued, or when it was run by hand, and the job;
    /// among the latest 200 rows of the history.
    pub last: Option<(DateTime<Utc>, JobId)>,
    /// Rows of the last day that say what was missed, among the latest 200 of the history. One of
    /// them can stand for many instants.
    pub missed: u32,
    /// Those that say what a pause skipped.
    pub skipped_by_pause: u32,
    /// What becomes of what is missed.
    pub catch_up: CatchUp,
    /// What becomes of what overlaps.
    pub overlap: Overlap,
    /// By how much jobs are delayed at most, at random.
    pub jitter: Duration,
    /// The pause, if it is paused.
    pub paused: Option<SchedulePause>,
    /// When a worker last declared it; `None` for one that an operator made.
    pub declared_at: Option<DateTime<Utc>>,
    /// What operators changed, which code leaves alone: `times`, `catch_up`, `overlap`, `jitter`,
    /// `queue`, `args`.
    pub edited: Vec<String>,
}

/// Why a schedule fires nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchedulePause {
    /// Since when, by the database's clock.
    pub since: DateTime<Utc>,
    /// Who paused it, as they said.
    pub actor: Option<String>,
    /// Why, as they said.
    pub reason: Option<String>,
}

/// A schedule, with what it enqueues.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleDetail {
    /// What a list shows of it.
    pub summary: ScheduleSummary,
    /// The payload of its jobs.
    pub args: Payload,
    /// Their metadata, without what says which schedule and instant they are of.
    pub metadata: Option<Payload>,
    /// Their tags.
    pub tags: Vec<String>,
    /// The version of the payload.
    pub version: u16,
    /// Their priority.
    pub priority: i16,
    /// How many attempts they have.
    pub max_attempts: u16,
    /// Their concurrency group and key.
    pub concurrency: Option<(String, String)>,
    /// Their dead-letter key.
    pub dead_letter_key: Option<String>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// What became of an instant of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScheduleRun {
    /// When it was due; of a run by hand, when that was.
    pub instant: DateTime<Utc>,
    /// The job that was enqueued, or …
    pub job: Option<JobId>,
    /// … why none was: `missed`, `paused` or `running`.
    pub skipped: Option<String>,
    /// It stands for all instants from this one on up to `instant`, which may be none itself, but
    /// for those that have a row of their own.
    pub since: Option<DateTime<Utc>>,
    /// Somebody said so, whatever the times are.
    pub by_hand: bool,
    /// Who that was.
    pub actor: Option<String>,
    /// When it was decided.
    pub decided_at: DateTime<Utc>,
}

/// A schedule whose instant has passed, and nobody has decided about it.
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

/// A schedule that is paused, and did not fire because of that.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PausedSchedule {
    /// Its name.
    pub name: String,
    /// When it recurs.
    pub times: String,
    /// Since when it is paused, by the database's clock.
    pub since: DateTime<Utc>,
    /// Who paused it, as they said.
    pub actor: Option<String>,
    /// Why, as they said.
    pub reason: Option<String>,
}
