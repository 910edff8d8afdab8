use std::fmt;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::postgres::PgRow;
use sqlx::postgres::types::PgInterval;
use sqlx::types::Json;
use tracing::debug_span;

use super::cause::CauseNote;
use super::dead_letter::{
    DeadLetter, DeadLetterCursor, DeadLetterGroup, DeadLetterId, DeadLetterPage, DeadLetterState,
    DeadLetterSummary, DeadReason, FailedAttempt,
};
use crate::JobId;
use crate::admin::Count;
use crate::admin::columns::{concurrency, metadata, payload, tags};
use crate::admin::count::count;
use crate::admin::without_nulls;
use crate::store::{
    Answer, FromRow, One, ReadColumn, Statement, Time, from_column, from_row, interval, number,
    statements,
};

statements! {
    /// The open dead letters by fingerprint, this many groups at most.
    fn dead_letter_groups(limit: i64) -> Vec<DeadLetterGroup>
        = include_str!("sql/dead_letters_groups.sql");

    /// These dead letters, with everything stored about them.
    fn whole_dead_letters(ids: &[i64]) -> Vec<DeadLetter>
        = include_str!("sql/dead_letters_get.sql");

    /// Those of these dead letters that exist.
    fn dead_letters_of(ids: &[i64]) -> Vec<DeadLetterSummary>
        = include_str!("sql/dead_letters_selected.sql");

    /// Writes a note about a cause.
    fn note_cause(fingerprint: &str, note: Option<&str>, actor: Option<&str>) -> ()
        = "select jobkit.note_cause($1, $2, $3)";

    /// Mutes a cause for this long, or unmutes it. Returns until when.
    fn mute_cause(fingerprint: &str, time: Option<PgInterval>, actor: Option<&str>)
        -> One<Option<DateTime<Utc>>> = "select jobkit.mute_cause($1, $2, $3)";

    /// Removes a dead letter for good: `discard`, `replaying` or `missing`.
    fn discard_dead_letter(dead_letter: i64, actor: Option<&str>) -> One<String>
        = "select jobkit.discard_dead_letter($1, $2)",
        debug_span!("jobkit.discard", dead_letter);
}

from_column! {
    DeadLetterId: i64 => DeadLetterId;
    DeadLetterState: &str => DeadLetterState::of;
    DeadReason: &str => DeadReason::of;
    Vec<FailedAttempt>: Json<Vec<Attempt>> =>
        |Json(attempts)| attempts.into_iter().map(Attempt::failed).collect();
}

/// Which dead letters match; `None` is any.
#[derive(Debug, Clone, Default)]
pub(crate) struct Criteria {
    pub(crate) state: DeadLetterState,
    pub(crate) kind: Option<String>,
    pub(crate) queue: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) failed_before: Option<DateTime<Utc>>,
    pub(crate) failed_after: Option<DateTime<Utc>>,
}

impl Criteria {
    /// The form of the database and of operations.
    pub(crate) fn filter(&self) -> Value {
        let time = |time: Option<DateTime<Utc>>| time.map(|time| time.to_rfc3339());
        without_nulls(json!({
            "state": self.state.as_str(), "kind": self.kind, "queue": self.queue,
            "key": self.key, "fingerprint": self.fingerprint, "tag": self.tag,
            "failed_after": time(self.failed_after), "failed_before": time(self.failed_before),
        }))
    }
}

/// A page of dead letters, the newest failure first.
pub(crate) fn dead_letters(
    criteria: &Criteria,
    after: Option<DeadLetterCursor>,
    limit: i64,
) -> Statement<DeadLetterPage> {
    // Before anything that failed at that very time: the bound is exclusive.
    let bound = criteria.failed_before.map(|at| (at, i64::MIN));
    let place = after.map(|cursor| (cursor.failed_at, cursor.id.0)).or(bound);
    Statement::new(include_str!("sql/dead_letters_list.sql"))
        .bind(criteria.filter())
        .bind(place.map(|(at, _)| Time(at)))
        .bind(place.map(|(_, id)| id))
        .bind(criteria.failed_after)
        .bind(limit)
}

impl Answer for DeadLetterPage {
    type Read = Self;

    fn read(rows: &[PgRow]) -> sqlx::Result<Self> {
        let mut page = Self { entries: Vec::with_capacity(rows.len()), next: None };
        for row in rows {
            let (failed_at, id): (Option<_>, Option<_>) =
                (row.read("next_at")?, row.read("next_id")?);
            page.next = failed_at.zip(id).map(|(failed_at, id)| DeadLetterCursor { failed_at, id });
            if row.read::<Option<DeadLetterId>>("id")?.is_some() {
                page.entries.push(DeadLetterSummary::from_row(row)?);
            }
        }
        Ok(page)
    }
}

