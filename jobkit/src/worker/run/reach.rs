use std::fmt;
use std::time::Duration;

use crate::JobId;
use crate::reach::{Answer, Reach};
use crate::store::{Ask, interval, pause_key, pause_key_of};

/// What handlers ask of the database, by whatever makes their calls: those of a worker take turns
/// on one connection, which the first one opens.
pub(crate) struct Line<A>(pub(crate) A);

impl<A: Ask> Reach for Line<A> {
    fn pause_key_of(&self, job: JobId, pause: Duration) -> Answer<'_, bool> {
        Box::pin(self.0.ask(pause_key_of(job.0, interval(pause))))
    }

    fn pause_key<'a>(&'a self, group: &'a str, key: &'a str, pause: Duration) -> Answer<'a, bool> {
        Box::pin(self.0.ask(pause_key(group, key, interval(pause))))
    }
}

impl<A> fmt::Debug for Line<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}
