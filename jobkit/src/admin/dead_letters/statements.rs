use std::fmt;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::{Value, json};
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Row};
use tracing::Span;

use super::dead_letter::{
    DeadLetter, DeadLetterCursor, DeadLetterGroup, DeadLetterId, DeadLetterPage, DeadLetterState,
    DeadLetterSummary, DeadReason, FailedAttempt,
};
use crate::JobId;
use crate::admin::Count;
use crate::admin::count::count;
use crate::admin::payload::{metadata, payload};
use crate::admin::without_nulls;
use crate::store::{Call, Time, Times, interval, number};

/// Which dead letters match; `None` is any.
#[derive(Debug, Clone, Default)]
pub(crate) struct Criteria {
    pub(crate) state: DeadLetterState,
    pub(crate) kind: Option<String>,
    pub(crate) queue: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) failed_before: Option<DateTime<Utc>>,
    pub(crate) failed_after: Option<DateTime<Utc>>,
}

impl Criteria {
    /// As the database and an operation have it.
    pub(crate) fn filter(&self) -> Value {
        let time = |time: Option<DateTime<Utc>>| time.map(|time| time.to_rfc3339());
        without_nulls(json!({
            "state": self.state.as_str(), "kind": self.kind, "queue": self.queue,
            "key": self.key, "fingerprint": self.fingerprint,
            "failed_after": time(self.failed_after), "failed_before": time(self.failed_before),
        }))
    }
}

/// A page of dead letters, the newest failure first.
pub(crate) struct DeadLetters<'a> {
    pub(crate) criteria: &'a Criteria,
    pub(crate) after: Option<DeadLetterCursor>,
    pub(crate) limit: i64,
}

impl Call for DeadLetters<'_> {
    type Answer = DeadLetterPage;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let criteria = self.criteria;
        // Before anything that failed at that very time: the bound is no part of what it bounds.
        let bound = criteria.failed_before.map(|at| (at, i64::MIN));
        let place = self.after.map(|cursor| (cursor.failed_at, cursor.id.0)).or(bound);
        let rows = sqlx::query(include_str!("sql/dead_letters_list.sql"))
            .bind(criteria.filter())
            .bind(place.map(|(at, _)| Time(at)))
            .bind(place.map(|(_, id)| id))
            .bind(criteria.failed_after)
            .bind(self.limit)
            .fetch_all(connection)
            .await?;
        let mut next = None;
        let mut entries = Vec::with_capacity(rows.len());
        for row in &rows {
            next = cursor(row.time("next_at")?, row.try_get("next_id")?);
            if row.try_get::<Option<i64>, _>("id")?.is_some() {
                entries.push(summary(row)?);
            }
        }
        Ok(DeadLetterPage { entries, next })
    }
}

pub(crate) fn cursor(
    failed_at: Option<DateTime<Utc>>,
    id: Option<i64>,
) -> Option<DeadLetterCursor> {
    Some(DeadLetterCursor { failed_at: failed_at?, id: DeadLetterId(id?) })
}

pub(crate) fn summary(row: &PgRow) -> sqlx::Result<DeadLetterSummary> {
    Ok(DeadLetterSummary {
        id: DeadLetterId(row.try_get("id")?),
        state: DeadLetterState::of(row.try_get("state")?),
        kind: row.try_get("kind")?,
        queue: row.try_get("queue")?,
        key: row.try_get("key")?,
        reason: DeadReason::of(row.try_get("reason")?),
        error: row.try_get("error")?,
        fingerprint: row.try_get("fingerprint")?,
        cycles: number(row.try_get::<i32, _>("cycles")?),
        attempts: number(row.try_get::<i32, _>("attempts")?),
        first_failed_at: row.time("first_failed_at")?,
        failed_at: row.time("failed_at")?,
    })
}

/// How many dead letters there are, as far as they can be counted.
pub(crate) struct DeadLetterCount<'a>(pub(crate) &'a Criteria);

impl Call for DeadLetterCount<'_> {
    type Answer = Count;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Count> {
        let criteria = self.0;
        let counted = sqlx::query_as(include_str!("sql/dead_letters_count.sql"))
            .bind(criteria.filter())
            .bind(criteria.failed_before)
            .bind(criteria.failed_after);
        let (counted, more): (i64, bool) = counted.fetch_one(connection).await?;
        Ok(count(counted.min(10_000), more))
    }
}

/// The open dead letters by fingerprint, this many groups at most.
pub(crate) struct DeadLetterGroups(pub(crate) i64);

impl Call for DeadLetterGroups {
    type Answer = Vec<DeadLetterGroup>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let query = sqlx::query(include_str!("sql/dead_letters_groups.sql")).bind(self.0);
        let group = |row: PgRow| {
            Ok(DeadLetterGroup {
                fingerprint: row.try_get("fingerprint")?,
                kind: row.try_get("kind")?,
                count: count(row.try_get("number")?, row.try_get("more")?),
                sample: DeadLetterId(row.try_get("id")?),
                error: row.try_get("error")?,
                first_failed_at: row.time("first_failed_at")?,
                last_failed_at: row.time("last_failed_at")?,
                lately: row.try_get::<Vec<i32>, _>("lately")?.into_iter().map(number).collect(),
            })
        };
        query.fetch_all(connection).await?.into_iter().map(group).collect()
    }
}

/// These dead letters, with all that is kept of them.
pub(crate) struct WholeDeadLetters<'a>(pub(crate) &'a [i64]);

