use std::time::{Duration, Instant};

use super::aside::Aside;
use super::follow::Follow;
use super::prepare::Requested;
use super::{LARGEST_BATCH, SUSPICION};
use crate::Error;
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
    /// Whether the newest claim that found jobs found some with a concurrency key.
    keyed: bool,
    /// Failed rounds in a row.
    pub(super) failures: u32,
    /// Calls in a row whose answer was lost, on connections that could be had.
    pub(super) lost: u32,
    /// Pools whose queues were not asked, since none of their slots was free or they have yet to
    /// have their turn.
    pub(super) full: Vec<usize>,
    /// In how long a rate allows the next job, if one allows none now, or others will have decided
    /// about jobs that went back.
    pub(super) again_in: Option<Duration>,
    /// When it rests, and what enqueues know of that.
    pub(super) sleep: Sleep,
    /// Jobs that could not be read, and are not known to have gone on.
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

    /// Notes what a claim brought, and how many jobs got no permit.
    pub(super) fn brought(&mut self, jobs: &[ClaimedJob], denied: usize) {
        if denied > 0 || !jobs.is_empty() {
            self.keyed = denied > 0 || jobs.iter().any(|job| job.keyed);
        }
    }

    /// No more are claimed while more jobs than this are claimed and not settled. With keys they
    /// are fewer: the next ones would ask for the permits of those that have ended, and be blocked.
    pub(super) fn most_unsettled(&self, slots: usize) -> usize {
        if self.keyed { slots.max(LARGEST_BATCH) } else { slots + 2 * LARGEST_BATCH }
    }

    /// Notes that a call failed. Whether its answer was lost, and those before it: a job that was
    /// asked for alone is the suspect.
    pub(super) fn failed(
        &mut self,
        error: &Error,
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
        let most = |pace: &Pace| [10, 800].map(|slots| pace.most_unsettled(slots));
        assert_eq!(most(&pace), [1010, 1800]);
        pace.brought(&[], 1);
        assert_eq!(most(&pace), [500, 800]);
        pace.brought(&[], 0);
        assert_eq!(most(&pace), [500, 800], "a claim that found nothing says nothing");
    }
}
