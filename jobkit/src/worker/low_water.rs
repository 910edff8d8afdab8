use std::time::{Duration, Instant};

use crate::store::LANES;

/// A scan from the start this cheap is always affordable.
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
    must_start: bool,
}

impl Default for LowWater {
    fn default() -> Self {
        Self { marks: [0; LANES], last_start: None, must_start: true }
    }
}

impl LowWater {
    /// Whether a scan at `now` begins at the start.
    pub(crate) fn at_start(&self, now: Instant) -> bool {
        let affordable = self.last_start.is_none_or(|(cost, at)| {
            cost <= CHEAP || now.saturating_duration_since(at) >= cost * (SHARE - 1)
        });
        self.must_start || affordable
    }

    pub(crate) fn marks(&self) -> &[i64; LANES] {
        &self.marks
    }

    /// Notes a scan: where it began, what it cost, how many rows it picked and the (lane, id) of
    /// each job. True when the queue was seen to be empty: only a scan from the start can tell.
    pub(crate) fn scanned(
        &mut self,
        from_start: bool,
        cost: Duration,
        now: Instant,
        picked: usize,
        jobs: impl Iterator<Item = (usize, i64)>,
    ) -> bool {
        if from_start {
            self.last_start = Some((cost, now));
            self.must_start = false;
        } else if picked == 0 {
            self.must_start = true;
        }
        let mut lowest = [i64::MAX; LANES];
        jobs.for_each(|(lane, id)| lowest[lane] = lowest[lane].min(id));
        for (mark, lowest) in self.marks.iter_mut().zip(lowest) {
            if lowest != i64::MAX {
                *mark = lowest - 1;
            }
        }
        from_start && picked == 0
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
        water.scanned(true, CHEAP, now, 1, [(7, 100)].into_iter());
        assert!(water.at_start(now));
    }

    #[test]
    fn dear_scans_get_a_twentieth_of_the_time() {
        let (mut water, now) = (LowWater::default(), Instant::now());
        water.scanned(true, DEAR, now, 2, [(7, 101), (7, 100)].into_iter());
        assert!(!water.at_start(now + DEAR * 18));
        assert!(water.at_start(now + DEAR * 19));
        assert_eq!((water.marks()[7], water.marks()[6]), (99, 0));
    }

    #[test]
    fn only_a_scan_from_the_start_shows_an_empty_queue() {
        let (mut water, now) = (LowWater::default(), Instant::now());
        water.scanned(true, DEAR, now, 1, [(7, 100)].into_iter());
        assert!(!water.scanned(false, CHEAP, now, 0, [].into_iter()));
        assert!(water.at_start(now), "an empty scan above the marks proves nothing");
        assert!(water.scanned(true, DEAR, now, 0, [].into_iter()));
    }
}
