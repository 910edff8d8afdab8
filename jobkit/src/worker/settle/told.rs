//! Reports written outcomes to the log, the metrics and hooks.

use std::time::Duration;

use crate::JobId;
use crate::hooks::{self, Ended, Event, Hooks};
use crate::meter;
use crate::store::{Ending, Outcome, Ran, Settlement};
use crate::worker::shared::slots::Slots;

/// Counts an attempt in the metrics of this process, and calls hooks.
pub(super) fn tell(
    settlement: &Settlement,
    ending: Option<Ending>,
    slots: &Slots,
    hooks: Option<&Hooks<Event>>,
) {
    let Some(outcome) = settlement.outcome.became(ending) else { return meter::lost() };
    if let Some(Ran { kind, queue, waited, .. }) = settlement.ran {
        let times = (outcome != hooks::Outcome::Expire).then_some((settlement.took, waited));
        meter::ended(kind, || slots.name(queue), outcome.as_str(), times);
    }
    if let Some(hooks) = hooks {
        let again = matches!(ending, None | Some(Ending::Charged));
        let again_in = settlement.outcome.delay().filter(|_| again);
        hooks.tell(Event::Ended(ended(settlement, outcome, again_in, slots)));
    }
}

fn ended(
    settlement: &Settlement,
    outcome: hooks::Outcome,
    again_in: Option<Duration>,
    slots: &Slots,
) -> Ended {
    let run = settlement.ran.filter(|_| outcome != hooks::Outcome::Expire).map(|ran| hooks::Run {
        kind: ran.kind,
        queue: slots.name(ran.queue),
        attempt: ran.attempt,
        took: settlement.took,
        waited: ran.waited,
    });
    let failure = settlement.outcome.failure();
    Ended {
        job: JobId(settlement.job),
        outcome,
        run,
        error: failure.map(|failure| failure.error.clone()),
        again_in,
    }
}

/// An event of an attempt. It names the job, because the span may be filtered out or not shown.
macro_rules! say {
    ($level:ident, $settlement:ident, $slots:ident, $($more:tt)+) => {
        tracing::$level!(
            job.id = $settlement.job,
            job.kind = $settlement.ran.map(|ran| ran.kind),
            queue = $settlement.ran.map(|ran| $slots.name(ran.queue)).as_deref(),
            attempt = $settlement.ran.map(|ran| ran.attempt),
            $($more)+
        )
    };
}

/// Logs a failed attempt, a job that became a dead letter or was put back, and a job that did not
/// end as requested.
pub(crate) fn log(settlement: &Settlement, ending: Option<Ending>, slots: &Slots) {
    let outcome = &settlement.outcome;
    let error = outcome.failure().map(|failure| &*failure.error);
    let is_buried = ending == Some(Ending::Buried);
    match (outcome, ending) {
        (Outcome::Retry { .. }, None | Some(Ending::Buried))
        | (Outcome::Wait { .. }, Some(Ending::Charged | Ending::Buried)) => {
            failed(settlement, is_buried, slots);
        }
        (Outcome::Wait { delay, .. }, None) => {
            say!(debug, settlement, slots, error, ?delay, "jobkit: told to wait");
        }
        (Outcome::Withhold { why, .. }, None) => {
            say!(warn, settlement, slots, why, "jobkit: job put back: this worker lacks its key");
        }
        (_, Some(ending)) if !is_buried => {
            let requested = outcome.as_str();
            say!(info, settlement, slots, requested, ?ending, error, "jobkit: settled otherwise");
        }
        _ => {}
    }
    if is_buried || ending.is_none() && matches!(outcome, Outcome::Bury { .. }) {
        let reason = outcome.reason();
        say!(error, settlement, slots, reason, error, "jobkit.bury: a dead letter");
    }
    if let Some(attempt) = &settlement.failed {
        attempt.report.close();
    }
}

/// In the attempt's span, for subscribers that collect its events. After the last attempt there is
/// no delay.
fn failed(settlement: &Settlement, is_last: bool, slots: &Slots) {
    let Some(failure) = settlement.outcome.failure() else { return };
    let delay = settlement.outcome.delay().filter(|_| !is_last).map(tracing::field::debug);
    let span = settlement.failed.as_ref().map(|attempt| &attempt.span);
    let _entered = span.map(tracing::Span::enter);
    say!(warn, settlement, slots, error = failure.error, delay, "jobkit: attempt failed");
}
