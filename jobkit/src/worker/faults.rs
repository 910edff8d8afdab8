use std::sync::Arc;

use crate::error::DatabaseError;
use crate::lock::Lock;

/// How a write of outcomes fails; for
/// [`WorkerHandle::fail_next_settle`](crate::WorkerHandle::fail_next_settle).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettleFault {
    /// The write is not sent.
    Unsent,
    /// The write is committed, but the answer is lost. The worker writes it again, and learns that
    /// the claim is no longer held.
    Unanswered,
}

/// The fault of the next write, if any.
#[derive(Debug, Clone, Default)]
pub(crate) struct Faults(Arc<Lock<Option<SettleFault>>>);

impl Faults {
    pub(crate) fn set(&self, fault: SettleFault) {
        *self.0.lock() = Some(fault);
    }

    /// Makes the call, unless it should fail.
    pub(crate) async fn of<T>(
        &self,
        call: impl Future<Output = Result<T, DatabaseError>>,
    ) -> Result<T, DatabaseError> {
        let fault = self.0.lock().take();
        match fault {
            None => return call.await,
            Some(SettleFault::Unsent) => {}
            Some(SettleFault::Unanswered) => drop(call.await?),
        }
        let cut = std::io::Error::new(std::io::ErrorKind::ConnectionReset, "cut off by the test");
        Err(DatabaseError::Unreachable(sqlx::Error::Io(cut)))
    }
}
