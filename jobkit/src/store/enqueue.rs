use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::postgres::types::PgInterval;
use sqlx::types::Json;
use sqlx::{PgExecutor, Row};

use super::worker::{interval, sparse};

/// A job to be stored; everything in it has been checked.
#[derive(Debug)]
pub(crate) struct NewJob {
    pub(crate) kind: &'static str,
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

/// The columns of several new jobs.
#[derive(Default)]
struct Columns {
    kinds: Vec<&'static str>,
    queues: Vec<String>,
    priorities: Vec<i16>,
    max_attempts: Vec<i16>,
    delays: Vec<Option<PgInterval>>,
    times: Vec<Option<DateTime<Utc>>>,
    groups: Vec<Option<&'static str>>,
    keys: Vec<Option<String>>,
    args: Vec<Json<Box<RawValue>>>,
    tags: Vec<Option<Json<Vec<String>>>>,
    metadata: Vec<Option<Json<Box<RawValue>>>>,
    dead_letter_keys: Vec<Option<String>>,
}

impl Columns {
    fn push(&mut self, job: NewJob) {
        self.kinds.push(job.kind);
        self.queues.push(job.queue);
        self.priorities.push(job.priority);
        self.max_attempts.push(job.max_attempts.cast_signed());
        self.delays.push(job.after.map(interval));
        self.times.push(job.at);
        self.groups.push(job.group);
        self.keys.push(job.key);
        self.args.push(Json(job.args));
        self.tags.push(Some(job.tags).filter(|tags| !tags.is_empty()).map(Json));
        self.metadata.push(job.metadata.map(Json));
        self.dead_letter_keys.push(job.dead_letter_key);
    }
}

/// Stores a job in one statement. One that is due at once is spared the arrays: that takes half of
/// the server's time for it.
pub(crate) async fn enqueue<'c>(job: NewJob, executor: impl PgExecutor<'c>) -> sqlx::Result<i64> {
    if job.after.is_some() || job.at.is_some() {
        let ids = enqueue_all(vec![job], executor).await?;
        return ids.first().copied().ok_or(sqlx::Error::RowNotFound);
    }
    let row = sqlx::query(include_str!("sql/jobs_enqueue_one.sql"))
        .bind(job.kind)
        .bind(job.queue)
        .bind(job.priority)
        .bind(job.max_attempts.cast_signed())
        .bind(job.group.filter(|_| job.key.is_some()))
        .bind(job.key)
        .bind(job.dead_letter_key)
        .bind(Json(job.args))
        .bind(Some(job.tags).filter(|tags| !tags.is_empty()))
        .bind(job.metadata.map(Json))
        .fetch_one(executor)
        .await?;
    row.try_get(0)
}

/// Stores jobs in one statement; the ids come in the order of the jobs.
pub(crate) async fn enqueue_all<'c>(
    jobs: Vec<NewJob>,
    executor: impl PgExecutor<'c>,
) -> sqlx::Result<Vec<i64>> {
    let mut columns = Columns::default();
    jobs.into_iter().for_each(|job| columns.push(job));
    sqlx::query_scalar(include_str!("sql/jobs_enqueue.sql"))
        .bind(columns.kinds)
        .bind(columns.queues)
        .bind(columns.priorities)
        .bind(columns.max_attempts)
        .bind(columns.delays)
        .bind(columns.times)
        .bind(columns.groups)
        .bind(columns.keys)
        .bind(columns.args)
        .bind(columns.tags)
        .bind(columns.metadata)
        .bind(sparse(columns.dead_letter_keys.into_iter()))
        .fetch_all(executor)
        .await
}