/// A failed attempt as the database keeps it; times in microseconds.
#[derive(Deserialize)]
pub(crate) struct Attempt {
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
    pub(crate) fn failed(self) -> FailedAttempt {
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

impl Call for WholeDeadLetters<'_> {
    type Answer = Vec<DeadLetter>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let query = sqlx::query(include_str!("sql/dead_letters_get.sql")).bind(self.0);
        query.fetch_all(connection).await?.iter().map(dead_letter).collect()
    }
}

fn dead_letter(row: &PgRow) -> sqlx::Result<DeadLetter> {
    let Json(errors): Json<Vec<Attempt>> = row.try_get("errors")?;
    let group: Option<String> = row.try_get("concurrency_group")?;
    // One that is null was put there past `enqueue`; it must not hide the others.
    let tags: Option<Vec<Option<String>>> = row.try_get("tags")?;
    Ok(DeadLetter {
        summary: summary(row)?,
        error: row.try_get("full_error")?,
        errors: errors.into_iter().map(Attempt::failed).collect(),
        generation: number(row.try_get::<i32, _>("generation")?),
        job: JobId(row.try_get("job_id")?),
        replay: row.try_get::<Option<i64>, _>("replay_id")?.map(JobId),
        replay_at: row.time("replay_at")?,
        resolved_at: row.time("resolved_at")?,
        priority: row.try_get("priority")?,
        max_attempts: number(row.try_get::<i16, _>("max_attempts")?),
        attempt: number(row.try_get::<i32, _>("attempt")?),
        snoozes: number(row.try_get::<i32, _>("snoozes")?),
        created_at: row.time("created_at")?,
        worker: row.try_get("worker_id")?,
        concurrency: group.zip(row.try_get("concurrency_key")?),
        args: payload(row)?,
        tags: tags.into_iter().flatten().flatten().collect(),
        metadata: metadata(row)?,
    })
}

/// These dead letters.
pub(crate) struct DeadLettersOf<'a>(pub(crate) &'a [i64]);

impl Call for DeadLettersOf<'_> {
    type Answer = Vec<DeadLetterSummary>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let rows = sqlx::query(include_str!("sql/dead_letters_selected.sql"))
            .bind(self.0)
            .fetch_all(connection)
            .await?;
        rows.iter().map(summary).collect()
    }
}

/// What a replay overrides of the stored job; `None` keeps what is stored.
#[derive(Clone, Default)]
pub(crate) struct Overrides {
    pub(crate) queue: Option<String>,
    pub(crate) run_at: Option<DateTime<Utc>>,
    pub(crate) args: Option<Value>,
    pub(crate) max_attempts: Option<u16>,
    /// Group and key that belong to the payload, both or neither.
    pub(crate) concurrency: Option<[Option<String>; 2]>,
}

/// Without the payload, which may have what must not be shown.
impl fmt::Debug for Overrides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue, run_at, max_attempts, .. } = self;
        let mut shown = f.debug_struct("Overrides");
        shown.field("queue", queue).field("run_at", run_at).field("max_attempts", max_attempts);
        shown.finish_non_exhaustive()
    }
}

/// Replays a dead letter.
pub(crate) struct ReplayDeadLetter<'a> {
    pub(crate) id: i64,
    pub(crate) actor: Option<&'a str>,
    pub(crate) overrides: &'a Overrides,
}

impl Call for ReplayDeadLetter<'_> {
    /// `replay`, `already`, `resolved` or `missing`; and the job.
    type Answer = (String, Option<i64>);

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.replay", dead_letter = self.id)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let Overrides { queue, run_at, args, max_attempts, concurrency } = self.overrides;
        sqlx::query_as(include_str!("sql/dead_letters_replay.sql"))
            .bind(self.id)
            .bind(self.actor)
            .bind(queue.as_deref())
            .bind(*run_at)
            .bind(args.as_ref().map(Json))
            .bind(max_attempts.map(i32::from))
            .bind(concurrency.as_ref().map(<[_; 2]>::as_slice))
            .fetch_one(connection)
            .await
    }
}

/// Removes a dead letter.
pub(crate) struct DiscardDeadLetter<'a> {
    pub(crate) id: i64,
    pub(crate) actor: Option<&'a str>,
}

impl Call for DiscardDeadLetter<'_> {
    /// `discard`, `replaying` or `missing`.
    type Answer = String;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.discard", dead_letter = self.id)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<String> {
        sqlx::query_scalar(include_str!("sql/dead_letters_discard.sql"))
            .bind(self.id)
            .bind(self.actor)
            .fetch_one(connection)
            .await
    }
}

/// The latest failure that a call over all dead letters means.
pub(crate) struct Until {
    /// How long ago by the server's clock.
    pub(crate) ago: Duration,
    /// Earlier than this.
    pub(crate) before: Option<DateTime<Utc>>,
}

impl Call for Until {
    type Answer = DateTime<Utc>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<DateTime<Utc>> {
        // A thousand years: the server's time begins in 4713 BC.
        const LONGEST: Duration = Duration::from_secs(1000 * 365 * 24 * 60 * 60);
        let last = self.before.map(|before| before - TimeDelta::microseconds(1));
        sqlx::query_scalar(include_str!("sql/dead_letters_until.sql"))
            .bind(interval(self.ago.min(LONGEST)))
            .bind(last)
            .fetch_one(connection)
            .await
            .map(|Time(until)| until)
    }
}
