use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::store::Settlement;
use crate::worker::shared::ledger::Ledger;

/// The most outcomes of one call.
const LARGEST_BATCH: usize = 500;
/// The maximum number of outcomes from which those of one call are chosen.
pub(super) const LARGEST_CHOICE: usize = 2 * LARGEST_BATCH;
/// How long after a write the next one begins, unless somebody waits for it; half as long while a
/// limit holds claims back, since a job counts until its end is written.
const GAP: Duration = Duration::from_millis(10);
/// This many outcomes are worth a write of their own.
const ENOUGH: usize = 100;

/// Decides when outcomes are written. A write costs the server about the same whatever its size, so
/// outcomes that trickle in wait for each other.
///
/// None waits after a pause, or if no other job is running that could join.
#[derive(Debug)]
pub(crate) struct Company {
    /// When outcomes that nobody waits for are written.
    next: Instant,
}

impl Company {
    pub(crate) fn new() -> Self {
        Self { next: Instant::now() }
    }

    /// Lets a batch of outcomes wait for others, until somebody waits for them or `drain` is set;
    /// `held`: a limit holds claims back.
    pub(super) async fn join(
        &mut self,
        outcomes: &mut UnboundedReceiver<Settlement>,
        batch: &mut Vec<Settlement>,
        ledger: &Ledger,
        held: bool,
        drain: &CancellationToken,
    ) {
        let mut known = 0;
        while Self::allows_for_more(&batch[known..], batch.len(), ledger.unsettled().0) {
            known = batch.len();
            tokio::select! {
                biased;
                received = outcomes.recv_many(batch, LARGEST_CHOICE - known) => {
                    if received == 0 {
                        break;
                    }
                }
                () = drain.cancelled() => break,
                () = sleep_until(self.next) => break,
            }
        }
        self.next = Instant::now() + if held { GAP / 2 } else { GAP };
        gather(outcomes, batch, ledger).await;
    }

    /// Whether this many outcomes, the newest of which are these, should wait for more, given the
    /// number of unsettled jobs, including theirs.
    fn allows_for_more(newest: &[Settlement], outcomes: usize, unsettled: usize) -> bool {
        outcomes < unsettled.min(ENOUGH) && !newest.iter().any(is_awaited)
    }
}

/// Lets handlers that are just ending join the batch, as long as a turn of the runtime brings more
/// of them; returns immediately if no other handler runs, since a turn may wake another thread.
async fn gather(
    outcomes: &mut UnboundedReceiver<Settlement>,
    batch: &mut Vec<Settlement>,
    ledger: &Ledger,
) {
    let (in_turn, put_off) = ledger.unsettled();
    let most = (in_turn + put_off).min(LARGEST_CHOICE);
    let mut before = 0;
    while before < batch.len() && batch.len() < most {
        before = batch.len();
        tokio::task::yield_now().await;
        let more = std::iter::from_fn(|| outcomes.try_recv().ok());
        batch.extend(more.take(LARGEST_CHOICE - before));
    }
}

/// Takes the outcomes to write next, and leaves the others for the call after that. Outcomes of
/// whole claims go first, since such a claim is removed by its key, while a claim settled in parts
/// must be rewritten. Outcomes that were `left` before do not wait again.
pub(super) fn take_next(
    outcomes: &mut Vec<Settlement>,
    left: &mut usize,
    held: impl Fn(i64) -> usize,
) -> Vec<Settlement> {
    if outcomes.len() < LARGEST_BATCH {
        *left = 0;
        return std::mem::take(outcomes);
    }
    let mut claims: BTreeMap<i64, (usize, bool)> = BTreeMap::new();
    for (place, outcome) in outcomes.iter().enumerate() {
        let (count, waits) = claims.entry(outcome.claim.n).or_default();
        *count += 1;
        *waits |= place < *left;
    }
    let mut room = LARGEST_BATCH;
    let mut chosen = BTreeSet::new();
    for urgent in [true, false] {
        for (n, (count, waits)) in &claims {
            if *waits == urgent && (urgent || *count == held(*n)) && *count <= room {
                room -= count;
                chosen.insert(*n);
            }
        }
    }
    let next: Vec<_> = if chosen.is_empty() {
        outcomes.drain(..LARGEST_BATCH).collect()
    } else {
        outcomes.extract_if(.., |outcome| chosen.contains(&outcome.claim.n)).collect()
    };
    *left = outcomes.len();
    next
}

