//! Statements about schedules.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::value::RawValue;
use sqlx::types::Json;
use tracing::trace_span;

use super::call::{Statement, column, statements};
use super::read::{One, from_row};

statements! {
    /// Schedules that are due, except some; or only one.
    fn due_schedules(limit: i32, but: &[String], only: Option<&str>) -> Vec<DueSchedule>
        = include_str!("sql/schedules_due.sql");

    /// The payloads of schedules.
    fn scheduled_payloads(limit: i64) -> Vec<ScheduledPayload>
        = include_str!("sql/schedules_preflight.sql");

    /// Schedules by name, after this one, that are not due; or only those whose last instant is in
    /// the future, since the clock has stepped back.
    fn waiting_schedules(after: &str, limit: i32, only_ahead: bool) -> Vec<WaitingSchedule>
        = include_str!("sql/schedules_waiting.sql");

    /// Whether one of these schedules is from another declaration.
    fn schedules_of_others(names: &[&str], declaration: i64) -> One<bool>
        = "select exists (
            select from jobkit.schedules s
            where s.name = any ($1) and s.removed_at is null
                and s.declaration is distinct from $2)";

    /// The number of a binary's declaration of schedules, by its digest.
    fn declaration(digest: &str) -> One<i64> = "select jobkit.declaration($1)";

    /// The time by the database's clock.
    fn clock() -> One<DateTime<Utc>> = "select now()";
}

/// A schedule that is due, without its job.
#[derive(Debug)]
pub(crate) struct DueSchedule {
    pub(crate) name: String,
    pub(crate) times: String,
    pub(crate) next_at: DateTime<Utc>,
    pub(crate) catch_up: String,
    pub(crate) catch_up_max: u32,
    pub(crate) catch_up_window: Duration,
    pub(crate) overlap: String,
    pub(crate) paused: bool,
    /// Of the payload.
    pub(crate) bytes: u64,
    /// The database's clock.
    pub(crate) now: DateTime<Utc>,
}

from_row! {
    DueSchedule { name, times, next_at, catch_up, catch_up_max, catch_up_window, overlap, paused,
        bytes, now }
}

/// A schedule that is not due.
#[derive(Debug)]
pub(crate) struct WaitingSchedule {
    pub(crate) name: String,
    pub(crate) times: String,
    pub(crate) next_at: DateTime<Utc>,
    /// The database's clock.
    pub(crate) now: DateTime<Utc>,
}

from_row! {
    WaitingSchedule { name, times, next_at, now }
}

/// Sets the next instant of each of these schedules; returns the names of those that were changed.
pub(crate) fn hasten_schedules(
    found: &[(WaitingSchedule, DateTime<Utc>)],
) -> Statement<Vec<String>> {
    Statement::new("select * from jobkit.hasten_schedules($1, $2, $3, $4)")
        .spanned(trace_span!("jobkit.hasten"))
        .bind(column(found, |(schedule, _)| &*schedule.name))
        .bind(column(found, |(schedule, _)| schedule.next_at))
        .bind(column(found, |(schedule, _)| &*schedule.times))
        .bind(column(found, |(_, next)| *next))
}

/// The payload of a schedule.
#[derive(Debug)]
pub(crate) struct ScheduledPayload {
    /// Its kind, with the version from the second on.
    pub(crate) kind: String,
    /// The name of the schedule.
    pub(crate) name: String,
    pub(crate) args: String,
}

from_row! {
    ScheduledPayload { kind, name, args }
}

/// The decision about an instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Instant {
    pub(crate) at: DateTime<Utc>,
    /// Why no job is enqueued for it, if none is.
    pub(crate) skipped: Option<&'static str>,
    /// The first instant that it stands for.
    pub(crate) since: Option<DateTime<Utc>>,
}

/// The decisions about a schedule that is due.
#[derive(Debug)]
pub(crate) struct Decided {
    pub(crate) name: String,
    /// The `next_at` that this was decided from …
    pub(crate) seen: DateTime<Utc>,
    /// … and the times.
    pub(crate) times: String,
    pub(crate) instants: Vec<Instant>,
    pub(crate) next: Option<DateTime<Utc>>,
}

/// Carries them out; returns how many instants were fired, and how many skipped.
pub(crate) fn fire(decided: &[Decided]) -> Statement<One<(i32, i32)>> {
    let instants: Vec<(&str, &Instant)> =
        decided.iter().flat_map(|d| d.instants.iter().map(|i| (&*d.name, i))).collect();
    Statement::new("select fired, skipped from jobkit.fire($1, $2, $3, $4, $5, $6, $7, $8)")
        .spanned(trace_span!("jobkit.fire"))
        .bind(column(decided, |d| &*d.name))
        .bind(column(decided, |d| d.seen))
        .bind(column(decided, |d| d.next))
        .bind(column(&instants, |(name, _)| *name))
        .bind(column(&instants, |(_, instant)| instant.at))
        .bind(column(&instants, |(_, instant)| instant.skipped))
        .bind(column(&instants, |(_, instant)| instant.since))
        .bind(column(decided, |d| &*d.times))
}

/// A schedule as it is stored: the columns of the table.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct NewSchedule {
    pub(crate) name: String,
    pub(crate) times: String,
    /// As RFC 3339 has it.
    pub(crate) next_at: Option<String>,
    pub(crate) catch_up: &'static str,
    pub(crate) catch_up_max: u32,
    /// As an interval.
    pub(crate) catch_up_window: String,
    pub(crate) overlap: &'static str,
    /// As an interval.
    pub(crate) jitter: String,
    pub(crate) kind: String,
    pub(crate) version: Option<i16>,
    pub(crate) queue: String,
    pub(crate) priority: i16,
    pub(crate) max_attempts: u16,
    pub(crate) concurrency_group: Option<String>,
    pub(crate) concurrency_key: Option<String>,
    pub(crate) dead_letter_key: Option<String>,
    #[serde(skip)]
    pub(crate) args: String,
    pub(crate) tags: Option<Vec<String>>,
    pub(crate) metadata: Option<Box<RawValue>>,
}

/// Declares the schedules in code. Returns those with other times in the database: these, the times
/// in this binary, and whether the former stay.
pub(crate) fn declare_schedules(
    schedules: &[&NewSchedule],
    declaration: Option<i64>,
) -> Statement<Vec<(String, String, String, bool)>> {
    Statement::new(
        "select schedule, declared, says, stays from jobkit.declare_schedules($1, $2, $3)",
    )
    .bind(Json(schedules))
    .bind(column(schedules, |s| &*s.args))
    .bind(declaration)
}
