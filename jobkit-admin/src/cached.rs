//! A value that many viewers see, read once and shared.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jobkit::admin::AdminError;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// A value older than this is read again.
const FRESH: Duration = Duration::from_secs(1);

/// A value, and when it was read.
type Read<T> = Option<(Instant, Arc<T>)>;

pub(crate) struct Cached<T>(Mutex<Read<T>>);

impl<T> Default for Cached<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Cached<T> {
    /// The value. The first caller reads it, and the others wait for the result.
    pub(crate) async fn get<F>(&self, read: F) -> Result<Arc<T>, AdminError>
    where
        F: Future<Output = Result<T, AdminError>>,
    {
        let mut known = self.0.lock().await;
        if let Some((at, value)) = &*known
            && at.elapsed() < FRESH
        {
            return Ok(value.clone());
        }
        let value = Arc::new(read.await?);
        *known = Some((Instant::now(), value.clone()));
        Ok(value)
    }

    /// Discards the value after a change.
    pub(crate) async fn forget(&self) {
        *self.0.lock().await = None;
    }
}
