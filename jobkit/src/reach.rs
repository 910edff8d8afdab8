//! How handlers reach the database of their worker.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use sqlx::PgConnection;

use crate::batch_end::BatchEnd;
use crate::end::End;
use crate::error::{ContextError, DatabaseError};
use crate::returned::Returned;
use crate::{BatchId, JobId};

/// An answer of the database.
pub(crate) type Answer<'a, T, E = DatabaseError> =
    Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// The state of a job whose handler completed it, or tried to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The transaction is not over.
    Open,
    /// This claim holds the job: nothing was completed.
    Held(i64),
    /// It has succeeded. If it held a permit, this is the claim in which to free it.
    Finished(Option<i64>),
    /// The worker was reaped, so its answer no longer matters.
    Lost,
}

/// What a [`JobContext`](crate::JobContext) needs from its worker's database.
pub(crate) trait Reach: fmt::Debug + Send + Sync {
    /// Pauses the concurrency key of a running job; false when it has none.
    fn pause_key_of(&self, job: JobId, pause: Duration) -> Answer<'_, bool>;

    /// A slot of a limiter: how long until it comes, and whether it is the job's. `None` when no
    /// worker has announced the limiter.
    fn take_slot<'a>(
        &'a self,
        limiter: &'a str,
        key: &'a str,
        job: JobId,
        most: Option<Duration>,
    ) -> Answer<'a, Option<(Duration, bool)>>;

    /// Whether the key of a limiter is paused.
    fn limiter_paused<'a>(&'a self, limiter: &'a str, key: &'a str) -> Answer<'a, bool>;

    /// Pauses any concurrency key; false when no worker has announced its group.
    fn pause_key<'a>(&'a self, group: &'a str, key: &'a str, pause: Duration) -> Answer<'a, bool>;

    /// Saves a step of a job, for the claim (worker and number) under which it runs; false if that
    /// no longer holds it. Without a name it is the checkpoint.
    fn save_step<'a>(
        &'a self,
        claim: (i64, i64),
        job: JobId,
        attempt: u32,
        name: &'a str,
        value: &'a str,
    ) -> Answer<'a, bool>;

    /// The same for a job that has its own claim, through a connection of its handler.
    fn save_step_in<'a>(
        &'a self,
        connection: &'a mut PgConnection,
        claim: (i64, i64),
        job: JobId,
        attempt: u32,
        name: &'a str,
        value: &'a str,
    ) -> Answer<'a, bool>;

    /// The steps of a job: names, and values as JSON.
    fn steps_of(&self, job: JobId) -> Answer<'_, Vec<(String, String)>>;

    /// The last checkpoint, as JSON.
    fn last_checkpoint(&self, job: JobId) -> Answer<'_, Option<String>>;

    /// The batch that this job is a callback of, and how many members it has had with each outcome.
    fn batch_end(&self, job: JobId) -> Answer<'_, Option<BatchEnd>>;

    /// The next members of a batch that have ended, after this job.
    fn members_ended(&self, batch: BatchId, after: i64, rows: i64)
    -> Answer<'_, Vec<(JobId, End)>>;

    /// Moves a running job from a claim (worker and number) that lists others, too, into a claim of
    /// its own, and returns the number of that; `None` if the worker no longer holds the job.
    fn part(&self, claim: (i64, i64), job: JobId) -> Answer<'_, Option<i64>>;

    /// The state of a job whose handler completed it, or tried to, under one of these claims.
    fn completion<'a>(
        &'a self,
        worker: i64,
        claims: &'a [i64],
        job: JobId,
    ) -> Answer<'a, Completion>;

    /// Completes a running job that has its own claim, through a connection of its handler: with
    /// how long it is kept, how long it took, and what it returned.
    fn complete<'a>(
        &'a self,
        connection: &'a mut PgConnection,
        claim: (i64, i64),
        job: JobId,
        times: (Option<Duration>, Duration),
        returned: &'a Returned,
    ) -> Answer<'a, (), ContextError>;
}
