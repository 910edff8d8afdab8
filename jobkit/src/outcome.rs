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

/// Why an attempt did not succeed, and what is to happen next.
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
/// The attempt is recorded with the texts of the error and of its causes, and with the Rust type of
/// the error, which helps to tell one cause from another. For an `anyhow::Error` or a boxed error,
/// the type is what the root cause calls itself in its `Debug` output. A plain text has no type to
/// record.
///
/// It does not implement [`std::error::Error`] itself: that is what lets `?` convert every other
/// error into it.
pub struct JobError {
    pub(crate) verdict: Verdict,
    pub(crate) error: AnyError,
    /// What `error` was before it was boxed, or is at its root; `None` if that says nothing.
    pub(crate) error_type: Option<ErrorType>,
}

/// What a [`JobError`] asks for.
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
    /// Run again after this wait; not a failure, charges no attempt.
    Snooze(Duration),
    /// Told to wait this long: like `Snooze`, and like `RetryIn` once that has gone on for too
    /// long.
    Wait(Duration),
    /// Run again at once, elsewhere; this attempt does not count.
    Release,
    /// The handler panicked, as its layers see it. What happens next is as for `Retry`.
    Panicked,
    /// The payload does not decode, as layers see it. What happens next is as for `Retry`, for
    /// another reason.
    Undecodable,
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

    /// Not now: run again after `wait`. The year 9999 is the latest; a later time is a failure
    /// ([`InvalidValue::Range`](crate::error::InvalidValue::Range)). Charges no attempt and is not
    /// logged as a failure.
    #[must_use]
    pub fn snooze(wait: Duration) -> Self {
        match limits::wait(wait) {
            Ok(wait) => Self::new(Verdict::Snooze(wait), "snoozed"),
            Err(error) => Self::new(Verdict::Retry, error),
        }
    }

    /// Told that it is too soon: a service answers `429 Too Many Requests`, or a quota is used up.
    /// Run again after `wait` (at most 24 hours). Charges no attempt and is not logged as a
    /// failure, for as long as [`retry_for`](crate::enqueue::Pending::retry_for) says (a day
    /// without it), counted from the first of several waits in a row. A later wait is a failed
    /// attempt: without `retry_for` the job is tried again after `wait`, with it the job becomes a
    /// dead letter. So no job waits for ever.
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

    /// The attempt was asked to end and left its work unfinished: give it back. Charges no attempt;
    /// the job runs again under the same number, at once and elsewhere if the worker
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
        // Its drop may panic in its turn.
        catch_unwind(AssertUnwindSafe(|| drop(panic))).unwrap_or_else(std::mem::forget);
        Self::new(Verdict::Panicked, error)
    }

    pub(crate) fn undecodable(error: String) -> Self {
        Self::new(Verdict::Undecodable, error)
    }

    /// What is to happen next; `to_string` says why.
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

    /// The Rust type of the error, or what its root cause calls itself; `None` if that says
    /// nothing. Failures are grouped by it. It is never a value of a payload.
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

/// How long a job waits whose own jobs found a queue full.
const FULL: Duration = Duration::from_secs(5);

/// What an error asks for that is no failure, itself or as a cause: a slot of a limiter, or a place
/// in a queue, is to come.
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

/// What a handler asks for that returns why it has no slot.
fn of_denied(denied: &Denied) -> Verdict {
    match denied {
        Denied::Later(wait) => Verdict::Snooze(*wait),
        Denied::Stopped(_) => Verdict::Release,
        Denied::Unknown(_) | Denied::Invalid(_) | Denied::Database(_) => Verdict::Retry,
    }
}

/// Whether a queue was full for a statement of the handler's own.
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
mod tests {
    use std::any::type_name;
    use std::borrow::Cow;

    use super::*;
    use crate::error::{InvalidValue, QueueFull};
    use crate::limits::TYPE_BYTES;

    #[derive(Debug, thiserror::Error)]
    #[error("no such card")]
    struct NoCard;

    #[derive(Debug, thiserror::Error)]
    #[error("{0:?}")]
    struct Several<E: fmt::Debug>(E);

    #[test]
    fn an_error_keeps_the_name_of_its_type() {
        let name = type_name::<NoCard>();
        assert!(name.ends_with("::NoCard"), "{name}");
        for error in [
            JobError::from(NoCard),
            JobError::retry_in(Duration::ZERO, NoCard),
            JobError::wait(Duration::ZERO, NoCard),
            JobError::discard(NoCard),
            JobError::dead(NoCard),
        ] {
            assert_eq!(error.error_type.as_deref(), Some(name), "{error:?}");
        }
    }

    #[test]
    fn a_snooze_for_ever_is_a_failure() {
        let century = Duration::from_secs(100 * 365 * 24 * 60 * 60);
        assert_eq!(JobError::snooze(century).verdict, Verdict::Snooze(century));
        for wait in [century * 100, Duration::from_secs(u64::MAX / 1_000), Duration::MAX] {
            let error = JobError::snooze(wait);
            assert_eq!(error.verdict, Verdict::Retry);
            let error = error.error.downcast_ref::<InvalidValue>();
            assert!(matches!(error, Some(InvalidValue::Range { .. })), "{error:?}");
        }
    }

    #[test]
    fn texts_have_no_type_that_tells_anything() {
        for error in [
            JobError::from("a"),
            JobError::from("a".to_owned()),
            JobError::from(Cow::Borrowed("a")),
            JobError::dead("a"),
            JobError::snooze(Duration::ZERO),
        ] {
            assert_eq!(error.error_type, None, "{error:?}");
        }
    }

    #[test]
    fn what_is_to_come_is_no_failure_however_it_is_wrapped() {
        #[derive(Debug, thiserror::Error)]
        #[error("no follow-up")]
        struct Wrapped<E: Error + 'static>(#[source] E);
        let full = || EnqueueError::from(QueueFull { queue: "mail".into(), waiting: 5, limit: 5 });
        let later = || Denied::Later(Duration::from_secs(1));
        let snooze = Verdict::Snooze(Duration::from_secs(1));
        assert_eq!(JobError::from(full()).verdict, Verdict::Wait(FULL));
        assert_eq!(JobError::from(Wrapped(Wrapped(full()))).verdict, Verdict::Wait(FULL));
        assert_eq!(JobError::from(later()).verdict, snooze);
        assert_eq!(JobError::from(Wrapped(later())).verdict, snooze);
        assert_eq!(JobError::from(Wrapped(NoCard)).verdict, Verdict::Retry);
    }

    #[test]
    fn a_long_name_is_cut() {
        let all = || (NoCard, NoCard, NoCard, NoCard, NoCard);
        let error = JobError::from(Several((all(), all(), all())));
        assert_eq!(error.error_type.as_deref().map(str::len), Some(TYPE_BYTES), "{error:?}");
    }
}
