//! One operation: its progress, what it could not change, and stopping it.

use super::operation::{Operation, OperationResult};
use super::statements;
use crate::admin::Admin;
use crate::admin::AdminError;
use crate::store::stop_operation;

/// An operation, referred to by its id. It need not exist. [`Admin::operation`] returns it.
///
/// ```no_run
/// # async fn f(admin: jobkit::Admin, id: i64) -> Result<(), jobkit::admin::AdminError> {
/// let operation = admin.operation(id);
/// if operation.get().await?.is_some_and(|now| now.skipped > 100) {
///     operation.cancel().await?;
///     println!("{:?}", operation.results().await?);
/// }
/// # Ok(()) }
/// ```
///
/// # Errors
/// An operation that does not exist is not an error: each method says what it then returns. For the
/// errors of every method, see [`Admin`].
#[derive(Debug, Clone, Copy)]
#[must_use = "nothing is asked or done until one of its methods is awaited"]
pub struct OperationRef<'a> {
    pub(super) admin: &'a Admin,
    pub(super) id: i64,
}

impl Admin {
    /// An operation by its id, to follow it, stop it or carry it out.
    pub fn operation(&self, id: i64) -> OperationRef<'_> {
        OperationRef { admin: self, id }
    }
}

impl OperationRef<'_> {
    /// The operation and its progress; `None` if there is none with this id.
    pub async fn get(self) -> Result<Option<Operation>, AdminError> {
        Ok(self.admin.ask(&statements::operations(Some(self.id), None, 1)).await?.pop())
    }

    /// The jobs or dead letters that the operation could not change as requested, and why: at most
    /// 1,000, ordered by id; none for an unknown operation. [`Operation::skipped`] says how many
    /// there were in total.
    pub async fn results(self) -> Result<Vec<OperationResult>, AdminError> {
        self.admin.ask(&statements::operation_results(self.id)).await
    }

    /// Cancels the operation after the page that a worker may be processing; finished pages stay
    /// done. Returns whether it was open.
    ///
    /// # Errors
    /// [`AdminError::Busy`] if that page takes longer than four seconds.
    pub async fn cancel(self) -> Result<bool, AdminError> {
        let stop = stop_operation(self.id, "cancelled", None, self.admin.actor());
        self.admin.ask(&stop).await.map_err(AdminError::or_busy)
    }
}
