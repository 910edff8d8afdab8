use std::time::Duration;

use tokio::time::Instant;

use crate::store::{Outcome, Settlement};

/// How long after a write the next one begins, unless somebody waits for it.
const GAP: Duration = Duration::from_millis(5);
/// So many outcomes are worth a write of their own.
const ENOUGH: usize = 100;

/// When outcomes are written: a write costs the server about as much whatever it writes, so where
/// they trickle in they wait for each other.
///
/// None waits after a pause, nor where no other job runs that could bring company.
#[derive(Debug)]
pub(crate) struct Company {
    next: Instant,
}

impl Company {
    pub(crate) fn new() -> Self {
        Self { next: Instant::now() }
    }

    /// When outcomes are written that nobody waits for.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// A write begins.
    pub(super) fn writes(&mut self, now: Instant) {
        self.next = now + GAP;
    }

    /// Whether so many outcomes wait for more, the newest of which are these, while so many jobs,
    /// with theirs, are not settled.
    pub(super) fn allows_for_more(
        newest: &[Settlement],
        outcomes: usize,
        unsettled: usize,
    ) -> bool {
        outcomes < unsettled.min(ENOUGH) && !newest.iter().any(is_awaited)
    }
}

/// Whether somebody waits for this outcome: the next job of its key for the permit, or any worker
/// for the job itself.
fn is_awaited(settlement: &Settlement) -> bool {
    settlement.keyed_in.is_some() || matches!(settlement.outcome, Outcome::Release(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::ClaimId;

    const CLAIM: ClaimId = ClaimId { worker: 1, n: 1 };

    #[test]
    fn outcomes_wait_while_other_jobs_run_and_there_are_few() {
        let newest = [Settlement::of(CLAIM, 1, Outcome::Finish)];
        let waits = |outcomes, unsettled| Company::allows_for_more(&newest, outcomes, unsettled);
        assert!(waits(1, 2));
        assert!(!waits(1, 1), "a lone job waits for nobody");
        assert!(waits(ENOUGH - 1, 1000));
        assert!(!waits(ENOUGH, 1000));
    }

    #[test]
    fn what_somebody_waits_for_is_written_at_once() {
        let finish = |job| Settlement::of(CLAIM, job, Outcome::Finish);
        let waits = |newest: &[Settlement]| Company::allows_for_more(newest, newest.len(), 100);
        assert!(waits(&[finish(1), finish(2)]));
        assert!(!waits(&[finish(1), Settlement { keyed_in: Some(0), ..finish(2) }]));
        assert!(!waits(&[finish(1), Settlement::of(CLAIM, 2, Outcome::Release(None))]));
    }
}
