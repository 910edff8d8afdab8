use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::ledger::Ledger;
use crate::store::{Outcome, Settlement};

/// The most outcomes of one call.
pub(super) const LARGEST_BATCH: usize = 500;
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
    /// When outcomes are written that nobody waits for.
    next: Instant,
}

impl Company {
    pub(crate) fn new() -> Self {
        Self { next: Instant::now() }
    }

    /// Lets a batch of outcomes wait for others, unless somebody waits for them or `drain` comes.
    pub(super) async fn join(
        &mut self,
        outcomes: &mut UnboundedReceiver<Settlement>,
        batch: &mut Vec<Settlement>,
        ledger: &Ledger,
        drain: &CancellationToken,
    ) {
        let mut known = 0;
        while Self::allows_for_more(&batch[known..], batch.len(), ledger.unsettled().0) {
            known = batch.len();
            tokio::select! {
                biased;
                received = outcomes.recv_many(batch, LARGEST_BATCH - known) => {
                    if received == 0 {
                        break;
                    }
                }
                () = drain.cancelled() => break,
                () = sleep_until(self.next) => break,
            }
        }
        self.next = Instant::now() + GAP;
        gather(outcomes, batch, ledger).await;
    }

    /// Whether so many outcomes wait for more, the newest of which are these, while so many jobs,
    /// with theirs, are not settled.
    fn allows_for_more(newest: &[Settlement], outcomes: usize, unsettled: usize) -> bool {
        outcomes < unsettled.min(ENOUGH) && !newest.iter().any(is_awaited)
    }
}

/// Lets handlers that are just ending join the batch, as long as a turn of the runtime brings more
/// of them; where no other handler runs, at once: a turn may wake another thread.
async fn gather(
    outcomes: &mut UnboundedReceiver<Settlement>,
    batch: &mut Vec<Settlement>,
    ledger: &Ledger,
) {
    let (in_turn, put_off) = ledger.unsettled();
    let most = (in_turn + put_off).min(LARGEST_BATCH);
    let mut before = 0;
    while before < batch.len() && batch.len() < most {
        before = batch.len();
        tokio::task::yield_now().await;
        let more = std::iter::from_fn(|| outcomes.try_recv().ok());
        batch.extend(more.take(LARGEST_BATCH - before));
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
