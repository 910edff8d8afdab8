//! How handlers reach the database that their worker works for.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use sqlx::PgConnection;

use crate::JobId;
use crate::error::{ContextError, DatabaseError};
use crate::returned::Returned;

/// An answer of the database.
pub(crate) type Answer<'a, T, E = DatabaseError> =
    Pin<Box<dyn Future<Output = Result<T, E>> + Send + 'a>>;

/// What has become of a job that its handler completed, or meant to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The transaction is not over.
    Open,
    /// This claim holds the job: nothing was completed.
    Held(i64),
    /// It has ended with success. There is its permit to be freed, in this claim.
    Finished(Option<i64>),
    /// The worker was reaped: nobody asks it any more.
    Lost,
}

/// What a [`JobContext`](crate::JobContext) asks of its worker's database.
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

    /// Keeps where a job is, in the name of the claim (worker and number) under which it runs;
    /// false when that does not hold it any more.
    fn checkpoint<'a>(
        &'a self,
        claim: (i64, i64),
        job: JobId,
        attempt: u32,
        value: &'a str,
    ) -> Answer<'a, bool>;

    /// What was kept last, as JSON.
    fn last_checkpoint(&self, job: JobId) -> Answer<'_, Option<String>>;

    /// Lets a running job have a claim of its own, in place of one (worker and number) that lists
    /// others, too: its number. `None` when the worker does not hold the job any more.
    fn part(&self, claim: (i64, i64), job: JobId) -> Answer<'_, Option<i64>>;

    /// What has become of a job that its handler completed, or meant to, under one of these claims.
    fn completion<'a>(
        &'a self,
        worker: i64,
        claims: &'a [i64],
        job: JobId,
    ) -> Answer<'a, Completion>;

    /// Completes a running job, whose claim is one of its own, through a connection of its
    /// handler's: with how long it is kept and how long it took, and what it returned.
    fn complete<'a>(
        &'a self,
        connection: &'a mut PgConnection,
        claim: (i64, i64),
        job: JobId,
        times: (Option<Duration>, Duration),
        returned: &'a Returned,
    ) -> Answer<'a, (), ContextError>;
}
