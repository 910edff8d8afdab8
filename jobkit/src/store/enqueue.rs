use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::types::Json;

use super::call::{Statement, column, sparse};
use super::executor::Executor;
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
}

impl NewJob {
    /// Size of the payload and the metadata.
    pub(crate) fn bytes(&self) -> usize {
        self.args.get().len() + self.metadata.as_ref().map_or(0, |json| json.get().len())
    }
}

/// Stores a job in one statement. One that is due at once is spared the arrays: that takes half of
/// the server's time for it.
pub(crate) async fn enqueue<'c>(job: NewJob, executor: impl Executor<'c>) -> sqlx::Result<i64> {
    if job.after.is_some() || job.at.is_some() {
        let ids = enqueue_all(vec![job], executor).await?;
        return ids.first().copied().ok_or(sqlx::Error::RowNotFound);
    }
    let insert = Statement::<One<i64>>::new(include_str!("sql/jobs_enqueue_one.sql"))
        .bind(job.kind)
        .bind(job.queue)
        .bind(job.priority)
        .bind(job.max_attempts.cast_signed())
        .bind(job.group.filter(|_| job.key.is_some()))
        .bind(job.key)
        .bind(job.dead_letter_key)
        .bind(Box::<str>::from(job.args))
        .bind(Some(job.tags).filter(|tags| !tags.is_empty()))
        .bind(job.metadata.map(Json))
        .bind(job.version);
    insert.through(executor).await
}

/// Stores jobs in one statement; the ids come in the order of the jobs.
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
