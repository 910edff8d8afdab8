use std::time::{Duration, Instant};

use crate::store::Lane;
use crate::worker::shared::slots::Queue;

/// A scan from the start this cheap is always affordable.
const CHEAP: Duration = Duration::from_millis(1);
/// Otherwise scans from the start get one part in this many of the time.
const SHARE: u32 = 20;

/// Where the next scan begins.
///
/// Dead index entries pile up at the head of `ready` while an old transaction pins them, and a scan
/// from the start walks them all. So once that costs more than [`CHEAP`], a scan begins at the
/// lowest id picked last time, for each queue and (priority, permit) separately. Scans from the
/// start, which find jobs below the marks (late commits, retries), get at most 5 % of the time.
///
/// A queue that is rarely asked, since its slots are taken or others have their turns, may always
/// miss these scans. If it has missed them for that interval times the number of queues, one begins
/// as soon as the queue is asked: at most another 5 %.
#[derive(Debug, Default)]
pub(crate) struct LowWater {
    /// The epoch of each queue: how many had its place before.
    epochs: Vec<u32>,
    /// The marks of each queue; 0 if nothing was picked.
    marks: Vec<[i64; Lane::COUNT]>,
    /// What the last scan from the start cost, and when it was.
    last_start: Option<(Duration, Instant)>,
    /// When each queue had such a scan.
    seen: Vec<Option<Instant>>,
}

impl LowWater {
    #[cfg(test)]
    fn new(queues: usize) -> Self {
        let (marks, seen) = (vec![[0; Lane::COUNT]; queues], vec![None; queues]);
        Self { epochs: vec![0; queues], marks, last_start: None, seen }
    }

    /// Learns which queues there are by now: a new one has no marks.
    pub(crate) fn know(&mut self, queues: &[Queue]) {
        let known = self.epochs.iter().zip(queues);
        for at in known
            .enumerate()
            .filter_map(|(at, (epoch, queue))| (*epoch != queue.epoch).then_some(at))
            .collect::<Vec<_>>()
        {
            (self.epochs[at], self.marks[at], self.seen[at]) =
                (queues[at].epoch, [0; Lane::COUNT], None);
        }
        for queue in queues.iter().skip(self.epochs.len()) {
            self.epochs.push(queue.epoch);
            self.marks.push([0; Lane::COUNT]);
            self.seen.push(None);
        }
    }

    /// Whether a scan of these queues at `now` begins at the start.
    pub(crate) fn at_start(&self, mut queues: impl Iterator<Item = usize>, now: Instant) -> bool {
        self.until_start(now).is_zero() || queues.any(|queue| self.has_missed(queue, now))
    }

    fn has_missed(&self, queue: usize, now: Instant) -> bool {
        let cost = self.last_start.map_or(Duration::ZERO, |(cost, _)| cost);
        let queues = u32::try_from(self.marks.len()).unwrap_or(u32::MAX);
        let patience = (cost * SHARE).saturating_mul(queues);
        self.seen[queue].is_none_or(|seen| now.saturating_duration_since(seen) > patience)
    }

    /// How long it is until a scan may begin at the start.
    pub(crate) fn until_start(&self, now: Instant) -> Duration {
        match self.last_start {
            Some((cost, at)) if cost > CHEAP => {
                (cost * (SHARE - 1)).saturating_sub(now.saturating_duration_since(at))
            }
            _ => Duration::ZERO,
        }
    }

    /// The marks of a queue, and its first and last lane that may have some. Those begin and end a
    /// priority: whole ones before and behind them are scanned at a go.
    pub(crate) fn marks(&self, queue: usize) -> (&[i64; Lane::COUNT], usize, usize) {
        let marks = &self.marks[queue];
        let first = marks.iter().position(|mark| *mark != 0).map_or(Lane::COUNT, |lane| lane & !1);
        let last =
            marks.iter().rposition(|mark| *mark != 0).map_or(Lane::COUNT - 1, |lane| lane | 1);
        (marks, first, last)
    }

    /// Notes a job that became ready: the next scan of its lane finds it.
    pub(crate) fn lower(&mut self, queue: usize, lane: Lane, job: i64) {
        let mark = &mut self.marks[queue][lane.index()];
        *mark = (*mark).min(job.saturating_sub(1));
    }

    /// The next scan begins at the start: a claim that failed has left its marks on what it picked,
    /// and scans above the water pass over that.
    pub(crate) fn start_over(&mut self) {
        self.last_start = None;
    }

    /// Records what a scan of these queues from the start has cost.
    pub(crate) fn started(
        &mut self,
        queues: impl Iterator<Item = usize>,
        cost: Duration,
        now: Instant,
    ) {
        self.last_start = Some((cost, now));
        queues.for_each(|queue| self.seen[queue] = Some(now));
    }

