//! Batches: listing them, looking into one, and cancelling what is left of one.

mod batch;
mod reference;
pub(super) mod statements;

pub use self::batch::{BatchDetail, BatchState, BatchSummary, Callback, CallbackRole, Members};
pub use self::reference::{BatchCancelled, BatchRef};
use crate::BatchId;
use crate::admin::{Admin, AdminError};

/// Which batches are listed: all, or only some. Start with [`all`](Self::all).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use = "a query lists nothing until it is given to `Admin::batches`"]
pub struct BatchQuery {
    open: bool,
}

impl BatchQuery {
    /// All batches. Those that have ended are kept for a week, and longer while one of their
    /// callbacks has not.
    pub fn all() -> Self {
        Self::default()
    }

    /// Only those that have not ended.
    pub fn open(self) -> Self {
        Self { open: true }
    }
}

impl Admin {
    /// The newest 1 to 100 batches (a `limit` outside this range is clamped); with an id, those
    /// before it.
    ///
    /// ```no_run
    /// # use jobkit::Admin;
    /// # use jobkit::admin::batches::BatchQuery;
    /// # async fn f(admin: Admin) -> Result<(), jobkit::admin::AdminError> {
    /// for batch in admin.batches(BatchQuery::all().open(), None, 50).await? {
    ///     println!("{}: {} of {} left", batch.id, batch.counts.open(), batch.counts.members);
    /// }
    /// # Ok(()) }
    /// ```
    pub async fn batches(
        &self,
        query: BatchQuery,
        before: Option<BatchId>,
        limit: u32,
    ) -> Result<Vec<BatchSummary>, AdminError> {
        let (before, limit) = (before.map(|batch| batch.0), limit.clamp(1, 100).into());
        self.ask(&statements::batches(None, before, query.open, limit)).await
    }
}
