use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use sqlx::PgConnection;

use crate::batch_end::BatchEnd;
use crate::end::End;
use crate::error::{ContextError, DatabaseError};
use crate::reach::{Answer, Completion, Reach};
use crate::returned::Returned;
use crate::store::{
    Ask, Call, ClaimId, batch_of_callback, complete, completion, interval, last_checkpoint,
    limiter_paused, members_ended, part, pause_key, pause_key_of, save_step, steps_of, take_slot,
};
use crate::worker::shared::ledger::Ledger;
use crate::{BatchId, JobId};

/// The handlers' access to the database. The handlers of a worker take turns on one connection,
/// which the first one opens.
pub(crate) struct Line<A> {
    pub(crate) asks: A,
    /// Where claims are numbered. `None` if handlers use the connection that holds the claims, and
    /// so block nobody.
    pub(crate) ledger: Option<Arc<Ledger>>,
}

impl<A: Ask> Reach for Line<A> {
    fn pause_key_of(&self, job: JobId, pause: Duration) -> Answer<'_, bool> {
        Box::pin(self.asks.ask(pause_key_of(job.0, interval(pause))))
    }

    fn take_slot<'a>(
        &'a self,
        limiter: &'a str,
        key: &'a str,
        job: JobId,
        most: Option<Duration>,
    ) -> Answer<'a, Option<(Duration, bool)>> {
        Box::pin(self.asks.ask(take_slot(limiter, key, job.0, most.map(interval))))
    }

    fn limiter_paused<'a>(&'a self, limiter: &'a str, key: &'a str) -> Answer<'a, bool> {
        Box::pin(self.asks.ask(limiter_paused(limiter, key)))
    }

    fn pause_key<'a>(&'a self, group: &'a str, key: &'a str, pause: Duration) -> Answer<'a, bool> {
        Box::pin(self.asks.ask(pause_key(group, key, interval(pause))))
    }

    fn save_step<'a>(
        &'a self,
        (worker, n): (i64, i64),
        JobId(job): JobId,
        attempt: u32,
        name: &'a str,
        value: &'a str,
    ) -> Answer<'a, bool> {
        let attempt = i32::try_from(attempt).unwrap_or(i32::MAX);
        Box::pin(self.asks.ask(save_step(worker, n, job, attempt, name, value)))
    }

    fn save_step_in<'a>(
        &'a self,
        connection: &'a mut PgConnection,
        (worker, n): (i64, i64),
        JobId(job): JobId,
        attempt: u32,
        name: &'a str,
        value: &'a str,
    ) -> Answer<'a, bool> {
        let attempt = i32::try_from(attempt).unwrap_or(i32::MAX);
        Box::pin(async move {
            Ok(save_step(worker, n, job, attempt, name, value).call(connection).await?)
        })
    }

    fn steps_of(&self, JobId(job): JobId) -> Answer<'_, Vec<(String, String)>> {
        Box::pin(self.asks.ask(steps_of(job)))
    }

    fn last_checkpoint(&self, job: JobId) -> Answer<'_, Option<String>> {
        Box::pin(self.asks.ask(last_checkpoint(job.0)))
    }

    fn batch_end(&self, JobId(job): JobId) -> Answer<'_, Option<BatchEnd>> {
        Box::pin(async move { Ok(BatchEnd::of(self.asks.ask(batch_of_callback(job)).await?)) })
    }

    fn members_ended(
        &self,
        BatchId(batch): BatchId,
        after: i64,
        rows: i64,
    ) -> Answer<'_, Vec<(JobId, End)>> {
        Box::pin(async move {
            let ends = self.asks.ask(members_ended(batch, after, rows)).await?;
            Ok(ends.into_iter().map(|row| (JobId(row.job), End::of(row))).collect())
        })
    }

    fn part(&self, (worker, n): (i64, i64), JobId(job): JobId) -> Answer<'_, Option<i64>> {
        let own = |ledger: &Ledger| ledger.part(ClaimId { worker, n }, job);
        let parting = self.ledger.as_ref().and_then(|ledger| Some((ledger, own(ledger)?)));
        let Some((ledger, own)) = parting else { return Box::pin(ready(Ok(Some(n)))) };
        Box::pin(async move {
            let claim = self.asks.ask(part(worker, n, own, job)).await?;
            if claim == Some(own) {
                ledger.parted(ClaimId { worker, n }, job);
            }
            Ok(claim)
        })
    }

    fn completion<'a>(
        &'a self,
        worker: i64,
        claims: &'a [i64],
        job: JobId,
    ) -> Answer<'a, Completion> {
        Box::pin(self.asks.ask(completion(worker, claims, job.0)))
    }

    fn complete<'a>(
        &'a self,
        connection: &'a mut PgConnection,
        (worker, n): (i64, i64),
        job: JobId,
        (keep, took): (Option<Duration>, Duration),
        returned: &'a Returned,
    ) -> Answer<'a, (), ContextError> {
        let (reason, result) = match returned {
            Returned::Nothing => (None, None),
            Returned::Value(json) => (None, Some(&**json)),
            Returned::Unfit(why) => (Some(&**why), None),
        };
        let (keep, took) = (keep.map(interval), interval(took));
        let complete = complete(worker, n, job.0, keep, took, reason, result);
        Box::pin(async move {
            let answer = complete.call(connection).await;
            let answer = answer.map_err(|error| ContextError::of_completion(error.into()))?;
            match &*answer {
                "finish" => Ok(()),
                "cancel" => Err(ContextError::Cancelled),
                _ if self.holds((worker, n), job).await? => Err(ContextError::OtherDatabase),
                _ => Err(ContextError::ClaimLost),
            }
        })
    }
}

impl<A: Ask> Line<A> {
    /// Whether a claim holds a job, checked on the worker's connection; unnecessary if the handler
    /// uses the same one.
    async fn holds(
        &self,
        (worker, n): (i64, i64),
        JobId(job): JobId,
    ) -> Result<bool, DatabaseError> {
        if self.ledger.is_none() {
            return Ok(false);
        }
        let seen = self.asks.ask(completion(worker, &[n], job)).await?;
        Ok(matches!(seen, Completion::Held(_)))
    }
}

impl<A> fmt::Debug for Line<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}