    /// Notes that the server gave up such a scan after so long: the next one begins after as long
    /// again. Where it takes longer than a call may take, the scans above the marks are all there
    /// is; what it had picked by then, they pass over.
    pub(crate) fn failed(
        &mut self,
        queues: impl Iterator<Item = usize>,
        took: Duration,
        now: Instant,
    ) {
        self.started(queues, took / (SHARE - 1), now);
    }

    /// Notes the (lane, id) of each job that a scan picked of a queue.
    pub(crate) fn picked(&mut self, queue: usize, jobs: impl Iterator<Item = (Lane, i64)>) {
        let mut lowest = [i64::MAX; Lane::COUNT];
        jobs.for_each(|(lane, id)| lowest[lane.index()] = lowest[lane.index()].min(id));
        for (mark, lowest) in self.marks[queue].iter_mut().zip(lowest) {
            if lowest != i64::MAX {
                *mark = lowest.saturating_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEAR: Duration = Duration::from_millis(10);

    fn after_a_start(cost: Duration) -> (LowWater, Instant) {
        let (mut water, now) = (LowWater::new(2), Instant::now());
        water.started(0..2, cost, now);
        (water, now)
    }

    #[test]
    fn cheap_scans_always_begin_at_the_start() {
        let (water, now) = after_a_start(CHEAP);
        assert!(water.at_start(0..2, now));
        assert!(LowWater::new(1).at_start(0..1, now));
    }

    #[test]
    fn dear_scans_get_a_twentieth_of_the_time() {
        let (water, now) = after_a_start(DEAR);
        assert_eq!(water.until_start(now + DEAR), DEAR * 18);
        assert!(!water.at_start(0..2, now + DEAR * 18));
        assert!(water.at_start(0..2, now + DEAR * 19));
    }

    #[test]
    fn one_that_failed_is_repeated_after_as_long_as_it_took() {
        let (mut water, now) = (LowWater::new(2), Instant::now());
        let took = Duration::from_secs(5);
        water.failed(0..2, took, now);
        assert!(!water.at_start(0..2, now + took.mul_f64(0.99)));
        assert!(water.at_start(0..2, now + took));
    }

    #[test]
    fn a_queue_that_missed_the_last_ones_has_one_when_it_is_asked() {
        let (mut water, begin) = after_a_start(DEAR);
        for start in [20, 39] {
            water.started(0..1, DEAR, begin + DEAR * start);
        }
        assert!(!water.at_start(1..2, begin + DEAR * 40));
        assert!(!water.at_start(0..1, begin + DEAR * 41));
        assert!(water.at_start(1..2, begin + DEAR * 41));
        water.started(1..2, DEAR, begin + DEAR * 41);
        assert!(!water.at_start(0..2, begin + DEAR * 59));
    }

    #[test]
    fn after_a_failure_a_scan_begins_at_the_start() {
        let (mut water, now) = after_a_start(DEAR);
        water.start_over();
        assert!(water.at_start(0..2, now));
    }

    fn lane((lane, id): (usize, i64)) -> (Lane, i64) {
        (Lane::at(lane), id)
    }

    #[test]
    fn each_lane_of_each_queue_has_the_mark_of_what_was_picked_last() {
        let mut water = LowWater::new(2);
        water.picked(1, [(7, 101), (7, 100), (6, 200)].map(lane).into_iter());
        assert_eq!((water.marks(1).0[6], water.marks(1).0[7]), (199, 99));
        water.picked(1, [(7, 300)].map(lane).into_iter());
        assert_eq!((water.marks(1).0[6], water.marks(1).0[7]), (199, 299));
        water.picked(1, [].into_iter());
        assert_eq!(water.marks(1).0[7], 299, "nothing found, and it stays where it was");
        assert_eq!(*water.marks(0).0, [0; Lane::COUNT]);
    }

    #[test]
    fn the_lanes_between_the_first_mark_and_the_last_make_whole_priorities() {
        let mut water = LowWater::new(1);
        let mut between = |picked: Option<usize>| {
            water.picked(0, picked.map(|lane| (Lane::at(lane), 100)).into_iter());
            let (_, first, last) = water.marks(0);
            (first, last)
        };
        assert_eq!(between(None), (14, 13));
        assert_eq!(between(Some(7)), (6, 7));
        assert_eq!(between(Some(2)), (2, 7));
        assert_eq!(between(Some(13)), (2, 13));
        assert_eq!(between(Some(0)), (0, 13));
    }

    #[test]
    fn an_unblocked_job_lowers_the_mark_of_its_lane() {
        let mut water = LowWater::new(1);
        water.picked(0, [(6, 100), (7, 100)].map(lane).into_iter());
        water.lower(0, Lane::at(6), 50);
        water.lower(0, Lane::at(7), 200);
        assert_eq!((water.marks(0).0[6], water.marks(0).0[7]), (49, 99));
    }
}
