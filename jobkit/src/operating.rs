//! The steps of operations, taken by a worker or by an operator without a worker.

use crate::error::DatabaseError;
use crate::store::{Link, operate, stop_operation};

/// Jobs or dead letters that one step processes.
const STEP: i32 = 500;

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stepped {
    /// Another may follow.
    On,
    /// The operation has ended.
    Ended,
    /// Nothing was done: another process is working on it, it is paced, or it has ended.
    Busy,
}

/// Takes steps of one operation after another.
#[derive(Debug)]
pub(crate) struct Steps {
    /// How many jobs or dead letters the next step processes.
    size: i32,
}

impl Default for Steps {
    fn default() -> Self {
        Self { size: STEP }
    }
}

impl Steps {
    /// Takes one step. An operation that cannot be done at all ends as failed; if one of many items
    /// may be the cause, the next step processes half as many.
    ///
    /// # Errors
    /// Errors that are not the operation's fault.
    pub(crate) async fn take(
        &mut self,
        link: &mut Link,
        id: i64,
    ) -> Result<Stepped, DatabaseError> {
        match link.call(&operate(id, self.size)).await {
            Ok(Some(outcome)) => {
                self.size = (self.size * 2).min(STEP);
                if outcome != "done" {
                    return Ok(Stepped::On);
                }
                tracing::info!(operation = id, "jobkit.operate: done");
                Ok(Stepped::Ended)
            }
            Ok(None) => Ok(Stepped::Busy),
            Err(error) if error.is_final() => {
                tracing::error!(operation = id, %error, "jobkit.operate failed");
                let error = error.to_string();
                link.call(&stop_operation(id, "failed", Some(&error), None)).await?;
                Ok(Stepped::Ended)
            }
            // One item may be the cause: in smaller steps the others are done, and one that fails
            // alone is left out.
            Err(error) if error.may_be_one_row() && self.size > 1 => {
                tracing::warn!(operation = id, %error, "jobkit.operate: continues in smaller \
                                                        steps");
                self.size /= 2;
                Ok(Stepped::On)
            }
            Err(error) => Err(error),
        }
    }
}
