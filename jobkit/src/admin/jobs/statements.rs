use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use tracing::debug_span;

use super::detail::JobDetail;
use super::enqueue::Wishes;
use super::query::{JobQuery, Listing};
use super::report::{
    AttemptReport, Checkpoint, KeptStep, StoredCheckpoint, StoredReport, StoredStep,
};
use super::summary::{Ended, JobSummary, State};
use crate::JobId;
use crate::admin::Count;
use crate::admin::columns::{concurrency, metadata, payload, result, tags};
use crate::schedule::scheduled;
use crate::store::{
    Answer, Call, FromRow, One, ReadColumn, Statement, from_column, from_row, interval, statements,
};
use crate::terms::Terms;
use crate::unique::{OnDuplicate, While};

statements! {
    /// How many jobs each of these listings has, as far as counted.
    fn jobs_count(listings: &[&str]) -> ListingCounts = include_str!("sql/jobs_count.sql");

    /// Whether a search by these paths of payloads misses jobs of this kind, or of any.
    fn jobs_withheld(kind: Option<&str>, paths: &[&str]) -> One<bool>
        = include_str!("sql/jobs_withheld.sql");

    /// A live job.
    fn live_job(job: i64) -> Option<JobDetail> = include_str!("sql/jobs_get.sql");

    /// A job that has ended, or is a dead letter.
    fn ended_job(job: i64) -> Option<JobDetail> = include_str!("sql/jobs_get_ended.sql");

    /// Marks jobs as cancelled, for `cancel` or `discard`: the mark ends them at their next
    /// transition. Returns those that are live.
    fn cancel_mark(jobs: &[i64], action: &str, actor: Option<&str>, detail: &Value) -> Vec<i64>
        = "select * from jobkit.cancel_mark($1, $2, $3, $4)",
        debug_span!("jobkit.cancel", jobs = jobs.len());

    /// Ends marked jobs that wait. Returns those that have ended.
    fn cancel_take(jobs: &[i64], outcome: &str, reason: &str) -> Vec<i64>
        = "select * from jobkit.cancel_take($1, $2, $3)",
        debug_span!("jobkit.cancel", jobs = jobs.len(), outcome);

    /// Reschedules waiting jobs, `None` for now. Returns those that were found.
    fn reschedule(jobs: &[i64], run_at: Option<DateTime<Utc>>, actor: Option<&str>, detail: &Value)
        -> Vec<i64>
        = "select * from jobkit.reschedule($1, $2, $3, $4)",
        debug_span!("jobkit.reschedule", jobs = jobs.len());

    /// Where a job is.
    fn job_state(job: i64) -> Option<JobState> = include_str!("sql/jobs_state.sql");

    /// Which of these jobs are live.
    fn live_of(jobs: &[i64]) -> Vec<i64>
        = "select j.id from jobkit.jobs j where j.id = any ($1) order by j.id";
}

/// Enqueues a job by the name of its kind. Returns its id, and whether it is new.
pub(super) fn enqueue_by_kind(
    actor: Option<&str>,
    kind: &str,
    args: &Value,
    wishes: &Wishes,
    terms: &Terms,
) -> Statement<One<(i64, String)>> {
    let unique = &wishes.unique;
    Statement::new(include_str!("sql/jobs_enqueue_by_kind.sql"))
        .bind(actor)
        .bind(kind)
        .bind(args)
        .bind(&wishes.queue)
        .bind(wishes.run_at)
        .bind(wishes.priority)
        .bind(wishes.max_attempts)
        .bind(&wishes.concurrency_key)
        .bind(&wishes.tags)
        .bind(&wishes.metadata)
        .bind(&wishes.dead_letter_key)
        .bind(wishes.version.map(i32::from))
        .bind(unique.key.as_ref().filter(|_| !unique.coalesces))
        .bind(unique.holds.map(While::as_str))
        .bind(unique.at_least.map(interval))
        .bind(unique.on_duplicate.map(OnDuplicate::as_str))
        .bind(unique.group.as_ref().filter(|_| !unique.coalesces))
        .bind(unique.key.as_ref().filter(|_| unique.coalesces))
        .bind(unique.group.as_ref().filter(|_| unique.coalesces))
        .bind(terms.some().map(Json))
}

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

