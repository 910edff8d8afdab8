use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Deserialize;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{PgConnection, Row};

use super::Call;
use super::count::{count, number};
use super::payloads::{metadata, payload};
use super::time::{Time, Times};
use crate::JobId;
use crate::dead_letter::{
    Count, DeadLetter, DeadLetterCursor, DeadLetterGroup, DeadLetterId, DeadLetterPage,
    DeadLetterState, DeadLetterSummary, DeadReason, FailedAttempt,
};

/// Which dead letters are meant; `None` is any.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meant {
    pub(crate) state: DeadLetterState,
    pub(crate) kind: Option<String>,
    pub(crate) queue: Option<String>,
    pub(crate) key: Option<String>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) failed_before: Option<DateTime<Utc>>,
    pub(crate) failed_after: Option<DateTime<Utc>>,
}

/// A page of dead letters, the newest failure first.
pub(crate) struct DeadLetters<'a> {
    pub(crate) meant: &'a Meant,
    pub(crate) after: Option<DeadLetterCursor>,
    pub(crate) limit: i64,
}

impl Call for DeadLetters<'_> {
    type Answer = DeadLetterPage;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let meant = self.meant;
        // Before anything that failed at that very time: the bound is no part of what it bounds.
        let bound = meant.failed_before.map(|at| (at, i64::MIN));
        let place = self.after.map(|cursor| (cursor.failed_at, cursor.id.0)).or(bound);
        let rows = sqlx::query(include_str!("sql/dead_letters_list.sql"))
            .bind(meant.state.as_str())
            .bind(meant.kind.as_deref())
            .bind(meant.queue.as_deref())
            .bind(meant.key.as_deref())
            .bind(meant.fingerprint.as_deref())
            .bind(place.map(|(at, _)| Time(at)))
            .bind(place.map(|(_, id)| id))
            .bind(meant.failed_after)
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

pub(super) fn cursor(
    failed_at: Option<DateTime<Utc>>,
    id: Option<i64>,
) -> Option<DeadLetterCursor> {
    Some(DeadLetterCursor { failed_at: failed_at?, id: DeadLetterId(id?) })
}

pub(super) fn summary(row: &PgRow) -> sqlx::Result<DeadLetterSummary> {
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
pub(crate) struct DeadLetterCount<'a>(pub(crate) &'a Meant);

impl Call for DeadLetterCount<'_> {
    type Answer = Count;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Count> {
        let meant = self.0;
        let counted = sqlx::query_as(include_str!("sql/dead_letters_count.sql"))
            .bind(meant.state.as_str())
            .bind(meant.kind.as_deref())
            .bind(meant.queue.as_deref())
            .bind(meant.key.as_deref())
            .bind(meant.fingerprint.as_deref())
            .bind(meant.failed_before)
            .bind(meant.failed_after);
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
pub(super) struct Attempt {
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
    pub(super) fn failed(self) -> FailedAttempt {
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