from_row! {
    DeadLetterSummary { id, state, kind, queue, key, reason, error, fingerprint, cycles, attempts,
        first_failed_at, failed_at }
}

/// How many of the newest 10,001 dead letters of an index match, and whether there are that many.
pub(crate) fn dead_letter_count(criteria: &Criteria) -> Statement<One<(i64, bool)>> {
    Statement::new(include_str!("sql/dead_letters_count.sql"))
        .bind(criteria.filter())
        .bind(criteria.failed_before)
        .bind(criteria.failed_after)
}

from_row! {
    DeadLetterGroup { fingerprint, kind, sample: "id", error, first_failed_at, last_failed_at,
        muted_until; count: group_count, lately: lately, note: note }
}

fn group_count(row: &PgRow) -> sqlx::Result<Count> {
    Ok(count(row.read("number")?, row.read("more")?))
}

fn note(row: &PgRow) -> sqlx::Result<Option<CauseNote>> {
    let (text, at): (Option<_>, Option<_>) = (row.read("note")?, row.read("noted_at")?);
    let actor = row.read("noted_by")?;
    Ok(text.zip(at).map(|(text, at)| CauseNote { text, actor, at }))
}

fn lately(row: &PgRow) -> sqlx::Result<Vec<u32>> {
    Ok(row.read::<Vec<i32>>("lately")?.into_iter().map(number).collect())
}

/// A failed attempt as the database keeps it; times in microseconds.
#[derive(Deserialize)]
struct Attempt {
    job_id: i64,
    attempt: i64,
    outcome: String,
    error: String,
    error_type: Option<String>,
    worker_id: Option<i64>,
    ended_at: i64,
    took: Option<u64>,
}

impl Attempt {
    fn failed(self) -> FailedAttempt {
        FailedAttempt {
            job: JobId(self.job_id),
            attempt: number(self.attempt),
            outcome: self.outcome,
            error: self.error,
            error_type: self.error_type,
            worker: self.worker_id,
            ended_at: DateTime::from_timestamp_micros(self.ended_at).unwrap_or_default(),
            took: self.took.map(Duration::from_micros),
        }
    }
}

from_row! {
    DeadLetter { error: "full_error", errors, generation, job: "job_id", replay: "replay_id",
        replay_at, resolved_at, priority, max_attempts, attempt, snoozes, created_at, worker:
        "worker_id", version; summary: DeadLetterSummary::from_row, concurrency: concurrency, args:
        payload, tags: tags, metadata: metadata }
}

/// The overrides of a replay; `None` keeps what is stored.
#[derive(Clone, Default)]
pub(crate) struct Overrides {
    pub(crate) queue: Option<String>,
    pub(crate) run_at: Option<DateTime<Utc>>,
    pub(crate) args: Option<Value>,
    pub(crate) max_attempts: Option<u16>,
    /// Group and key of the payload, both or neither.
    pub(crate) concurrency: Option<[Option<String>; 2]>,
}

/// Without the payload, which may contain secrets.
impl fmt::Debug for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue, run_at, max_attempts, .. } = self;
        let mut shown = f.debug_struct("Overrides");
        shown.field("queue", queue).field("run_at", run_at).field("max_attempts", max_attempts);
        shown.finish_non_exhaustive()
    }
}

/// Makes a job of a dead letter, once: `replay`, `already`, `resolved` or `missing`; and the job.
pub(crate) fn replay(
    id: DeadLetterId,
    actor: Option<&str>,
    overrides: &Overrides,
) -> Statement<One<(String, Option<JobId>)>> {
    let Overrides { queue, run_at, args, max_attempts, concurrency } = overrides;
    Statement::new("select r.outcome, r.job_id from jobkit.replay($1, $2, $3, $4, $5, $6, $7) r")
        .spanned(debug_span!("jobkit.replay", dead_letter = id.0))
        .bind(id.0)
        .bind(actor)
        .bind(queue)
        .bind(*run_at)
        .bind(args.as_ref().map(Json))
        .bind(max_attempts.map(i32::from))
        .bind(concurrency.as_ref().map(<[_; 2]>::as_slice))
}

/// The latest failure that a bulk call acts on: at least this long ago, and earlier than a time. By
/// the server's clock, so that a dead letter that fails again meanwhile is not processed twice.
pub(crate) fn until(ago: Duration, before: Option<DateTime<Utc>>) -> Statement<One<DateTime<Utc>>> {
    // A thousand years: the server's time begins in 4713 BC.
    const LONGEST: Duration = Duration::from_secs(1000 * 365 * 24 * 60 * 60);
    let last = before.map(|before| before - TimeDelta::microseconds(1));
    Statement::new("select least(clock_timestamp() - $1::interval, $2::timestamptz)")
        .bind(interval(ago.min(LONGEST)))
        .bind(last)
}
