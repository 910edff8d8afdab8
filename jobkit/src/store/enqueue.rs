use sqlx::types::Json;

use super::call::{Statement, column, sparse};
use super::executor::Executor;
use super::insert::{Insert, ONE};
use super::new_job::NewJob;
use super::read::One;
use super::time::interval;

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
