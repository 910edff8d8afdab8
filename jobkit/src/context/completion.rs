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
        self.completing.ask()?;
        let claim = self.own_claim().await?;
        let times = (self.keep, self.report.began.elapsed());
        reach.complete(connection, claim, self.id, times, &returned).await
    }

    /// The claim (worker and number) of this job alone, so that a transaction of its handler holds
    /// up no other job.
    pub(super) async fn own_claim(&self) -> Result<(i64, i64), ContextError> {
        let claim @ (worker, _) = self.report.claim();
        let Some(reach) = &self.reach else { return Ok(claim) };
        // Only once: a transaction that has completed the job holds its claim.
        if self.completing.has_own()? {
            return Ok(self.report.claim());
        }
        self.completing.set(PARTING)?;
        let own = reach.part(claim, self.id).await.map_err(ContextError::of_completion)?;
        let n = own.ok_or(ContextError::ClaimLost)?;
        self.report.moved(n);
        self.completing.set(OWN)?;
        Ok((worker, n))
    }
}

/// Whether the handler of an attempt completed its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completed {
    /// It did, or tried to.
    Perhaps,
    /// It did not; whether the job has a claim of its own, if that is known.
    No { moved: Option<bool> },
}

/// Whether the handler writes in transactions of its own under the claim of its job.
#[derive(Debug, Default)]
pub(crate) struct Completing(AtomicU8);

/// It completes the job, or tried to.
const ASKED: u8 = 1;
/// The job has a claim of its own.
const OWN: u8 = 2;
/// It was to get one, and whether it did is not known.
const PARTING: u8 = 4;
/// The attempt is over.
const OVER: u8 = 8;

impl Completing {
    /// Records that it wants to complete the job.
    fn ask(&self) -> Result<(), ContextError> {
        self.set(ASKED)
    }

    fn has_own(&self) -> Result<bool, ContextError> {
        match self.0.load(Ordering::Acquire) {
            state if state & OVER != 0 => Err(ContextError::ClaimLost),
            state => Ok(state & OWN != 0),
        }
    }

    fn set(&self, what: u8) -> Result<(), ContextError> {
        let is_over = self.0.fetch_or(what, Ordering::AcqRel) & OVER != 0;
        if is_over { Err(ContextError::ClaimLost) } else { Ok(()) }
    }

    /// Whether the handler completed the job, or tried to.
    pub(super) fn asked(&self) -> bool {
        self.0.load(Ordering::Acquire) & ASKED != 0
    }

    /// Ends the attempt.
    pub(crate) fn end(&self) -> Completed {
        match self.0.swap(OVER, Ordering::AcqRel) {
            state if state & ASKED != 0 => Completed::Perhaps,
            state if state & OWN != 0 => Completed::No { moved: Some(true) },
            state if state & PARTING != 0 => Completed::No { moved: None },
            _ => Completed::No { moved: Some(false) },
        }
    }
}
