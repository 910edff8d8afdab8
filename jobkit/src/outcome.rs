use std::any::Any;
use std::error::Error;
use std::fmt;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::denied::Denied;
use crate::error::{EnqueueError, QUEUE_FULL};
use crate::error_type::{AnyError, ErrorType, error_type};
use crate::limits;
use crate::panics::message;

/// What [`Job::run`](crate::Job::run) returns.
pub type Result<T = (), E = JobError> = std::result::Result<T, E>;

/// Why an attempt did not succeed, and what happens next.
///
/// Any error converts into one with `?` and means *retry with backoff*. For anything else, use a
/// constructor:
///
/// ```
/// # use std::time::Duration;
/// # use jobkit::JobError;
/// # fn charge(order: Option<u32>) -> jobkit::Result {
/// let Some(order) = order else {
///     return Err(JobError::discard("the order was deleted"));
/// };
/// if order > 9 {
///     return Err(JobError::retry_in(Duration::from_secs(60), "the bank is closed"));
/// }
/// # Ok(()) }
/// ```
///
/// The attempt is recorded with the text of the error and its sources, and with the Rust type of
/// the error, which helps to tell causes apart. For an `anyhow::Error` or a boxed error, the type
/// is the name in the `Debug` output of the root cause. A plain text has no type to record.
///
/// It does not implement [`std::error::Error`], so that `?` can convert every other error into it.
pub struct JobError {
    pub(crate) verdict: Verdict,
    pub(crate) error: AnyError,
    /// What `error` was before it was boxed, or is at its root; `None` if that says nothing.
    pub(crate) error_type: Option<ErrorType>,
}

/// What a [`JobError`] requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Try again after the kind's backoff.
    Retry,
    /// Try again after this wait.
    RetryIn(Duration),
    /// End the job without success and without a dead letter.
    Discard,
    /// Give up now: dead letter.
    Dead,
    /// Run again after this wait; not a failure, and charges no attempt.
    Snooze(Duration),
    /// Told to wait this long: like `Snooze`, but like `RetryIn` once that has gone on for too
    /// long.
    Wait(Duration),
    /// Run again immediately, elsewhere; this attempt does not count.
    Release,
    /// The handler panicked; seen by its layers. The job is treated as with `Retry`.
    Panicked,
    /// The payload does not decode; seen by layers. The job is treated as with `Retry`, with
    /// another reason.
    Undecodable,
}

/// How an attempt ended, as recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Outcome {
    /// It succeeded.
    Finish,
    /// It failed and is tried again.
    Retry,
    /// It was snoozed, or told to wait.
    Snooze,
    /// It failed for good: a dead letter.
    Bury,
    /// The job ended without success and without a dead letter.
    Discard,
    /// The job expired before it started, so it ended without a run.
    Expire,
    /// The job should have run again, but another one has taken its place.
    Supersede,
    /// Somebody cancelled the job.
    Cancel,
    /// It was given back, uncharged.
    Release,
}

impl Outcome {
    /// Its name in the measures.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finish => "finish",
            Self::Retry => "retry",
            Self::Snooze => "snooze",
            Self::Bury => "bury",
            Self::Discard => "discard",
            Self::Expire => "expire",
            Self::Supersede => "supersede",
            Self::Cancel => "cancel",
            Self::Release => "release",
        }
    }

    /// Whether the job runs again.
    pub(crate) fn goes_on(self) -> bool {
        matches!(self, Self::Retry | Self::Snooze | Self::Release)
    }
}

