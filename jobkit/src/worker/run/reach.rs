use std::fmt;
use std::time::Duration;

use crate::JobId;
use crate::reach::{Answer, Reach};
use crate::store::{
    Ask, checkpoint, interval, last_checkpoint, limiter_paused, pause_key, pause_key_of, take_slot,
};

/// What handlers ask of the database, by whatever makes their calls: those of a worker take turns
/// on one connection, which the first one opens.
pub(crate) struct Line<A>(pub(crate) A);

impl<A: Ask> Reach for Line<A> {
    fn pause_key_of(&self, job: JobId, pause: Duration) -> Answer<'_, bool> {
        Box::pin(self.0.ask(pause_key_of(job.0, interval(pause))))
    }

    fn take_slot<'a>(
        &'a self,
        limiter: &'a str,
        key: &'a str,
        job: JobId,
        most: Option<Duration>,
    ) -> Answer<'a, Option<(Duration, bool)>> {
        Box::pin(self.0.ask(take_slot(limiter, key, job.0, most.map(interval))))
    }

    fn limiter_paused<'a>(&'a self, limiter: &'a str, key: &'a str) -> Answer<'a, bool> {
        Box::pin(self.0.ask(limiter_paused(limiter, key)))
    }

    fn pause_key<'a>(&'a self, group: &'a str, key: &'a str, pause: Duration) -> Answer<'a, bool> {
        Box::pin(self.0.ask(pause_key(group, key, interval(pause))))
    }

    fn checkpoint<'a>(
        &'a self,
        (worker, n): (i64, i64),
        JobId(job): JobId,
        attempt: u32,
        value: &'a str,
    ) -> Answer<'a, bool> {
        let attempt = i32::try_from(attempt).unwrap_or(i32::MAX);
        Box::pin(self.0.ask(checkpoint(worker, n, job, attempt, value)))
    }

    fn last_checkpoint(&self, job: JobId) -> Answer<'_, Option<String>> {
        Box::pin(self.0.ask(last_checkpoint(job.0)))
    }
}

impl<A> fmt::Debug for Line<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}
