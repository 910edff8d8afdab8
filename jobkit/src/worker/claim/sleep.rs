//! When a claimer rests, for how long, and what wakes it, depending on what it found. Nothing here
//! does I/O.
//!
//! ```text
//!            slots are left, 8 quick finds              3 looks in vain
//!   AWAKE ───────────────────────────────────► RUSHING ─────────────────┐
//!   looks at once                              looks every 2 ms;        │
//!   while all slots fill                       enqueues do not notify   │
//!     ▲ │                                                               │
//!     │ └─ something was left over ─► HINTED ◄──────────────────────────┘
//!     │                               a row says that it sleeps; it looks once more
//!     │                                 │ nothing came
//!     └──── a notification, a slot, ────▼
//!           or the time is up         ASLEEP
//!                                     10, 50, 250, 250 ms, then a poll; a poll at once when
//!                                     every enqueue knows of the hint
//! ```

mod rush;

use std::time::{Duration, Instant};

use self::rush::Rush;

/// An enqueue that did not see the hint has committed by then, or is found by polling. A hint is
/// kept at least this long, too: each is a row, and dead rows may stay for long.
const RACE: Duration = Duration::from_millis(500);
/// How much longer than two polls a hint lasts, also after the worker has died.
const HINT: Duration = Duration::from_secs(6);
/// How long a worker rests between two looks while jobs come in a rush.
pub(super) const BREATH: Duration = Duration::from_millis(2);
/// How long the first naps are: jobs of enqueues that did not see the hint arrive soon.
const LADDER: [Duration; 4] = [
    Duration::from_millis(10),
    Duration::from_millis(50),
    Duration::from_millis(250),
    Duration::from_millis(250),
];

/// What a claimer remembers of its looks, to decide when to rest.
#[derive(Debug, Default)]
pub(super) struct Sleep {
    /// How many looks in a row found nothing.
    naps: usize,
    /// What enqueues know of this worker's sleep.
    hint: Option<Hint>,
    /// Whether jobs come so fast that it needs no notifications.
    rush: Rush,
}

/// Enqueues to the queues of these pools notify this worker, which may be asleep.
#[derive(Debug, Clone)]
pub(super) struct Hint {
    pub(super) worker: i64,
    pub(super) pools: Vec<usize>,
    pub(super) since: Instant,
    pub(super) until: Instant,
}

impl Hint {
    /// Whether every enqueue knows of it.
    fn is_told(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.since) > RACE
    }

    /// How long one lasts: for several naps, since each is a write.
    pub(super) fn length(poll: Duration) -> Duration {
        poll * 2 + HINT
    }
}

impl Sleep {
    /// A look begins.
    pub(super) fn looks(&mut self, now: Instant) {
        self.rush.looks(now);
    }

    /// A look has ended; `found` says whether there were jobs.
    pub(super) fn looked(&mut self, found: bool, now: Instant) {
        self.rush.looked(found, now);
        if found {
            self.naps = 0;
        }
    }

    pub(super) fn is_rushing(&self) -> bool {
        self.rush.is_on()
    }

    /// The hint to write before this worker may sleep with these pools; `None` if enqueues know.
    /// Its `since` is now if they have to be told again.
    pub(super) fn missing_hint(
        &self,
        worker: i64,
        mut pools: Vec<usize>,
        poll: Duration,
        now: Instant,
    ) -> Option<Hint> {
        let stands = |hint: &&Hint| hint.worker == worker && hint.until > now;
        let standing = self.hint.as_ref().filter(stands);
        let covers = |hint: &&Hint| pools.iter().all(|pool| hint.pools.contains(pool));
        let known = standing.filter(covers);
        if known.is_some_and(|hint| hint.until > now + poll.mul_f64(1.5)) {
            return None;
        }
        let since = known.map_or(now, |hint| hint.since);
        if known.is_none() {
            // A pool that is full now stays in it until a renewal: otherwise busy queues would
            // alternate.
            let others = standing.into_iter().flat_map(|hint| hint.pools.clone());
            let others: Vec<usize> = others.filter(|pool| !pools.contains(pool)).collect();
            pools.extend(others);
        }
        Some(Hint { worker, pools, since, until: now + Hint::length(poll) })
    }

