//! The steps of operations, for the worker that comes first and for operators without a worker.

use crate::error::DatabaseError;
use crate::store::{Link, operate, stop_operation};

/// Jobs or dead letters that one step is about.
const STEP: i32 = 500;

/// What became of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stepped {
    /// Another may follow.
    On,
    /// The operation has ended.
    Ended,
    /// Nothing was done: somebody else is at it, it rests, or it has ended.
    Busy,
}

/// Takes steps of one operation after another.
#[derive(Debug)]
pub(crate) struct Steps {
    /// How many jobs or dead letters the next one is about.
    size: i32,
}

impl Default for Steps {
    fn default() -> Self {
        Self { size: STEP }
    }
}

impl Steps {
    /// Takes one. An operation that cannot be done at all ends as failed; where one of many may be
    /// why, the next step is about half as many.
    ///
    /// # Errors
    /// What is not the operation's fault.
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
            // One of them may be why: in smaller steps the others are done, and one that fails by
            // itself is left out.
            Err(error) if error.may_be_one_row() && self.size > 1 => {
                tracing::warn!(operation = id, %error, "jobkit.operate: goes on in smaller steps");
                self.size /= 2;
                Ok(Stepped::On)
            }
            Err(error) => Err(error),
        }
    }
}
