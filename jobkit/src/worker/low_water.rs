use std::time::{Duration, Instant};

use crate::store::LANES;

/// A scan from the start this cheap is always affordable, whatever queues it is of.
const CHEAP: Duration = Duration::from_millis(1);
/// Otherwise scans from the start get one part in this many of the time.
const SHARE: u32 = 20;

/// Where the next scan of a queue begins.
///
/// Dead index entries pile up at the head of `ready` while some transaction elsewhere pins them;
/// a scan from the start walks them all. So once that costs more than [`CHEAP`] a scan begins at
/// the lowest id picked last time, for each (priority, permit) by itself, and starts from the
/// very beginning for at most 5 % of the time: jobs whose insert committed late, and retries, lie
/// below the marks.
#[derive(Debug)]
pub(crate) struct LowWater {
    marks: [i64; LANES],
    /// What the last scan from the start cost, and when it was.
    last_start: Option<(Duration, Instant)>,
}

impl Default for LowWater {
    fn default() -> Self {
        Self { marks: [0; LANES], last_start: None }
    }
}

impl LowWater {
    /// Which queues of a claim are scanned from the start: of those where that is dear only the
    /// first, since the server tells what the scan of all has cost.
    pub(crate) fn starts<'a>(waters: impl Iterator<Item = &'a Self>, now: Instant) -> Vec<bool> {
        let mut dear = false;
        let begins = |water: &Self| {
            if water.is_cheap() {
                return true;
            }
            let begins = !dear && water.at_start(now);
            dear |= begins;
            begins
        };
        waters.map(begins).collect()
    }

    /// Whether a scan at `now` may begin at the start.
    pub(crate) fn at_start(&self, now: Instant) -> bool {
        self.until_start(now).is_zero()
    }

    /// How long it is until a scan may begin at the start.
    pub(crate) fn until_start(&self, now: Instant) -> Duration {
        match self.last_start {
            Some((cost, at)) if !self.is_cheap() => {
                (cost * (SHARE - 1)).saturating_sub(now.saturating_duration_since(at))
            }
            _ => Duration::ZERO,
        }
    }

    /// Whether a scan from the start has cost so little that it is always affordable.
    pub(crate) fn is_cheap(&self) -> bool {
        self.last_start.is_none_or(|(cost, _)| cost <= CHEAP)
    }

    pub(crate) fn marks(&self) -> &[i64; LANES] {
        &self.marks
    }

    /// Notes a job that became ready: the next scan of its lane finds it.
    pub(crate) fn lower(&mut self, lane: usize, job: i64) {
        self.marks[lane] = self.marks[lane].min(job - 1);
    }

    /// The next scan begins at the start: a claim that failed has left its marks on what it picked,
    /// and scans above the water pass over that.
    pub(crate) fn start_over(&mut self) {
        self.last_start = None;
    }

    /// Notes a scan: where it began, what it cost, and the (lane, id) of each job it picked.
    pub(crate) fn scanned(
        &mut self,
        from_start: bool,
        cost: Duration,
        now: Instant,
        jobs: impl Iterator<Item = (usize, i64)>,
    ) {
        if from_start {
            self.last_start = Some((cost, now));
        }
        let mut lowest = [i64::MAX; LANES];
        jobs.for_each(|(lane, id)| lowest[lane] = lowest[lane].min(id));
        for (mark, lowest) in self.marks.iter_mut().zip(lowest) {
            if lowest != i64::MAX {
                *mark = lowest - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEAR: Duration = Duration::from_millis(10);

    #[test]
    fn cheap_scans_always_begin_at_the_start() {
        let (mut water, now) = (LowWater::default(), Instant::now());
        assert!(water.at_start(now));
        water.scanned(true, CHEAP, now, [(7, 100)].into_iter());
        assert!(water.at_start(now));
    }

    #[test]
    fn dear_scans_get_a_twentieth_of_the_time() {
        let (mut water, now) = (LowWater::default(), Instant::now());
        water.scanned(true, DEAR, now, [(7, 101), (7, 100)].into_iter());
        assert!(!water.at_start(now + DEAR * 18));
        assert!(water.at_start(now + DEAR * 19));
        assert_eq!((water.marks()[7], water.marks()[6]), (99, 0));
    }

    #[test]
    fn one_dear_start_at_a_time() {
        let now = Instant::now();
        let mut waters = [DEAR, CHEAP, DEAR].map(|cost| {
            let mut water = LowWater::default();
            water.scanned(true, cost, now, [].into_iter());
            water
        });
        assert_eq!(LowWater::starts(waters.iter(), now), [false, true, false]);
        let due = now + DEAR * 19;
        assert_eq!(LowWater::starts(waters.iter(), due), [true, true, false]);
        waters[0].scanned(true, DEAR, due, [].into_iter());
        assert_eq!(LowWater::starts(waters.iter(), due), [false, true, true]);
    }

    #[test]
    fn after_a_failure_a_scan_begins_at_the_start() {
        let (mut water, now) = (LowWater::default(), Instant::now());
        water.scanned(true, DEAR, now, [(7, 100)].into_iter());
        water.start_over();
        assert!(water.at_start(now));
    }

    #[test]
    fn an_unblocked_job_lowers_the_mark_of_its_lane() {
        let (mut water, now) = (LowWater::default(), Instant::now());
        water.scanned(true, DEAR, now, [(6, 100), (7, 100)].into_iter());
        water.lower(6, 50);
        water.lower(7, 200);
        assert_eq!((water.marks()[6], water.marks()[7]), (49, 99));
    }

    #[test]
    fn finding_nothing_makes_no_start_affordable() {
        let (mut water, now) = (LowWater::default(), Instant::now());
        water.scanned(true, DEAR, now, [(7, 100)].into_iter());
        water.scanned(false, CHEAP, now, [].into_iter());
        assert_eq!(water.until_start(now + DEAR), DEAR * 18);
        assert_eq!(water.marks()[7], 99, "and the mark stays where it was");
    }
}
