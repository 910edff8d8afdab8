use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;

use crate::Error;
use crate::store::{Call, Deadlines, Keep, Link, Plans};

mod audit;
mod connect;
mod dead_letters;
mod doctor;
mod explain;
mod jobs;
mod kinds;
mod list;
mod measures;
mod operate;
mod operations;
mod overview;
mod queues;
mod reason;
mod replay;
mod selected;
mod semaphores;
mod workers;

pub use self::dead_letters::{DeadLetterDiscarded, DeadLetterFilter};
pub use self::explain::Explanation;
pub use self::jobs::{Cancelled, Rescheduled};
pub use self::operate::{Begin, CarryOut};
pub use self::operations::BulkAction;
pub use self::reason::{KeyUse, Reason};
pub use self::replay::{Replay, ReplayError};
pub use self::selected::Selected;
pub use self::semaphores::{
    BlockedJob, ConcurrencyGroup, Limited, PermitHolder, Semaphore, SemaphoreDetail,
    SemaphoreFilter,
};
pub use self::workers::StopRequest;

/// The operator's view of the queue, for scripts, tests and dashboards.
///
/// Its connections are its own, made with the pool's options: the isolation level and deadlines of
/// its calls are jobkit's, whatever the pool's are. They may go through a transaction pooler: each
/// call is a transaction, and leaves nothing behind in the session. Clones share them. A few are
/// kept for a minute after their last call, never one whose call failed, or was dropped before it
/// had its answer.
///
/// On a server that only reads (a standby, or where `default_transaction_read_only` is on) it shows
/// what there is; what would change something fails with [`Error::ReadOnly`].
///
/// # Errors
/// Besides what a method says of itself, all of them fail with [`Error::Unreachable`],
/// [`Error::SchemaMissing`], [`Error::ReadOnly`], [`Error::Deadline`] (5 s for each statement) or
/// [`Error::Database`].
#[derive(Debug, Clone)]
pub struct Admin {
    pool: PgPool,
    keep: Arc<Keep>,
    /// Who uses it, for the audit.
    actor: Option<Arc<str>>,
    /// From how long on what waits is mentioned.
    late: Duration,
}

/// From how long on what waits is mentioned, unless somebody says otherwise.
const LATE: Duration = Duration::from_secs(5 * 60);

/// How long a statement may take.
const PATIENCE: Duration = Duration::from_secs(5);

impl Admin {
    /// How often a call looks for jobs that are just changing hands.
    const TRIES: u32 = 3;

    /// The view of the database behind this pool.
    #[must_use]
    pub fn new(pool: &PgPool) -> Self {
        Self { pool: pool.clone(), keep: Arc::default(), actor: None, late: LATE }
    }

    fn link(&self) -> Link {
        self.link_for(PATIENCE).kept(&self.keep, Plans::ByIndex)
    }

    /// A connection for lists.
    fn list_link(&self) -> Link {
        self.link_for(PATIENCE).kept(&self.keep, Plans::InOrder)
    }

    /// A connection on which a statement may take this long, and that is not kept.
    fn link_for(&self, call: Duration) -> Link {
        let deadlines = Deadlines { call, lock: call.mul_f64(0.8) };
        Link::new("admin", self.pool.clone(), deadlines).of_operator()
    }

    /// Makes one call.
    async fn ask<C: Call>(&self, call: &C) -> Result<C::Answer, Error> {
        let mut link = self.link();
        let answer = link.call(call).await?;
        link.close().await;
        Ok(answer)
    }
}

/// Gives whoever has a job in hand the time to put it down, before another attempt: 5 ms, then 10,
/// 20, ….
async fn let_hands_change(attempt: u32) {
    if attempt > 0 {
        tokio::time::sleep(Duration::from_millis(5 << (attempt - 1).min(5))).await;
    }
}

/// A number that is not negative: PostgreSQL has no types for these.
fn count<N: TryInto<u32>>(n: N) -> u32 {
    n.try_into().unwrap_or(0)
}
