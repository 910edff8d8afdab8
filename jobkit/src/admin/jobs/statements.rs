use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::postgres::PgRow;
use sqlx::postgres::types::PgInterval;
use sqlx::types::Json;
use sqlx::{PgConnection, Row};
use tracing::Span;

use super::detail::JobDetail;
use super::query::{JobQuery, Listing};
use super::summary::{Ended, JobSummary, State};
use crate::JobId;
use crate::admin::Count;
use crate::admin::count::capped;
use crate::admin::dead_letters::DeadLetterId;
use crate::admin::dead_letters::statements::Attempt;
use crate::admin::payload::{metadata, payload};
use crate::store::{Call, Times, wait};

/// A page of a listing.
pub(crate) struct JobsList<'a> {
    pub(crate) listing: Listing,
    pub(crate) query: &'a JobQuery,
    /// The place before it, as a JSON array.
    pub(crate) place: Option<&'a str>,
    /// How many jobs are looked at.
    pub(crate) window: i32,
    pub(crate) rows: i32,
}

/// What such a page has.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) jobs: Vec<JobSummary>,
    /// How many match of those looked at.
    pub(crate) matching: i64,
    pub(crate) looked_at: i64,
    /// The place of the last of its jobs when it is full, else of the last job looked at when there
    /// may be more.
    pub(crate) next: Option<String>,
}

impl Call for JobsList<'_> {
    type Answer = Listed;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Listed> {
        let query = self.query;
        let sql = match self.listing {
            Listing::Finished | Listing::Discarded | Listing::Cancelled => {
                include_str!("sql/jobs_list_ended.sql")
            }
            _ => include_str!("sql/jobs_list.sql"),
        };
        let rows = sqlx::query(sql)
            .bind(query.filter())
            .bind(self.listing.as_str())
            .bind(self.place)
            .bind(self.window)
            .bind(self.rows)
            .fetch_all(connection)
            .await?;
        let mut listed = Listed::default();
        for row in &rows {
            listed.matching = row.try_get("matching")?;
            listed.looked_at = row.try_get("looked_at")?;
            listed.next = row.try_get("next")?;
            if row.try_get::<Option<i64>, _>("id")?.is_some() {
                listed.jobs.push(summary(row)?);
            }
        }
        Ok(listed)
    }
}

/// How many jobs each listing has, as far as was counted.
pub(crate) struct JobsCount;

impl Call for JobsCount {
    type Answer = Vec<(Listing, Count)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let rows: Vec<(String, i64)> = sqlx::query_as(include_str!("sql/jobs_count.sql"))
            .bind(&Listing::ALL.map(Listing::as_str)[..])
            .fetch_all(connection)
            .await?;
        let counted = |listing: Listing| {
            let row = rows.iter().find(|(name, ..)| name == listing.as_str());
            (listing, capped(row.map_or(0, |(_, number)| *number)))
        };
        Ok(Listing::ALL.map(counted).to_vec())
    }
}

/// A job with everything known about it.
pub(crate) struct OneJob(pub(crate) i64);

impl Call for OneJob {
    type Answer = Option<JobDetail>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let live = include_str!("sql/jobs_get.sql");
        for sql in [live, include_str!("sql/jobs_get_ended.sql")] {
            let row = sqlx::query(sql).bind(self.0).fetch_optional(&mut *connection).await?;
            if let Some(row) = row {
                return detail(&row).map(Some);
            }
        }
        Ok(None)
    }
}

fn detail(row: &PgRow) -> sqlx::Result<JobDetail> {
    let Json(attempts): Json<Vec<Attempt>> = row.try_get("errors")?;
    let letter = |id: Option<i64>| id.map(DeadLetterId);
    Ok(JobDetail {
        summary: summary(row)?,
        args: payload(row)?,
        metadata: metadata(row)?,
        attempts: attempts.into_iter().map(Attempt::failed).collect(),
        crashes: row.try_get::<i32, _>("crashes")?.try_into().unwrap_or(0),
        snoozes: row.try_get::<i32, _>("snoozes")?.try_into().unwrap_or(0),
        cancel_requested_at: row.time("cancel_requested_at")?,
        permit_since: row.time("permit_since")?,
        dead_letter_key: row.try_get("dead_letter_key")?,
        replays: letter(row.try_get("replays")?),
        dead_letter: letter(row.try_get("dead_letter")?),
        replayed_by: row.try_get::<Option<i64>, _>("replay_id")?.map(JobId),
        reason: row.try_get("reason")?,
        expires_at: row.time("expires_at")?,
    })
}

