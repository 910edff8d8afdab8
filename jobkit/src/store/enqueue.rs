use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::types::Json;

use super::call::{Statement, column, sparse};
use super::executor::Executor;
use super::insert::{Insert, ONE};
use super::read::One;
use super::time::interval;

/// A job to be stored; everything in it has been checked.
#[derive(Debug)]
pub(crate) struct NewJob {
    pub(crate) kind: &'static str,
    /// Of the payload; `None` is 1.
    pub(crate) version: Option<i16>,
    pub(crate) queue: String,
    pub(crate) priority: i16,
    pub(crate) max_attempts: u16,
    pub(crate) after: Option<Duration>,
    pub(crate) at: Option<DateTime<Utc>>,
    pub(crate) group: Option<&'static str>,
    pub(crate) key: Option<String>,
    pub(crate) dead_letter_key: Option<String>,
    pub(crate) args: Box<RawValue>,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Option<Box<RawValue>>,
    pub(crate) unique: Option<UniqueKey>,
}

/// A unique key, and what goes with it; or the key of a job that coalesces.
#[derive(Debug)]
pub(crate) struct UniqueKey {
    /// The kind, or a group.
    pub(crate) scope: String,
    pub(crate) key: String,
    pub(crate) holds: &'static str,
    pub(crate) at_least: Option<Duration>,
    /// `None` for a job that coalesces.
    pub(crate) on_duplicate: Option<&'static str>,
}

impl NewJob {
    /// The metadata, with the size of the payload: both share a limit.
    pub(crate) fn metadata(&mut self) -> (usize, &mut Option<Box<RawValue>>) {
        (self.args.get().len(), &mut self.metadata)
    }

    /// Whether it only has to be inserted: it is due at once, and no other job can be in its way.
    pub(super) fn is_plain(&self) -> bool {
        self.after.is_none() && self.at.is_none() && self.unique.is_none()
    }

    /// Size of the payload and the metadata.
    pub(crate) fn bytes(&self) -> usize {
        self.args.get().len() + self.metadata.as_ref().map_or(0, |json| json.get().len())
    }
}

/// Stores a job in one statement.
pub(crate) async fn enqueue<'c>(job: NewJob, executor: impl Executor<'c>) -> sqlx::Result<i64> {
    if job.is_plain() {
        return plain(&job).through(executor).await;
    }
    let Insert { sql, parameters } = Insert::from(job);
    let insert = Statement::<One<i64>>::new(sql);
    parameters.into_iter().fold(insert, Statement::bind).through(executor).await
}

/// Inserts a job that has nothing to wait for.
fn plain(job: &NewJob) -> Statement<One<i64>> {
    Statement::new(ONE)
        .bind(job.kind)
        .bind(&*job.queue)
        .bind(job.priority)
        .bind(job.max_attempts.cast_signed())
        .bind(job.group.filter(|_| job.key.is_some()))
        .bind(job.key.as_deref())
        .bind(job.dead_letter_key.as_deref())
        .bind(job.args.get())
        .bind(Some(&job.tags).filter(|tags| !tags.is_empty()))
        .bind(job.metadata.as_deref().map(Json))
        .bind(job.version)
}

/// Stores a job for each kind that subscribes: says which these are.
pub(crate) async fn publish<'c>(
    insert: Insert,
    executor: impl Executor<'c>,
) -> sqlx::Result<Vec<(i64, String)>> {
    enqueue_unique(insert, executor).await
}

/// Stores jobs in one statement, some of which have unique keys: says of each what became of it.
pub(crate) async fn enqueue_unique<'c>(
    insert: Insert,
    executor: impl Executor<'c>,
) -> sqlx::Result<Vec<(i64, String)>> {
    let Insert { sql, parameters } = insert;
    let insert = Statement::<Vec<(i64, String)>>::new(sql);
    parameters.into_iter().fold(insert, Statement::bind).through(executor).await
}

/// Stores jobs in one statement; the ids come in the order of the jobs. The columns go as arrays,
/// not as their text: that spares the server a fiftieth, and a second copy of all payloads.
pub(crate) async fn enqueue_all<'c>(
    jobs: Vec<NewJob>,
    executor: impl Executor<'c>,
) -> sqlx::Result<Vec<i64>> {
    let insert = Statement::<Vec<i64>>::new(include_str!("sql/jobs_enqueue.sql"))
        .bind(column(&jobs, |job| job.kind))
        .bind(column(&jobs, |job| &*job.queue))
        .bind(column(&jobs, |job| job.priority))
        .bind(column(&jobs, |job| job.max_attempts.cast_signed()))
        .bind(sparse(jobs.iter().map(|job| job.after.map(interval))))
        .bind(sparse(jobs.iter().map(|job| job.at)))
        .bind(sparse(jobs.iter().map(|job| job.group)))
        .bind(sparse(jobs.iter().map(|job| job.key.as_deref())))
        .bind(column(&jobs, |job| job.args.get()))
        .bind(sparse(
            jobs.iter().map(|job| Some(Json(&job.tags)).filter(|Json(tags)| !tags.is_empty())),
        ))
        .bind(sparse(jobs.iter().map(|job| job.metadata.as_deref().map(Json))))
        .bind(sparse(jobs.iter().map(|job| job.dead_letter_key.as_deref())))
        .bind(sparse(jobs.iter().map(|job| job.version)));
    insert.through(executor).await
}
