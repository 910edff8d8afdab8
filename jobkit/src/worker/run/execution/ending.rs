//! How the end of an attempt is recorded.

use std::any::Any;
use std::borrow::Cow;
use std::panic::catch_unwind;
use std::time::Duration;

use crate::encryption::Unopened;
use crate::error_type::ErrorType;
use crate::limits::clean;
use crate::outcome::Verdict;
use crate::panics::message;
use crate::policy::Policy;
use crate::redact::scrubbed;
use crate::returned::Returned;
use crate::stop::Stop;
use crate::store::{ClaimedJob, EXHAUSTED, Failure, Outcome};
use crate::{JobError, Result, StopReason};

/// How a handler's run ended.
pub(super) enum Run {
    Returned(Result<Returned>),
    Panicked(Box<dyn Any + Send>),
    /// Dropped because it was asked to stop and did not.
    Dropped,
}

/// A panic outside the handler's run: while its error was formatted or dropped.
pub(super) fn panicked(panic: Box<dyn Any + Send>) -> Outcome {
    let error = clean(&["panicked while it was recorded: ", &message(&*panic)].concat());
    // Dropping it may panic as well.
    std::mem::forget(panic);
    Outcome::Retry { failure: error.into(), delay: DEFAULT_DELAY, reason: EXHAUSTED }
}

/// The outcome of a job that must not run at all.
pub(super) fn without_a_run(job: &ClaimedJob) -> Option<Outcome> {
    if let Some(error) = &job.unreadable {
        // The row itself cannot be read, now or later: it becomes a dead letter immediately, which
        // the settler logs.
        let error = clean(&["the job cannot be read: ", error].concat());
        return Some(Outcome::Bury { failure: error.into(), reason: UNDECODABLE });
    }
    if job.cancelled {
        return Some(Outcome::Cancel("cancelled".to_owned().into()));
    }
    // It was not ended when its attempts were used up. Given back, it becomes a dead letter.
    (job.facts.attempt > job.facts.max_attempts).then_some(Outcome::Release(None))
}

/// The outcome of a job that is too late to start. One that has started before does not expire.
pub(super) fn expired(job: &ClaimedJob, policy: &Policy, waited: Duration) -> Option<Outcome> {
    if job.facts.attempt > 1 || job.facts.snoozes > 0 {
        return None;
    }
    let expires = job.terms.expires(policy.expires)?;
    let error = || format!("expired: not started within {expires:?} of its time");
    (waited > expires).then(|| Outcome::Expire(error().into()))
}

/// A payload that does not decode here may do so in an older or newer binary, so it is retried like
/// any failure, and the dead letter gives the reason.
pub(super) fn undecodable(error: &str, policy: &Policy, attempt: u32) -> Outcome {
    let delay = backoff(policy, attempt);
    Outcome::Retry { failure: clean(error).into(), delay, reason: UNDECODABLE }
}

/// A job sealed with a key that this worker lacks. Another one may have it, so the job is put back,
/// never charged, and recorded with the reason.
pub(super) fn withheld(why: &Unopened) -> Outcome {
    Outcome::Withhold { why: why.to_string(), delay: PUT_BACK }
}

/// How long a job of this kind waits after a failed attempt.
fn backoff(policy: &Policy, attempt: u32) -> Duration {
    catch_unwind(|| policy.backoff.jittered(attempt, fastrand::f64())).unwrap_or(DEFAULT_DELAY)
}

/// The outcome of a run that ended this way.
pub(super) fn outcome(
    run: Run,
    stop: &Stop,
    policy: &Policy,
    attempt: u32,
    hidden: &[String],
) -> Outcome {
    let error = match run {
        Run::Returned(Ok(value)) => return Outcome::Finish(returned(value, hidden)),
        Run::Returned(Err(error)) => error,
        Run::Panicked(panic) => JobError::panicked(panic),
        Run::Dropped => JobError::from("did not stop when it was asked to"),
    };
    let panicked = error.verdict == Verdict::Panicked;
    let unfinished = panicked
        || matches!(error.verdict, Verdict::Retry | Verdict::RetryIn(_) | Verdict::Release);
    let error = match stop.asked() {
        Some(StopReason::Cancelled) => {
            return Outcome::Cancel("cancelled while running".to_owned().into());
        }
        Some(StopReason::TimedOut) if unfinished && !panicked => timed_out(policy, error.verdict),
        Some(StopReason::TimedOut) => error,
        // Not the job's fault, unless it says so: the job is given back uncharged.
        Some(_) if unfinished => return Outcome::Release(None),
        _ => error,
    };
    let failure = Failure {
        error: clean(&scrubbed(&chain(&error), hidden)),
        error_type: error.error_type.map(|name| scrubbed_type(name, hidden)),
    };
    match error.verdict {
        Verdict::Retry | Verdict::Panicked => {
            Outcome::Retry { failure, delay: backoff(policy, attempt), reason: EXHAUSTED }
        }
        Verdict::Undecodable => {
            Outcome::Retry { failure, delay: backoff(policy, attempt), reason: UNDECODABLE }
        }
        Verdict::RetryIn(wait) => {
            Outcome::Retry { failure, delay: wait.min(LONGEST_DELAY), reason: EXHAUSTED }
        }
        Verdict::Snooze(wait) => Outcome::Snooze(wait),
        Verdict::Wait(wait) => Outcome::Wait { failure, delay: wait.min(LONGEST_DELAY) },
        // Otherwise it would start again immediately if the worker is not stopping.
        Verdict::Release => {
            Outcome::Release((stop.reason() != Some(StopReason::Stopping)).then_some(RELEASED))
        }
        Verdict::Discard => Outcome::Discard(failure),
        Verdict::Dead => Outcome::Bury { failure, reason: "dead" },
    }
}

/// The recorded result of a handler. The reason why it is not kept may come from the user's code,
/// like errors.
fn returned(value: Returned, hidden: &[String]) -> Returned {
    match value {
        Returned::Unfit(why) => Returned::Unfit(clean(&scrubbed(&why, hidden))),
        kept => kept,
    }
}

/// The error of an attempt that timed out with its work unfinished.
fn timed_out(policy: &Policy, verdict: Verdict) -> JobError {
    let error = format!("timed out after {:?}", policy.timeout.unwrap_or_default());
    match verdict {
        Verdict::RetryIn(wait) => JobError::retry_in(wait, error),
        _ => JobError::from(error),
    }
}

/// How long a job that a worker cannot open waits the first time; the database doubles it.
const PUT_BACK: Duration = Duration::from_secs(10);
/// How long a job waits that was released without being asked to stop.
const RELEASED: Duration = Duration::from_secs(1);
/// Why a job that cannot be read is buried.
const UNDECODABLE: &str = "undecodable";
/// The wait when a custom backoff panics.
const DEFAULT_DELAY: Duration = Duration::from_secs(60);
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The type of an error, without hidden values if it comes from the error's text.
fn scrubbed_type(name: ErrorType, hidden: &[String]) -> ErrorType {
    match name {
        Cow::Owned(word) => Cow::Owned(scrubbed(&word, hidden)),
        name => name,
    }
}

/// The error with its sources, as far as each adds something.
fn chain(error: &JobError) -> String {
    let mut text = error.error.to_string();
    let mut source = error.error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