fn summary(row: &PgRow) -> sqlx::Result<JobSummary> {
    let group: Option<String> = row.try_get("concurrency_group")?;
    // One that is null was put there past `enqueue`; it must not hide the others.
    let tags: Option<Vec<Option<String>>> = row.try_get("tags")?;
    Ok(JobSummary {
        id: JobId(row.try_get("id")?),
        state: State::of(row.try_get("state")?),
        ended: row.try_get::<Option<&str>, _>("outcome")?.map(Ended::of),
        kind: row.try_get("kind")?,
        queue: row.try_get("queue")?,
        priority: row.try_get("priority")?,
        attempt: row.try_get::<i32, _>("attempt")?.try_into().unwrap_or(0),
        max_attempts: row.try_get::<i16, _>("max_attempts")?.try_into().unwrap_or(0),
        worker: row.try_get("worker_id")?,
        cancel_requested: row.try_get("cancel_requested")?,
        run_at: row.time("run_at")?,
        created_at: row.time("created_at")?,
        since: row.time("since")?,
        took: row.try_get::<Option<PgInterval>, _>("took")?.map(wait),
        concurrency: group.zip(row.try_get("concurrency_key")?),
        tags: tags.into_iter().flatten().flatten().collect(),
        error: row.try_get("error")?,
    })
}

/// Who does something, and what the audit has to say of it.
#[derive(Clone, Copy)]
pub(crate) struct Act<'a> {
    pub(crate) actor: Option<&'a str>,
    pub(crate) detail: &'a Value,
}

/// Marks jobs as cancelled.
pub(crate) struct CancelMark<'a> {
    pub(crate) jobs: &'a [i64],
    /// `cancel` or `discard`.
    pub(crate) action: &'static str,
    pub(crate) act: Act<'a>,
}

impl Call for CancelMark<'_> {
    /// Those that are live.
    type Answer = Vec<i64>;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.cancel", jobs = self.jobs.len())
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/jobs_cancel_mark.sql"))
            .bind(self.jobs)
            .bind(self.action)
            .bind(self.act.actor)
            .bind(self.act.detail)
            .fetch_all(connection)
            .await
    }
}

/// Takes marked jobs from where they wait.
pub(crate) struct CancelTake<'a> {
    pub(crate) jobs: &'a [i64],
    /// `cancel` or `discard`.
    pub(crate) outcome: &'static str,
    pub(crate) reason: &'a str,
}

impl Call for CancelTake<'_> {
    /// Those that have ended.
    type Answer = Vec<i64>;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.cancel", jobs = self.jobs.len(), outcome = self.outcome)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/jobs_cancel_take.sql"))
            .bind(self.jobs)
            .bind(self.outcome)
            .bind(self.reason)
            .fetch_all(connection)
            .await
    }
}

/// Gives waiting jobs another time.
pub(crate) struct Reschedule<'a> {
    pub(crate) jobs: &'a [i64],
    /// `None` for now.
    pub(crate) run_at: Option<DateTime<Utc>>,
    pub(crate) act: Act<'a>,
}

impl Call for Reschedule<'_> {
    /// Those that were found waiting.
    type Answer = Vec<i64>;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.reschedule", jobs = self.jobs.len())
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/jobs_reschedule.sql"))
            .bind(self.jobs)
            .bind(self.run_at)
            .bind(self.act.actor)
            .bind(self.act.detail)
            .fetch_all(connection)
            .await
    }
}

/// Looks a job up.
pub(crate) struct JobState(pub(crate) i64);

/// Where a job is.
#[derive(Debug)]
pub(crate) struct StateRow {
    pub(crate) state: String,
    pub(crate) cancel_requested: bool,
}

impl Call for JobState {
    type Answer = Option<StateRow>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let row: Option<(String, bool)> = sqlx::query_as(include_str!("sql/jobs_state.sql"))
            .bind(self.0)
            .fetch_optional(connection)
            .await?;
        Ok(row.map(|(state, cancel_requested)| StateRow { state, cancel_requested }))
    }
}

/// Which of these jobs are live.
pub(crate) struct LiveOf<'a>(pub(crate) &'a [i64]);

impl Call for LiveOf<'_> {
    type Answer = Vec<i64>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Vec<i64>> {
        sqlx::query_scalar(include_str!("sql/jobs_selected.sql"))
            .bind(self.0)
            .fetch_all(connection)
            .await
    }
}