impl JobError {
    /// The attempt failed; try again after `wait` (at most 24 hours) instead of the backoff.
    /// Charges an attempt.
    pub fn retry_in(wait: Duration, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Verdict::RetryIn(wait), error)
    }

    /// The job has become pointless: end it, without retry and without a dead letter.
    pub fn discard(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Verdict::Discard, reason)
    }

    /// No retry can help: make it a dead letter now.
    pub fn dead(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Verdict::Dead, error)
    }

    /// Not now: run again after `wait`. Charges no attempt and is not logged as a failure. A time
    /// after the year 9999 is a failure
    /// ([`InvalidValue::Range`](crate::error::InvalidValue::Range)).
    #[must_use]
    pub fn snooze(wait: Duration) -> Self {
        match limits::wait(wait) {
            Ok(wait) => Self::new(Verdict::Snooze(wait), "snoozed"),
            Err(error) => Self::new(Verdict::Retry, error),
        }
    }

    /// Told to wait: a service responded `429 Too Many Requests`, or a quota is used up. Run again
    /// after `wait` (at most 24 hours). Charges no attempt and is not logged as a failure, for as
    /// long as [`retry_for`](crate::enqueue::Pending::retry_for) allows (a day without it), counted
    /// from the first of several waits in a row. After that a wait is a failed attempt: without
    /// `retry_for` the job is retried after `wait`, with it the job becomes a dead letter. So no
    /// job waits for ever.
    ///
    /// [`JobContext::retry_after`](crate::JobContext::retry_after) also makes the other jobs of its
    /// key wait.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use jobkit::{JobError, report::Verdict};
    /// let busy = JobError::wait(Duration::from_secs(30), "429 Too Many Requests");
    /// assert_eq!(busy.verdict(), Verdict::Wait(Duration::from_secs(30)));
    /// assert!(!busy.is_failure());
    /// ```
    pub fn wait(wait: Duration, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(Verdict::Wait(wait), error)
    }

    /// The attempt was asked to end and left its work unfinished: give the job back. Charges no
    /// attempt; the job runs again under the same number, immediately and elsewhere if the worker
    /// [stops](crate::JobContext::stopping). (After a timeout it still counts as a failed attempt,
    /// after a cancel the job ends, and an attempt that was not asked to end runs again after a
    /// second.)
    #[must_use]
    pub fn release() -> Self {
        Self::new(Verdict::Release, "released")
    }

    /// Whether this is a failure, rather than a discard, a snooze, a wait or a release.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        !matches!(
            self.verdict,
            Verdict::Discard | Verdict::Snooze(_) | Verdict::Wait(_) | Verdict::Release
        )
    }

    pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> Self {
        let error = ["panicked: ", &message(&*panic)].concat();
        // Dropping it may panic as well.
        catch_unwind(AssertUnwindSafe(|| drop(panic))).unwrap_or_else(std::mem::forget);
        Self::new(Verdict::Panicked, error)
    }

    pub(crate) fn undecodable(error: String) -> Self {
        Self::new(Verdict::Undecodable, error)
    }

    /// What happens next; `to_string` says why.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use jobkit::{JobError, report::Verdict};
    /// let error = JobError::retry_in(Duration::from_secs(60), "the bank is closed");
    /// assert_eq!(error.verdict(), Verdict::RetryIn(Duration::from_secs(60)));
    /// assert_eq!(error.to_string(), "the bank is closed");
    /// ```
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }

    /// The Rust type of the error, or the name in the `Debug` output of its root cause; `None` if
    /// there is none. Failures are grouped by it. It never contains a value of a payload.
    ///
    /// ```
    /// # use jobkit::JobError;
    /// let error = JobError::from("1,000".parse::<u32>().unwrap_err());
    /// assert_eq!(error.error_type(), Some("core::num::error::ParseIntError"));
    /// assert_eq!(JobError::from("a mere text").error_type(), None);
    /// ```
    #[must_use]
    pub fn error_type(&self) -> Option<&str> {
        self.error_type.as_deref()
    }

    fn new<E: Into<AnyError>>(verdict: Verdict, error: E) -> Self {
        let error = error.into();
        let error_type = error_type::<E>(&*error);
        Self { verdict, error, error_type }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for JobError {
    fn from(error: E) -> Self {
        let mut error = Self::new(Verdict::Retry, error);
        error.verdict = to_come(&*error.error).unwrap_or(error.verdict);
        error
    }
}

/// How long a job waits after a job that it enqueued found its queue full.
const FULL: Duration = Duration::from_secs(5);

/// The verdict for an error that is not a failure, itself or as a cause: it waits for a slot of a
/// limiter or for room in a queue.
fn to_come(error: &(dyn Error + 'static)) -> Option<Verdict> {
    iter::successors(Some(error), |&error| error.source()).find_map(|error| {
        let is_full = matches!(error.downcast_ref(), Some(EnqueueError::QueueFull(_)))
            || error.downcast_ref().is_some_and(is_full);
        if is_full {
            return Some(Verdict::Wait(FULL));
        }
        error.downcast_ref::<Denied>().map(of_denied)
    })
}

/// The verdict for a handler that returns why it got no slot.
fn of_denied(denied: &Denied) -> Verdict {
    match denied {
        Denied::Later(wait) => Verdict::Snooze(*wait),
        Denied::Stopped(_) => Verdict::Release,
        Denied::Unknown(_) | Denied::Invalid(_) | Denied::Database(_) => Verdict::Retry,
    }
}

/// Whether a queue was full, for a statement that the handler sent itself.
fn is_full(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).as_deref() == Some(QUEUE_FULL)
}

impl fmt::Debug for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobError")
            .field("verdict", &self.verdict)
            .field("error", &self.error)
            .field("error_type", &self.error_type)
            .finish()
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

#[cfg(test)]
mod tests;
