//! How an attempt ended, as it is recorded.

use std::any::Any;
use std::panic::catch_unwind;
use std::time::Duration;

use crate::limits::clean;
use crate::outcome::Verdict;
use crate::redact::scrubbed;
use crate::store::{Outcome, Ran, Settlement};
use crate::worker::running::StopReason;
use crate::{JobError, Policy, Result};

/// How a handler's run ended.
pub(super) enum Run {
    Returned(Result),
    Panicked(String),
    TimedOut(Duration),
    /// Dropped because it was asked to stop and did not.
    Dropped,
}

/// A panic outside the handler's run: while its error was read or dropped.
pub(super) fn panicked(
    claim: (i64, i64),
    job: i64,
    ran: Option<Ran>,
    panic: Box<dyn Any + Send>,
) -> Settlement {
    let error = clean(&["panicked while it was recorded: ", &message(&*panic)].concat());
    // Its drop may panic in its turn.
    std::mem::forget(panic);
    Settlement {
        outcome: Outcome::Retry,
        error: Some(error),
        delay: Some(DEFAULT_DELAY),
        ran,
        ..Settlement::blank(claim, job)
    }
}

/// Something of the row itself cannot be read, now or later: a dead letter at once, of which the
/// settler tells.
pub(super) fn unreadable(settlement: Settlement, error: &str) -> Settlement {
    Settlement {
        outcome: Outcome::Bury,
        reason: Some(UNDECODABLE),
        error: Some(clean(&["the job cannot be read: ", error].concat())),
        ..settlement
    }
}

/// A payload that does not decode here may do so in another binary, an older or a newer one: it is
/// retried like any failure, and the dead letter says what it was.
pub(super) fn undecodable(
    settlement: Settlement,
    error: &str,
    policy: &Policy,
    attempt: u32,
) -> Settlement {
    let delay = backoff(policy, attempt);
    Settlement {
        outcome: Outcome::Retry,
        reason: Some(UNDECODABLE),
        error: Some(clean(error)),
        delay: Some(delay),
        ..settlement
    }
}

/// How long a failed attempt of this kind waits for the next.
fn backoff(policy: &Policy, attempt: u32) -> Duration {
    catch_unwind(|| policy.backoff.jittered(attempt, fastrand::f64())).unwrap_or(DEFAULT_DELAY)
}

/// What is recorded for a run that ended this way.
pub(super) fn outcome(
    settlement: Settlement,
    run: Run,
    asked: Option<StopReason>,
    policy: &Policy,
    attempt: u32,
    hidden: &[String],
) -> Settlement {
    let error = match run {
        Run::Returned(Ok(())) => return Settlement { outcome: Outcome::Finish, ..settlement },
        Run::Returned(Err(error)) => error,
        Run::Panicked(message) => JobError::from(["panicked: ", &message].concat()),
        Run::TimedOut(limit) => JobError::from(format!("timed out after {limit:?}")),
        Run::Dropped => JobError::from("did not stop when it was asked to"),
    };
    match asked {
        Some(StopReason::Cancelled) => {
            return Settlement { error: Some("cancelled while running".to_owned()), ..settlement };
        }
        // Not the job's fault, unless it says so: the attempt is given back uncharged.
        Some(StopReason::Stopping | StopReason::LeaseLost)
            if matches!(error.verdict, Verdict::Retry | Verdict::RetryIn(_)) =>
        {
            return Settlement { outcome: Outcome::Release, ..settlement };
        }
        _ => {}
    }
    let text = clean(&scrubbed(&chain(&error), hidden));
    let (outcome, delay) = match error.verdict {
        Verdict::Retry => (Outcome::Retry, backoff(policy, attempt)),
        Verdict::RetryIn(wait) => (Outcome::Retry, wait.min(LONGEST_DELAY)),
        Verdict::Snooze(wait) => (Outcome::Snooze, wait),
        Verdict::Discard => (Outcome::Discard, Duration::ZERO),
        Verdict::Dead => (Outcome::Bury, Duration::ZERO),
    };
    let reason = (outcome == Outcome::Bury).then_some("dead");
    let (error, error_type) = match outcome {
        Outcome::Snooze => (None, None),
        _ => (Some(text), error.error_type),
    };
    Settlement { outcome, error, error_type, reason, delay: Some(delay), ..settlement }
}

/// Why a job is buried of which something cannot be read.
const UNDECODABLE: &str = "undecodable";
/// The wait when a custom backoff panics.
const DEFAULT_DELAY: Duration = Duration::from_secs(60);
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

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

pub(super) fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a value that is not text".to_owned())
}
