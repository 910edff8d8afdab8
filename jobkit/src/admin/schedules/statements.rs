use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::postgres::PgRow;
use tracing::debug_span;

use super::schedule::{
    OverdueSchedule, PausedSchedule, ScheduleDetail, SchedulePause, ScheduleRun, ScheduleSummary,
};
use crate::JobId;
use crate::admin::columns::{concurrency, metadata, payload, tags};
use crate::schedule::{CatchUp, Overlap};
use crate::store::{One, ReadColumn, from_row, statements};

statements! {
    /// Schedules by name, after this one; or only one.
    fn schedules(after: &str, limit: i64, only: Option<&str>) -> Vec<ScheduleSummary>
        = include_str!("sql/schedules_list.sql");

    /// What a schedule enqueues.
    fn schedule_job(name: &str) -> Option<ScheduledJob> = include_str!("sql/schedules_get.sql");

    /// Its runs, the latest first.
    fn schedule_runs(name: &str, before: Option<DateTime<Utc>>, limit: i64) -> Vec<ScheduleRun>
        = include_str!("sql/schedule_runs.sql");

    /// Overdue schedules, the longest overdue first.
    fn overdue_schedules(limit: i64) -> Vec<OverdueSchedule>
        = include_str!("sql/schedules_overdue.sql");

    /// Paused schedules that did not fire because of that.
    fn paused_schedules(limit: i64) -> Vec<PausedSchedule>
        = include_str!("sql/schedules_paused.sql");

    /// The kind of a schedule's jobs, and their version.
    fn schedule_kind(name: &str) -> Option<(String, i16)>
        = "select s.kind, coalesce(s.version, 1::smallint) from jobkit.schedules s
            where s.name = $1 and s.removed_at is null";

    /// Creates a schedule; whether there was none of its name.
    fn create_schedule(schedule: &Value, args: &str, actor: Option<&str>) -> One<bool>
        = "select jobkit.create_schedule($1, $2, $3)", debug_span!("jobkit.create_schedule");

    /// Changes the given fields; whether there is such a schedule. `None` if instants must be
    /// decided first, unless they are to be missed.
    fn edit_schedule(
        name: &str, changes: &Value, args: Option<&str>, actor: Option<&str>, missing: bool,
    ) -> One<Option<bool>> = "select jobkit.edit_schedule($1, $2, $3, $4, $5)",
        debug_span!("jobkit.edit_schedule", name);

    /// Pauses it; whether it was not paused, `None` if there is none.
    fn pause_schedule(name: &str, actor: &str, reason: &str) -> One<Option<bool>>
        = "select jobkit.pause_schedule($1, $2, $3)", debug_span!("jobkit.pause_schedule", name);

    /// Resumes it: `resumed`, `not paused`, or `due` if instants must be decided first.
    fn resume_schedule(name: &str, actor: Option<&str>) -> One<Option<String>>
        = "select jobkit.resume_schedule($1, $2)", debug_span!("jobkit.resume_schedule", name);

    /// Enqueues its job now; `None` if there is no such schedule.
    fn run_schedule(name: &str, actor: Option<&str>) -> One<Option<i64>>
        = "select jobkit.run_schedule($1, $2)", debug_span!("jobkit.run_schedule", name);

    /// Deletes it; whether there was one.
    fn delete_schedule(name: &str, actor: Option<&str>) -> One<bool>
        = "select jobkit.delete_schedule($1, $2)", debug_span!("jobkit.delete_schedule", name);
}

from_row! {
    ScheduleSummary { name, times, kind, queue, next_at, overdue, missed,
        skipped_by_pause: "paused", jitter, declared_at, edited;
        last: last, catch_up: catch_up, overlap: overlap, paused: pause }
    ScheduleRun { instant, job: "job_id", skipped, since, by_hand, actor, decided_at }
    OverdueSchedule { name, times, overdue }
    PausedSchedule { name, times, since: "paused_at", actor: "paused_by", reason: "pause_reason" }
    ScheduledJob { version, priority, max_attempts, dead_letter_key, created_at;
        args: payload, metadata: metadata, tags: tags, concurrency: concurrency }
}

fn last(row: &PgRow) -> sqlx::Result<Option<(DateTime<Utc>, JobId)>> {
    let job: Option<JobId> = row.read("last_job")?;
    Ok(row.read::<Option<DateTime<Utc>>>("last_instant")?.zip(job))
}

fn catch_up(row: &PgRow) -> sqlx::Result<CatchUp> {
    let text: String = row.read("catch_up")?;
    Ok(CatchUp::read(&text, row.read("catch_up_max")?, row.read("catch_up_window")?))
}

fn overlap(row: &PgRow) -> sqlx::Result<Overlap> {
    Ok(Overlap::read(&row.read::<String>("overlap")?))
}

fn pause(row: &PgRow) -> sqlx::Result<Option<SchedulePause>> {
    let since: Option<DateTime<Utc>> = row.read("paused_at")?;
    let Some(since) = since else { return Ok(None) };
    let (actor, reason) = (row.read("paused_by")?, row.read("pause_reason")?);
    Ok(Some(SchedulePause { since, actor, reason }))
}

/// What a schedule enqueues.
#[derive(Debug)]
pub(crate) struct ScheduledJob {
    args: crate::admin::Payload,
    metadata: Option<crate::admin::Payload>,
    tags: Vec<String>,
    version: u16,
    priority: i16,
    max_attempts: u16,
    concurrency: Option<(String, String)>,
    dead_letter_key: Option<String>,
    created_at: DateTime<Utc>,
}

impl ScheduledJob {
    pub(super) fn of(self, summary: ScheduleSummary) -> ScheduleDetail {
        let Self { args, metadata, tags, version, priority, max_attempts, .. } = self;
        let (dead_letter_key, created_at) = (self.dead_letter_key, self.created_at);
        let concurrency = self.concurrency;
        ScheduleDetail {
            summary,
            args,
            metadata,
            tags,
            version,
            priority,
            max_attempts,
            concurrency,
            dead_letter_key,
            created_at,
        }
    }
}
