use std::fmt;
use std::time::Duration;

use sqlx::postgres::types::PgInterval;
use tokio::sync::Mutex;
use tracing::debug_span;

use crate::JobId;
use crate::reach::{Answer, Reach};
use crate::store::{Link, One, interval, statements};

statements! {
    /// Pauses a concurrency key for so long. Whether some worker has announced its group.
    fn pause_key(group: &str, key: &str, pause: PgInterval) -> One<bool>
        = "select jobkit.pause_key($1, $2, $3)",
        debug_span!("jobkit.pause", group, key);

    /// Pauses the concurrency key of a job. Whether it has one.
    fn pause_key_of(job: i64, pause: PgInterval) -> One<bool>
        = "select jobkit.pause_key_of($1, $2)",
        debug_span!("jobkit.pause", job);
}

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
