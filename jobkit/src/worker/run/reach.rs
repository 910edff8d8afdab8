use std::fmt;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::JobId;
use crate::reach::{Answer, Reach};
use crate::store::{Link, interval, pause_key, pause_key_of};

/// What handlers ask of the database: their calls take turns on one connection, which the first
/// one opens.
pub(crate) struct Line(pub(crate) Mutex<Link>);

impl Reach for Line {
    fn pause_key_of(&self, job: JobId, pause: Duration) -> Answer<'_, bool> {
        Box::pin(
            async move { self.0.lock().await.call(&pause_key_of(job.0, interval(pause))).await },
        )
    }

    fn pause_key<'a>(&'a self, group: &'a str, key: &'a str, pause: Duration) -> Answer<'a, bool> {
        Box::pin(
            async move { self.0.lock().await.call(&pause_key(group, key, interval(pause))).await },
        )
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line").finish_non_exhaustive()
    }
}
