use std::time::Duration;

use super::Ending;
use crate::error_type::ErrorType;
use crate::hooks;
use crate::returned::Returned;

/// Why a job is buried whose attempts are used up.
pub(crate) const EXHAUSTED: &str = "exhausted";

/// What became of an attempt, with what is recorded of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Finish(Returned),
    /// Retried after `delay`; buried for `reason` if no attempt is left.
    Retry {
        failure: Failure,
        delay: Duration,
        reason: &'static str,
    },
    /// Runs later; the attempt does not count.
    Snooze(Duration),
    /// Like `Snooze` for a while, since it was told to wait; then retried, as after a failure.
    Wait {
        failure: Failure,
        delay: Duration,
    },
    /// A dead letter now, for `reason`: `dead` or `undecodable`.
    Bury {
        failure: Failure,
        reason: &'static str,
    },
    Discard(Failure),
    /// It had not started in time.
    Expire(Failure),
    Cancel(Failure),
    /// Given back, uncharged, immediately or after a while; buried if it has no attempt left.
    Release(Option<Duration>),
    /// Given back, uncharged, for a worker that can open it, after `delay`, which the database
    /// increases each time. `why` is recorded; it is not a failure of the job.
    Withhold {
        why: String,
        delay: Duration,
    },
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: String,
    /// The Rust type of the error, if it says anything.
    pub(crate) error_type: Option<ErrorType>,
}

impl From<String> for Failure {
    fn from(error: String) -> Self {
        Self { error, error_type: None }
    }
}

impl Outcome {
    /// The verb, as the SQL functions and the spans have it.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Finish(_) => "finish",
            Self::Retry { .. } => "retry",
            Self::Snooze(_) => "snooze",
            Self::Wait { .. } => "wait",
            Self::Bury { .. } => "bury",
            Self::Discard(_) => "discard",
            Self::Expire(_) => "expire",
            Self::Cancel(_) => "cancel",
            Self::Release(_) | Self::Withhold { .. } => "release",
        }
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Retry { failure, .. }
            | Self::Wait { failure, .. }
            | Self::Bury { failure, .. }
            | Self::Discard(failure)
            | Self::Expire(failure)
            | Self::Cancel(failure) => Some(failure),
            Self::Finish(_) | Self::Snooze(_) | Self::Release(_) | Self::Withhold { .. } => None,
        }
    }

    /// Whether the attempt never began or is not charged: a failed attempt must not replace that.
    pub(crate) fn is_given_back(&self) -> bool {
        matches!(self, Self::Release(_) | Self::Withhold { .. })
    }

    /// The recorded text of a failure, or of a job that is given back.
    pub(super) fn error(&self) -> Option<&str> {
        match self {
            Self::Withhold { why, .. } => Some(why),
            _ => Some(&*self.failure()?.error),
        }
    }

    /// What it returned, as JSON.
    pub(super) fn result(&self) -> Option<&str> {
        match self {
            Self::Finish(Returned::Value(json)) => Some(json),
            _ => None,
        }
    }

    /// Why the job is buried, or would be, or why its result is not kept.
    pub(super) fn why(&self) -> Option<&str> {
        match self {
            Self::Finish(Returned::Unfit(why)) => Some(why),
            _ => self.reason(),
        }
    }

    /// Why the job is buried, or would be after its last attempt.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Retry { reason, .. } | Self::Bury { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// After how long it runs again.
    pub(crate) fn delay(&self) -> Option<Duration> {
        match self {
            Self::Retry { delay, .. }
            | Self::Wait { delay, .. }
            | Self::Snooze(delay)
            | Self::Withhold { delay, .. } => Some(*delay),
            Self::Release(delay) => *delay,
            _ => None,
        }
    }

    /// The final outcome according to its settle; `None` if it came too late.
    pub(crate) fn became(&self, ending: Option<Ending>) -> Option<hooks::Outcome> {
        Some(match (ending, self) {
            (Some(Ending::Lost), _) => return None,
            (Some(Ending::Buried), _) | (None, Self::Bury { .. }) => hooks::Outcome::Bury,
            (Some(Ending::Cancelled), _) | (None, Self::Cancel(_)) => hooks::Outcome::Cancel,
            (Some(Ending::Superseded), _) => hooks::Outcome::Supersede,
            (Some(Ending::Charged), _) | (None, Self::Retry { .. }) => hooks::Outcome::Retry,
            (None, Self::Finish(_)) => hooks::Outcome::Finish,
            (None, Self::Discard(_)) => hooks::Outcome::Discard,
            (None, Self::Expire(_)) => hooks::Outcome::Expire,
            (None, Self::Snooze(_) | Self::Wait { .. }) => hooks::Outcome::Snooze,
            (None, Self::Release(_) | Self::Withhold { .. }) => hooks::Outcome::Release,
        })
    }
}
