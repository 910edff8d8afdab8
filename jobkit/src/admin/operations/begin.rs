//! The beginning of operations, and their end without a worker.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::time::Duration;

use tokio::time::sleep;

use super::BulkAction;
use super::operation::Operation;
use super::reference::OperationRef;
use super::statements::{self, NewOperation};
use crate::admin::AdminError;
use crate::admin::dead_letters::statements::until;
use crate::admin::{Admin, Count};
use crate::limits::{self, NAME_BYTES};
use crate::operating::{Stepped, Steps};
use crate::store::next_operation;

type Doing<'a, T> = Pin<Box<dyn Future<Output = Result<T, AdminError>> + Send + 'a>>;

/// An operation to begin, returned by [`Admin::begin_operation`].
#[derive(Debug)]
#[must_use = "nothing begins until this is awaited"]
pub struct BeginOperation<'a> {
    admin: &'a Admin,
    action: &'a BulkAction,
    reason: &'a str,
    idempotency_key: &'a str,
    per_second: Option<u32>,
}

impl<'a> BeginOperation<'a> {
    /// Acts on at most this many jobs or dead letters a second, 1 to 1,000,000, to protect the
    /// services that the jobs will call. By default it runs as fast as it can.
    pub fn per_second(self, number: u32) -> Self {
        Self { per_second: Some(number), ..self }
    }

    async fn run(self) -> Result<Operation, AdminError> {
        let Self { admin, action, reason, idempotency_key, per_second } = self;
        limits::name("idempotency key", idempotency_key, NAME_BYTES)?;
        limits::range("rate", per_second.unwrap_or(1), 1..=1_000_000, "1 to 1000000")?;
        limits::reason(reason)?;
        let reason = Some(reason).filter(|reason| !reason.is_empty());
        let count = admin.preview(action).await?.count;
        let mut link = admin.link();
        let ago = match action {
            BulkAction::Purge(_, older_than) => *older_than,
            _ => Duration::ZERO,
        };
        let before = action.dead_letters().and_then(|filter| filter.criteria.failed_before);
        let until = link.call(&until(ago, before)).await?;
        let begin = statements::begin_operation(&NewOperation {
            verb: action.verb(),
            filter: &action.filter(),
            reason,
            run_at: action.run_at(),
            number: count.number().into(),
            more: matches!(count, Count::AtLeast(_)),
            until,
            key: idempotency_key,
            actor: admin.actor(),
            per_second: per_second.and_then(|number| number.try_into().ok()),
        });
        let (id, begun) = link.call(&begin).await?;
        if begun {
            tracing::info!(operation = id, verb = action.verb(), %count, "jobkit.begin");
        }
        let found = link.call(&statements::operations(Some(id), None, 1)).await?.pop();
        link.close().await;
        found.ok_or(AdminError::Busy)
    }
}

impl<'a> IntoFuture for BeginOperation<'a> {
    type Output = Result<Operation, AdminError>;
    type IntoFuture = Doing<'a, Operation>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

/// Called with the progress of an operation.
type Progress<'a> = Box<dyn FnMut(&Operation) + Send + 'a>;

/// An operation to carry out, returned by [`OperationRef::run`].
#[must_use = "nothing is done until this is awaited"]
pub struct RunOperation<'a> {
    admin: &'a Admin,
    id: i64,
    progress: Option<Progress<'a>>,
}

impl fmt::Debug for RunOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunOperation").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<'a> RunOperation<'a> {
    /// How long to wait if a worker holds the operation.
    const BUSY: Duration = Duration::from_millis(100);

    /// The longest pause before the operation is read again: it may have been cancelled.
    const REST: Duration = Duration::from_secs(1);

    /// Calls this after each step, including those of workers.
    pub fn progress(self, progress: impl FnMut(&Operation) + Send + 'a) -> Self {
        Self { progress: Some(Box::new(progress)), ..self }
    }

    async fn run(mut self) -> Result<Option<Operation>, AdminError> {
        let (mut link, mut steps) = (self.admin.link(), Steps::default());
        let this = statements::operations(Some(self.id), None, 1);
        while let Some((id, rests)) = link.call(&next_operation(Some(self.id))).await? {
            let stepped = match rests.is_zero() {
                true => steps.take(&mut link, id).await?,
                false => Stepped::Busy,
            };
            if let Some(progress) = &mut self.progress
                && let Some(operation) = link.call(&this).await?.pop()
            {
                progress(&operation);
            }
            if stepped == Stepped::Busy {
                sleep(if rests.is_zero() { Self::BUSY } else { rests.min(Self::REST) }).await;
            }
        }
        let operation = link.call(&this).await?.pop();
        link.close().await;
        Ok(operation)
    }
}

impl<'a> IntoFuture for RunOperation<'a> {
    type Output = Result<Option<Operation>, AdminError>;
    type IntoFuture = Doing<'a, Option<Operation>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}

impl Admin {
    /// Begins an operation. Workers carry it out page by page, in the order in which the jobs were
    /// enqueued or the dead letters failed. Each item is processed once, whatever crashes. If there
    /// are too many to count at once, workers first count the rest.
    ///
    /// It acts on jobs up to the highest id that exists now, and on dead letters that have failed
    /// by now; later ones are left alone. A job that is enqueued in a transaction that is open now
    /// may have a lower id: it is included if that transaction commits before its page is
    /// processed.
    ///
    /// The operation and the [`audit`](Self::audit) keep the reason, as does the history of jobs
    /// that end by it. It may be empty; 16 KiB of it are kept. The audit has one entry for the
    /// whole operation, which finally records the result.
    ///
    /// The idempotency key has 1 to 128 bytes. If an operation with this key exists, it is
    /// returned, whatever it does, and nothing is begun.
    ///
    /// ```no_run
    /// # use jobkit::Admin;
    /// # use jobkit::admin::AdminError;
    /// # use jobkit::admin::dead_letters::DeadLetterFilter;
    /// # use jobkit::admin::operations::BulkAction;
    /// # async fn f(admin: Admin) -> Result<(), AdminError> {
    /// let declined = BulkAction::Replay(DeadLetterFilter::all().kind("charge_card"));
    /// let reason = "the bank is back";
    /// let operation = admin.begin_operation(&declined, reason, "INC-17").per_second(50).await?;
    /// // Workers do it. Where there are none, or to see it through:
    /// let seen = |now: &jobkit::admin::operations::Operation| println!("{} so far", now.done);
    /// let ended = admin.operation(operation.id).run().progress(seen).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`preview`](Self::preview); [`AdminError::Invalid`] for the key and the rate.
    pub fn begin_operation<'a>(
        &'a self,
        action: &'a BulkAction,
        reason: &'a str,
        idempotency_key: &'a str,
    ) -> BeginOperation<'a> {
        BeginOperation { admin: self, action, reason, idempotency_key, per_second: None }
    }
}

impl<'a> OperationRef<'a> {
    /// Carries out the operation in this process, together with any workers, and returns it once it
    /// has ended, however it ended; `None` if there is none with this id.
    ///
    /// Drop the future to stop: committed pages stay done, and the rest is left to workers or to
    /// the next call.
    ///
    /// # Errors
    /// After an error the operation stays as it is: call it again.
    pub fn run(self) -> RunOperation<'a> {
        RunOperation { admin: self.admin, id: self.id, progress: None }
    }
}