/// Looks at a page of a listing.
pub(crate) fn jobs_list(list: &JobsList<'_>) -> Statement<Listed> {
    let sql = match list.listing {
        Listing::Finished | Listing::Discarded | Listing::Cancelled => {
            include_str!("sql/jobs_list_ended.sql")
        }
        _ => include_str!("sql/jobs_list.sql"),
    };
    Statement::new(sql)
        .bind(list.query.filter())
        .bind(list.listing.as_str())
        .bind(list.place)
        .bind(list.window)
        .bind(list.rows)
}

/// The rows of such a page.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub(crate) jobs: Vec<JobSummary>,
    /// How many of those looked at match.
    pub(crate) matching: i64,
    pub(crate) looked_at: i64,
    /// The place of its last job if it is full, else of the last job looked at if there may be
    /// more.
    pub(crate) next: Option<String>,
}

impl Answer for Listed {
    type Read = Self;

    fn read(rows: &[PgRow]) -> sqlx::Result<Self> {
        let mut listed = Self::default();
        for row in rows {
            listed.matching = row.read("matching")?;
            listed.looked_at = row.read("looked_at")?;
            listed.next = row.read("next")?;
            if row.read::<Option<JobId>>("id")?.is_some() {
                listed.jobs.push(JobSummary::from_row(row)?);
            }
        }
        Ok(listed)
    }
}

/// The number of jobs in each listing.
pub(crate) enum ListingCounts {}

impl Answer for ListingCounts {
    type Read = Vec<(Listing, Count)>;

    fn read(rows: &[PgRow]) -> sqlx::Result<Self::Read> {
        let rows = Vec::<(String, Count)>::read(rows)?;
        let counted = |listing: Listing| {
            let row = rows.iter().find(|(name, _)| name == listing.as_str());
            (listing, row.map_or(Count::Exactly(0), |(_, count)| *count))
        };
        Ok(Listing::ALL.map(counted).to_vec())
    }
}

/// A job with everything known about it, live or not.
pub(crate) struct OneJob(pub(crate) i64);

impl Call for OneJob {
    type Answer = Option<JobDetail>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        match live_job(self.0).call(connection).await? {
            Some(live) => Ok(Some(live)),
            None => ended_job(self.0).call(connection).await,
        }
    }
}

from_row! {
    JobDetail { version, attempts: "errors", reports, checkpoint, steps, crashes,
        snoozes, cancel_requested_at, permit_since, dead_letter_key, unique_group: "unique_scope",
        unique_key, coalesces, batch: "batch_id", callback_of, replays, dead_letter,
        replayed_by: "replay_id", reason, expires_at, topic;
        summary: JobSummary::from_row, args: payload, metadata: metadata, result: result,
        schedule: schedule }
}

fn schedule(row: &PgRow) -> sqlx::Result<Option<(String, DateTime<Utc>)>> {
    let metadata: Option<String> = row.read("metadata")?;
    Ok(metadata.and_then(|metadata| scheduled(&metadata)))
}

from_row! {
    JobSummary { id, state, ended: "outcome", kind, queue, priority, attempt, max_attempts, worker:
        "worker_id", cancel_requested, run_at, created_at, since, took, error; concurrency:
        concurrency, tags: tags }
}

from_column! {
    Vec<AttemptReport>: Json<Vec<StoredReport>> =>
        |Json(reports)| reports.into_iter().map(StoredReport::report).collect();
    Vec<KeptStep>: Json<Vec<StoredStep>> =>
        |Json(steps)| steps.into_iter().map(StoredStep::step).collect();
    Checkpoint: Json<StoredCheckpoint> => |Json(stored)| stored.checkpoint();
    State: &str => State::of;
    Ended: &str => |name| Ended::of(name).unwrap_or(Ended::Succeeded);
}

/// Where a job is.
#[derive(Debug)]
pub(crate) struct JobState {
    pub(crate) state: State,
    pub(crate) cancel_requested: bool,
}

from_row! {
    JobState { state, cancel_requested }
}