/// Whether somebody waits for this outcome: the next job of its key for the permit, or any worker
/// for the job itself.
fn is_awaited(settlement: &Settlement) -> bool {
    settlement.keyed_in.is_some() || settlement.outcome.is_given_back()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::returned::Returned;
    use crate::store::{ClaimId, Outcome};

    const CLAIM: ClaimId = ClaimId { worker: 1, n: 1 };

    #[test]
    fn outcomes_wait_while_other_jobs_run_and_there_are_few() {
        let newest = [Settlement::of(CLAIM, 1, Outcome::Finish(Returned::Nothing))];
        let waits = |outcomes, unsettled| Company::allows_for_more(&newest, outcomes, unsettled);
        assert!(waits(1, 2));
        assert!(!waits(1, 1), "a lone job waits for nobody");
        assert!(waits(ENOUGH - 1, 1000));
        assert!(!waits(ENOUGH, 1000));
    }

    /// So many outcomes of a claim.
    fn of_claim(n: i64, outcomes: i64) -> impl Iterator<Item = Settlement> {
        let job = move |job| (n * 1000 + job, ClaimId { worker: 1, n });
        (0..outcomes)
            .map(job)
            .map(|(job, claim)| Settlement::of(claim, job, Outcome::Finish(Returned::Nothing)))
    }

    fn claims(outcomes: &[Settlement]) -> Vec<(i64, usize)> {
        let mut claims = BTreeMap::new();
        outcomes.iter().for_each(|outcome| *claims.entry(outcome.claim.n).or_default() += 1);
        claims.into_iter().collect()
    }

    #[test]
    fn of_many_outcomes_whole_claims_go_first() {
        let mut outcomes: Vec<_> = of_claim(1, 200).chain(of_claim(3, 300)).collect();
        let mut left = 0;
        let held = |n| if n == 1 { 200 } else { 500 };
        assert_eq!(claims(&take_next(&mut outcomes, &mut left, held)), [(1, 200)]);
        assert_eq!((claims(&outcomes), left), (vec![(3, 300)], 300));
        outcomes.extend(of_claim(3, 200).chain(of_claim(5, 100)));
        assert_eq!(claims(&take_next(&mut outcomes, &mut left, |_| 500)), [(3, 500)]);
        assert_eq!((claims(&outcomes), left), (vec![(5, 100)], 100));
    }

    #[test]
    fn an_outcome_is_left_once_at_most() {
        let mut outcomes: Vec<_> = of_claim(1, 300).chain(of_claim(3, 200)).collect();
        let mut left = 0;
        let held = |n| if n == 3 { 200 } else { 500 };
        assert_eq!(claims(&take_next(&mut outcomes, &mut left, held)), [(3, 200)]);
        outcomes.extend(of_claim(5, 400));
        let held = |n| if n == 5 { 400 } else { 500 };
        assert_eq!(claims(&take_next(&mut outcomes, &mut left, held)), [(1, 300)]);
        assert_eq!(claims(&take_next(&mut outcomes, &mut left, held)), [(5, 400)]);
        assert_eq!((outcomes.len(), left), (0, 0));
    }

    #[test]
    fn where_no_claim_is_whole_the_oldest_outcomes_go_first() {
        let mut outcomes: Vec<_> = of_claim(3, 600).chain(of_claim(1, 100)).collect();
        let next = take_next(&mut outcomes, &mut 0, |_| 1000);
        assert_eq!((claims(&next), claims(&outcomes)), (vec![(3, 500)], vec![(1, 100), (3, 100)]));
    }

    #[test]
    fn what_somebody_waits_for_is_written_at_once() {
        let finish = |job| Settlement::of(CLAIM, job, Outcome::Finish(Returned::Nothing));
        let waits = |newest: &[Settlement]| Company::allows_for_more(newest, newest.len(), 100);
        assert!(waits(&[finish(1), finish(2)]));
        assert!(!waits(&[finish(1), Settlement { keyed_in: Some(0), ..finish(2) }]));
        assert!(!waits(&[finish(1), Settlement::of(CLAIM, 2, Outcome::Release(None))]));
    }
}
