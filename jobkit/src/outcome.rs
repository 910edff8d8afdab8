use std::error::Error;
use std::fmt;
use std::time::Duration;

/// What [`Job::run`](crate::Job::run) returns.
pub type Result<T = (), E = JobError> = std::result::Result<T, E>;

/// Why an attempt did not succeed, and what is to happen next.
///
/// Any error converts into one with `?` and means *retry with backoff*. The constructors say
/// something else explicitly:
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
/// It does not implement [`std::error::Error`] itself: that is what lets `?` convert every other
/// error into it.
pub struct JobError {
    pub(crate) verdict: Verdict,
    pub(crate) error: Box<dyn Error + Send + Sync>,
}

/// What a [`JobError`] asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
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
}

impl JobError {
    /// The attempt failed; try again after `wait` (at most 24 hours) instead of the backoff.
    /// Charges an attempt.
    pub fn retry_in(wait: Duration, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { verdict: Verdict::RetryIn(wait), error: error.into() }
    }

    /// The job has become pointless: end it, without retry and without a dead letter.
    pub fn discard(reason: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { verdict: Verdict::Discard, error: reason.into() }
    }

    /// No retry can help: make it a dead letter now.
    pub fn dead(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { verdict: Verdict::Dead, error: error.into() }
    }

    /// Not now: run again after `wait`. Charges no attempt and is not logged as a failure.
    #[must_use]
    pub fn snooze(wait: Duration) -> Self {
        Self { verdict: Verdict::Snooze(wait), error: "snoozed".into() }
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for JobError {
    fn from(error: E) -> Self {
        Self { verdict: Verdict::Retry, error: error.into() }
    }
}

impl fmt::Debug for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobError")
            .field("verdict", &self.verdict)
            .field("error", &self.error)
            .finish()
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}
