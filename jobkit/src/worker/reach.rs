//! How handlers reach the database that their worker works for.

use std::fmt;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::store::{Link, interval, pause_key, pause_key_of};
use crate::{Error, JobId};

/// What a [`JobContext`](crate::JobContext) asks of the database. Its calls take turns, and its
/// connection is opened by the first.
pub(crate) struct Reach(Mutex<Link>);

impl Reach {
    pub(crate) fn new(link: Link) -> Self {
        Self(Mutex::new(link))
    }

    /// Pauses the concurrency key of a running job; false when it has none.
    pub(crate) async fn pause_key_of(&self, job: JobId, pause: Duration) -> Result<bool, Error> {
        self.0.lock().await.call(&pause_key_of(job.0, interval(pause))).await
    }

    /// Pauses any concurrency key; false when no worker has announced its group.
    pub(crate) async fn pause_key(
        &self,
        group: &str,
        key: &str,
        pause: Duration,
    ) -> Result<bool, Error> {
        self.0.lock().await.call(&pause_key(group, key, interval(pause), None, None)).await
    }
}

impl fmt::Debug for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reach").finish_non_exhaustive()
    }
}