    /// The hint was written. Returns whether it is new, so that one more look is due, which finds
    /// whatever was enqueued before the hint was visible.
    pub(super) fn hinted(&mut self, hint: Hint, asked: Instant) -> bool {
        let is_news = hint.since >= asked;
        if is_news {
            self.naps = 0;
        }
        // It was not visible before its write was answered.
        let since = if is_news { Instant::now() } else { hint.since };
        self.hint = Some(Hint { since, ..hint });
        is_news
    }

    /// The server may have lost it: the table is unlogged.
    pub(super) fn forget_hint(&mut self) {
        self.hint = None;
    }

    /// The worker whose hint to remove, since it is awake; not a hint younger than the race it is
    /// for.
    pub(super) fn rise(&mut self, now: Instant) -> Option<i64> {
        self.hint.take_if(|hint| hint.is_told(now)).map(|hint| hint.worker)
    }

    /// How long the next nap is; `whole` if it got everything that was found.
    pub(super) fn nap(&mut self, whole: bool, poll: Duration, now: Instant) -> Duration {
        let told = whole && self.hint.as_ref().is_some_and(|hint| hint.is_told(now));
        let rung = if told { LADDER.len() } else { self.naps };
        self.naps += 1;
        LADDER.get(rung).map_or(poll, |nap| (*nap).min(poll))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLL: Duration = Duration::from_secs(1);

    #[test]
    fn naps_grow_until_every_enqueue_knows_of_the_hint() {
        let (mut sleep, now) = (Sleep::default(), Instant::now());
        let naps = [10, 50, 250, 250, 1000, 1000].map(Duration::from_millis);
        assert_eq!(naps.map(|_| sleep.nap(true, POLL, now)), naps);
        sleep.looked(true, now);
        assert_eq!(sleep.nap(true, POLL, now), naps[0]);
        let hint = sleep.missing_hint(7, vec![0], POLL, now).expect("nobody knows");
        assert!(sleep.hinted(hint, now));
        let later = Instant::now() + RACE * 2;
        assert_eq!(sleep.nap(true, POLL, later), POLL);
        assert!(sleep.nap(false, POLL, later) < POLL, "something went back to ready");
    }

    #[test]
    fn a_hint_is_written_again_for_a_new_queue_and_before_it_lapses() {
        let (mut sleep, now) = (Sleep::default(), Instant::now());
        let hint = sleep.missing_hint(7, vec![0], POLL, now).expect("nobody knows");
        sleep.hinted(hint, now);
        assert!(sleep.missing_hint(7, vec![0], POLL, now).is_none());
        assert!(sleep.missing_hint(8, vec![0], POLL, now).is_some(), "another worker");
        let wider = sleep.missing_hint(7, vec![1], POLL, now).expect("a queue is not in it");
        assert_eq!(wider.pools, [1, 0], "the one that is full stays");
        let soon = now + Hint::length(POLL) - POLL;
        let renewal = sleep.missing_hint(7, vec![0], POLL, soon).expect("it lapses");
        assert!(!sleep.hinted(renewal, soon), "enqueues know");
    }

    #[test]
    fn a_hint_is_taken_back_only_once_it_has_stood_a_while() {
        let (mut sleep, now) = (Sleep::default(), Instant::now());
        let hint = sleep.missing_hint(7, vec![0], POLL, now).expect("nobody knows");
        sleep.hinted(hint, now);
        assert_eq!(sleep.rise(now), None);
        assert_eq!(sleep.rise(Instant::now() + RACE * 2), Some(7));
        assert_eq!(sleep.rise(Instant::now() + RACE * 2), None);
    }
}
