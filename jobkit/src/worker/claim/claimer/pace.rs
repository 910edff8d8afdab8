use std::time::{Duration, Instant};

use super::aside::Aside;
use super::follow::Follow;
use super::prepare::Requested;
use super::{LARGEST_BATCH, SUSPICION};
use crate::error::DatabaseError;
use crate::store::ClaimedJob;
use crate::worker::claim::ahead::Ahead;
use crate::worker::claim::low_water::LowWater;
use crate::worker::claim::sleep::Sleep;

/// What the claimer remembers between rounds.
pub(crate) struct Pace {
    pub(super) water: LowWater,
    pub(super) ahead: Ahead,
    /// How many jobs to ask for at most; halved by every failed call.
    pub(super) batch: usize,
    /// Whether the last claim that found jobs found some with a concurrency key.
    keyed: bool,
    /// Failed rounds in a row.
    pub(super) failures: u32,
    /// Calls in a row whose answer was lost although there was a connection.
    pub(super) lost: u32,
    /// Pools whose queues were not asked, since no slot was free or they have not had their turn.
    pub(super) full: Vec<usize>,
    /// After how long a rate allows the next job, if it allows none now, or jobs that went back may
    /// be claimed again.
    pub(super) again_in: Option<Duration>,
    /// When it rests, and what enqueues know about it.
    pub(super) sleep: Sleep,
    /// Jobs that could not be read, and are not known to have recovered.
    pub(super) aside: Aside,
    /// When it last looked for queues that match a pattern.
    pub(super) follow: Follow,
}

impl Pace {
    pub(crate) fn new(pools: usize) -> Self {
        Self {
            water: LowWater::default(),
            ahead: Ahead::new(pools),
            batch: LARGEST_BATCH,
            keyed: false,
            failures: 0,
            lost: 0,
            full: Vec::new(),
            again_in: None,
            sleep: Sleep::default(),
            aside: Aside::default(),
            follow: Follow::default(),
        }
    }

    /// Records what a claim brought, and how many jobs got no permit.
    pub(super) fn brought(&mut self, jobs: &[ClaimedJob], denied: usize) {
        if denied > 0 || !jobs.is_empty() {
            self.keyed = denied > 0 || jobs.iter().any(|job| job.keyed);
        }
    }

    /// Whether so many jobs are claimed and not settled (`unsettled`: in turn, put off) that no
    /// more are claimed.
    ///
    /// If more are claimed than may run, outcomes pile up: settling is slow, and claiming would not
    /// help. Jobs with keys would also ask for permits of jobs that have ended, and be blocked.
    /// Outcomes that were put off wait for others, so they only count if there are very many.
    pub(super) fn waits_for_settles(&self, slots: usize, unsettled: (usize, usize)) -> bool {
        let (in_turn, put_off) = unsettled;
        let most = slots + 2 * LARGEST_BATCH;
        let most_in_turn = if self.keyed { slots.max(LARGEST_BATCH) } else { most };
        in_turn > most_in_turn || in_turn + put_off > 2 * most
    }

    /// Records that a call failed. Returns whether its answer and those before it were lost: then a
    /// job that was claimed alone is the suspect.
    pub(super) fn failed(
        &mut self,
        error: &DatabaseError,
        requested: &Requested,
        from_start: bool,
        asked: Instant,
    ) -> bool {
        self.sleep.forget_hint();
        let lost = !error.is_answer();
        let took_too_long = error.code().as_deref() == Some("57014");
        self.lost += u32::from(lost);
        if from_start && took_too_long {
            self.water.failed(requested.queues(), asked.elapsed(), Instant::now());
        } else {
            self.water.start_over();
        }
        lost && self.lost >= SUSPICION
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_may_be_unsettled_after_jobs_were_denied_a_permit() {
        let mut pace = Pace::new(1);
        let waits = |pace: &Pace, slots, most| {
            [most, most + 1].map(|in_turn| pace.waits_for_settles(slots, (in_turn, 0)))
        };
        let has_most = |pace: &Pace, most: [usize; 2]| {
            assert_eq!(waits(pace, 10, most[0]), [false, true]);
            assert_eq!(waits(pace, 800, most[1]), [false, true]);
        };
        has_most(&pace, [1010, 1800]);
        pace.brought(&[], 1);
        has_most(&pace, [500, 800]);
        pace.brought(&[], 0);
        has_most(&pace, [500, 800]); // A claim that found nothing says nothing.
        let put_off = [3600, 3601].map(|put_off| pace.waits_for_settles(800, (0, put_off)));
        assert_eq!(put_off, [false, true], "what is put off has a bound of its own");
    }
}
