//! How many jobs of each queue are claimed before a slot is free.

use std::time::{Duration, Instant};

/// The maximum size of their payloads, in bytes.
const MOST_BYTES: usize = 1024 * 1024;
/// Jobs claimed ahead last for two round trips of a claim, and for at least this long: a claim of
/// many jobs costs little more than one of few …
const LEAST: Duration = Duration::from_millis(5);
/// … but for no longer than this, unless there are as many slots.
const MOST: Duration = Duration::from_millis(10);
/// How long no job is claimed ahead of a queue whose jobs may not be.
const PAUSE: Duration = Duration::from_secs(1);
/// How much the newest measurement counts.
const WEIGHT: f64 = 0.3;

/// As many jobs as end while a claim is in flight, and as many again while the next one gathers
/// free slots, or as many as end in a few milliseconds; but none if jobs take so long that slots
/// would hardly be idle anyway.
#[derive(Debug)]
pub(super) struct Ahead {
    /// Jobs of each queue that end in a second.
    rates: Vec<f64>,
    /// How many had ended at the last check, and when that was.
    ended: Vec<u64>,
    looked: Instant,
    /// Seconds from a claim to its answer.
    trip: f64,
    /// Bytes of payload of a job.
    size: f64,
    /// When the pause of claiming ahead ends, for each queue.
    paused: Vec<Option<Instant>>,
}

impl Ahead {
    pub(super) fn new(queues: usize) -> Self {
        Self {
            rates: vec![0.0; queues],
            ended: vec![0; queues],
            looked: Instant::now(),
            trip: 0.0,
            size: 0.0,
            paused: vec![None; queues],
        }
    }

    /// A claim returned this many jobs, of this many bytes, after this long.
    pub(super) fn answered(&mut self, trip: Duration, jobs: usize, bytes: usize) {
        self.trip += (trip.as_secs_f64() - self.trip) * WEIGHT;
        if jobs > 0 {
            self.size += (bytes as f64 / jobs as f64 - self.size) * WEIGHT;
        }
    }

    /// A queue has jobs that may not be claimed ahead.
    pub(super) fn pause(&mut self, queue: usize, now: Instant) {
        self.paused[queue] = Some(now + PAUSE);
    }

    /// How many to claim ahead of each queue, given how many have ended and the number of slots.
    pub(super) fn wanted(
        &mut self,
        ended: Vec<u64>,
        slots: impl Iterator<Item = usize>,
        now: Instant,
    ) -> Vec<usize> {
        let passed = (now - self.looked).as_secs_f64().max(1e-6);
        let before = self.ended.iter().zip(&ended);
        for (rate, (before, ended)) in self.rates.iter_mut().zip(before) {
            *rate += (ended.saturating_sub(*before) as f64 / passed - *rate) * WEIGHT;
        }
        (self.ended, self.looked) = (ended, now);
        let of_queue = self.rates.iter().zip(&self.paused).zip(slots);
        let wanted = of_queue.map(|((rate, paused), slots)| {
            let ending = rate * self.trip;
            if paused.is_some_and(|until| now < until) || ending < slots as f64 * 0.02 {
                return 0;
            }
            let fitting = (MOST_BYTES as f64 / self.size.max(1.0)) as usize;
            let lasting = |least: Duration| (rate * least.as_secs_f64()).ceil() as usize;
            let lasts = lasting(LEAST).max((ending * 2.0).ceil() as usize);
            lasts.min(lasting(MOST).max(slots)).min(fitting)
        });
        wanted.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many are wanted of one queue with so many slots, of which so many jobs of so many bytes
    /// end in each of twenty trips of so many milliseconds.
    fn wanted(trip: u64, slots: usize, ending: u64, bytes: usize) -> usize {
        let (mut ahead, began) = (Ahead::new(1), Instant::now());
        let trip = Duration::from_millis(trip);
        let mut wanted = 0;
        for round in 1..=20 {
            ahead.answered(trip, 1, bytes);
            let now = began + trip * round;
            wanted = ahead.wanted(vec![ending * u64::from(round)], [slots].into_iter(), now)[0];
        }
        wanted
    }

    #[test]
    fn as_many_as_end_in_two_trips_and_in_five_milliseconds() {
        assert_eq!(wanted(4, 200, 14, 100), 28);
        assert_eq!(wanted(2, 200, 14, 100), 35);
    }

    #[test]
    fn no_more_than_end_in_ten_milliseconds_or_there_are_slots_and_an_answer_holds() {
        assert_eq!(wanted(20, 100, 400, 100), 200);
        assert_eq!(wanted(20, 500, 400, 100), 500);
        assert_eq!(wanted(2, 100, 80, 50_000), 20);
    }

    #[test]
    fn none_where_a_slot_would_hardly_stand_idle() {
        assert_eq!(wanted(2, 200, 3, 100), 0);
    }

    #[test]
    fn none_for_a_while_where_jobs_may_not_wait() {
        let (mut ahead, began) = (Ahead::new(2), Instant::now());
        ahead.answered(Duration::from_secs(1), 0, 0);
        ahead.pause(0, began);
        let mut after =
            |wait, ended: u64| ahead.wanted(vec![ended; 2], [10, 10].into_iter(), began + wait);
        assert_eq!(after(PAUSE / 2, 50), [0, 10]);
        assert_eq!(after(PAUSE, 100), [10, 10]);
    }
}
