//! How an attempt ended, as it is recorded.

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

/// A panic outside the handler's run: while its error was read or dropped.
pub(super) fn panicked(panic: Box<dyn Any + Send>) -> Outcome {
    let error = clean(&["panicked while it was recorded: ", &message(&*panic)].concat());
    // Its drop may panic in its turn.
    std::mem::forget(panic);
    Outcome::Retry { failure: error.into(), delay: DEFAULT_DELAY, reason: EXHAUSTED }
}

/// What is recorded for a job that is not to run at all.
pub(super) fn without_a_run(job: &ClaimedJob) -> Option<Outcome> {
    if let Some(error) = &job.unreadable {
        // Something of the row itself cannot be read, now or later: a dead letter at once, of which
        // the settler tells.
        let error = clean(&["the job cannot be read: ", error].concat());
        return Some(Outcome::Bury { failure: error.into(), reason: UNDECODABLE });
    }
    if job.cancelled {
        return Some(Outcome::Cancel("cancelled".to_owned().into()));
    }
    // Nobody ended it when its attempts were used up. Given back, it becomes a dead letter.
    (job.facts.attempt > job.facts.max_attempts).then_some(Outcome::Release(None))
}

/// What is recorded for a job that comes too late to begin. One that has begun before does not.
pub(super) fn expired(job: &ClaimedJob, policy: &Policy, waited: Duration) -> Option<Outcome> {
    if job.facts.attempt > 1 || job.facts.snoozes > 0 {
        return None;
    }
    let expires = job.terms.expires(policy.expires)?;
    let error = || format!("expired: not begun within {expires:?} of its time");
    (waited > expires).then(|| Outcome::Expire(error().into()))
}

/// A payload that does not decode here may do so in another binary, an older or a newer one: it is
/// retried like any failure, and the dead letter says what it was.
pub(super) fn undecodable(error: &str, policy: &Policy, attempt: u32) -> Outcome {
    let delay = backoff(policy, attempt);
    Outcome::Retry { failure: clean(error).into(), delay, reason: UNDECODABLE }
}

/// A job that is sealed with a key which this worker lacks. Another one may have it: the job is put
/// back, uncharged however often, and noted with the reason.
pub(super) fn withheld(why: &Unopened) -> Outcome {
    Outcome::Withhold { why: why.to_string(), delay: PUT_BACK }
}

/// How long a failed attempt of this kind waits for the next.
fn backoff(policy: &Policy, attempt: u32) -> Duration {
    catch_unwind(|| policy.backoff.jittered(attempt, fastrand::f64())).unwrap_or(DEFAULT_DELAY)
}

/// What is recorded for a run that ended this way.
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
        // Not the job's fault, unless it says so: the attempt is given back uncharged.
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
        // It would begin again at once where the worker does not stop.
        Verdict::Release => {
            Outcome::Release((stop.reason() != Some(StopReason::Stopping)).then_some(RELEASED))
        }
        Verdict::Discard => Outcome::Discard(failure),
        Verdict::Dead => Outcome::Bury { failure, reason: "dead" },
    }
}

/// What is recorded of what a handler returned. Why that is not kept is said by the user's code, as
/// errors are.
fn returned(value: Returned, hidden: &[String]) -> Returned {
    match value {
        Returned::Unfit(why) => Returned::Unfit(clean(&scrubbed(&why, hidden))),
        kept => kept,
    }
}

/// What is recorded of an attempt that left its work unfinished when its time was over.
fn timed_out(policy: &Policy, verdict: Verdict) -> JobError {
    let error = format!("timed out after {:?}", policy.timeout.unwrap_or_default());
    match verdict {
        Verdict::RetryIn(wait) => JobError::retry_in(wait, error),
        _ => JobError::from(error),
    }
}

/// How long a job waits that a worker cannot open, for the first time: the database doubles it.
const PUT_BACK: Duration = Duration::from_secs(10);
/// How long a job waits that was released although nobody asked for it.
const RELEASED: Duration = Duration::from_secs(1);
/// Why a job is buried of which something cannot be read.
const UNDECODABLE: &str = "undecodable";
/// The wait when a custom backoff panics.
const DEFAULT_DELAY: Duration = Duration::from_secs(60);
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The type of an error, where it is what the error said.
fn scrubbed_type(name: ErrorType, hidden: &[String]) -> ErrorType {
    match name {
        Cow::Owned(word) => Cow::Owned(scrubbed(&word, hidden)),
        name => name,
    }
}

/// The error with its causes, as far as each adds something.
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
