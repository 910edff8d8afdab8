//! What hooks are told of an outcome that is written.

use std::time::Duration;

use crate::JobId;
use crate::hooks::{self, Ended, Event, Hooks};
use crate::meter;
use crate::store::{Ending, Outcome, Ran, Settlement};
use crate::worker::claim::slots::Slots;

/// What an attempt ended as; nothing of one whose outcome came too late.
fn outcome(settlement: &Settlement, ending: Option<Ending>) -> Option<hooks::Outcome> {
    Some(match (ending, &settlement.outcome) {
        (Some(Ending::Lost), _) => return None,
        (Some(Ending::Buried), _) | (None, Outcome::Bury { .. }) => hooks::Outcome::Bury,
        (Some(Ending::Cancelled), _) | (None, Outcome::Cancel(_)) => hooks::Outcome::Cancel,
        (Some(Ending::Superseded), _) => hooks::Outcome::Supersede,
        (None, Outcome::Discard(_)) => hooks::Outcome::Discard,
        (None, Outcome::Expire(_)) => hooks::Outcome::Expire,
        (None, Outcome::Finish(_)) => hooks::Outcome::Finish,
        (Some(Ending::Charged), _) | (None, Outcome::Retry { .. }) => hooks::Outcome::Retry,
        (None, Outcome::Snooze(_) | Outcome::Wait { .. }) => hooks::Outcome::Snooze,
        (None, Outcome::Release(_) | Outcome::Withhold { .. }) => hooks::Outcome::Release,
    })
}

/// Counts an attempt in the metrics of this process, and tells hooks of it.
pub(super) fn tell(
    settlement: &Settlement,
    ending: Option<Ending>,
    slots: &Slots,
    hooks: Option<&Hooks<Event>>,
) {
    let Some(outcome) = outcome(settlement, ending) else { return meter::lost() };
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
