//! Success in a transaction of the handler.

use std::sync::atomic::{AtomicU8, Ordering};

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::PgConnection;

use super::{Attempt, JobContext};
use crate::error::ContextError;
use crate::returned::Returned;

impl<S> JobContext<S> {
    /// Completes the job in your transaction: its success commits or rolls back together with
    /// whatever else you write there. So the effect happens exactly once, whenever the process
    /// dies, and whether or not the response to your COMMIT arrives.
    ///
    /// ```
    /// # use jobkit::JobContext;
    /// # use sqlx::PgPool;
    /// # async fn run(cx: JobContext<PgPool>, order: i64) -> jobkit::Result {
    /// let mut tx = cx.state().begin().await?;
    /// sqlx::query("update orders set paid = true where id = $1")
    ///     .bind(order)
    ///     .execute(&mut *tx)
    ///     .await?;
    /// cx.complete_in(&mut tx).await?;
    /// tx.commit().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// From this call on, only a commit ends the job with success. The worker checks how the
    /// transaction ended before it writes anything. After a commit the job has ended, whatever the
    /// handler returns. After a rollback, `Ok` counts as a failed attempt, since the effect is
    /// missing, and any other return value counts as usual. While the transaction is open the
    /// worker waits, and the slot stays taken.
    ///
    /// Make it the last statement before the commit: from here on the job's row is locked, and a
    /// cancel of the job has to wait. Nothing else waits: the job has its own claim, and its permit
    /// is freed after the commit.
    ///
    /// The transaction must be READ COMMITTED and in the worker's database. If this call fails,
    /// return its error from the handler: a savepoint that swallows it would let the effect commit
    /// alone. In a test that calls `run` directly, with a context from the test kit, nothing is
    /// completed.
    ///
    /// # Errors
    /// [`ContextError::ClaimLost`] if the job no longer belongs to this attempt;
    /// [`ContextError::Cancelled`] if it was cancelled; [`ContextError::Isolation`];
    /// [`ContextError::OtherDatabase`]; [`ContextError::Busy`] if another transaction has locked
    /// the job for a second; [`ContextError::Database`].
    pub async fn complete_in(&self, connection: &mut PgConnection) -> Result<(), ContextError> {
        self.attempt.complete(connection, Returned::Nothing).await
    }

    /// Completes the job together with its result, for a job with `#[job(result = …)]`. What `run`
    /// returns after the commit is no longer recorded.
    ///
    /// # Errors
    /// Those of [`complete_in`](Self::complete_in). A result that is too large, or that does not
    /// survive JSON, is not an error: it is not kept, and the history says why.
    pub async fn complete_in_with<T: Serialize + DeserializeOwned + Sync + 'static>(
        &self,
        connection: &mut PgConnection,
        result: &T,
    ) -> Result<(), ContextError> {
        self.attempt.complete(connection, Returned::of(result)).await
    }
}

impl Attempt {
    async fn complete(
        &self,
        connection: &mut PgConnection,
        returned: Returned,
    ) -> Result<(), ContextError> {
        let Some(reach) = &self.reach else { return Ok(()) };
        let has_own = self.completing.ask().ok_or(ContextError::ClaimLost)?;
        let claim @ (worker, mut n) = self.report.claim();
        // Only once: a transaction that has completed the job holds its claim.
        if !has_own {
            let own = reach.part(claim, self.id).await.map_err(ContextError::of_completion)?;
            n = own.ok_or(ContextError::ClaimLost)?;
            self.report.moved(n);
            self.completing.has_own();
        }
        let times = (self.keep, self.report.began.elapsed());
        reach.complete(connection, (worker, n), self.id, times, &returned).await
    }
}

/// Whether the handler completes its job in a transaction of its own.
#[derive(Debug, Default)]
pub(crate) struct Completing(AtomicU8);

const ASKED: u8 = 1;
const OWN: u8 = 2;
const OVER: u8 = 3;

impl Completing {
    /// Records that it wants to. Returns whether the job has a claim of its own; `None` if the
    /// attempt is over.
    fn ask(&self) -> Option<bool> {
        let asked = |state: u8| (state != OVER).then_some(state.max(ASKED));
        let before = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, asked);
        before.ok().map(|before| before == OWN)
    }

    /// The job has a claim of its own.
    fn has_own(&self) {
        let own = |state: u8| (state != OVER).then_some(OWN);
        let _over = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, own);
    }

    /// Ends the attempt. Returns whether the handler wanted to complete it.
    pub(crate) fn end(&self) -> bool {
        matches!(self.0.swap(OVER, Ordering::AcqRel), ASKED | OWN)
    }
}
