use std::time::{Duration, Instant};

/// A find follows the one before it if the claimer rested no longer than this in between, or no
/// longer than the look took: on a slow system, a rush is slow as well.
const REST: Duration = Duration::from_millis(4);
/// This many finds in a row, with at most two empty looks between them, begin a rush …
const BEGINS: u32 = 8;
/// … and this many empty looks end it.
const ENDS: u32 = 3;

/// Whether jobs come so fast that polling is cheaper than a notification of each.
///
/// Notifications serialize the commits of all producers, since NOTIFY holds a cluster-wide lock
/// until the commit is flushed. A worker that keeps finding jobs after a short rest is awake
/// anyway: during such a rush it asks for no notifications, and rests for 2 ms between two looks.
#[derive(Debug, Default)]
pub(crate) struct Rush {
    is_on: bool,
    finds: u32,
    misses: u32,
    began: Option<Instant>,
    ended: Option<Instant>,
}

impl Rush {
    /// A look begins.
    pub(crate) fn looks(&mut self, now: Instant) {
        self.began = Some(now);
    }

    /// A look has ended; `found` says whether there were jobs.
    pub(crate) fn looked(&mut self, found: bool, now: Instant) {
        if found {
            self.misses = 0;
            self.finds = if self.follows(now) { self.finds + 1 } else { 1 };
            self.is_on |= self.finds >= BEGINS;
        } else {
            self.misses += 1;
            if self.misses >= ENDS {
                self.finds = 0;
                self.is_on = false;
            }
        }
        self.ended = Some(now);
    }

    /// Whether the look that has just ended came soon after the one before.
    fn follows(&self, now: Instant) -> bool {
        let Some((ended, began)) = self.ended.zip(self.began) else { return false };
        began.duration_since(ended) <= now.duration_since(began).max(REST)
    }

    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks after so many milliseconds of rest, which take as long as that.
    fn look(
        rush: &mut Rush,
        now: &mut Instant,
        looks: u32,
        (rest, takes): (u64, u64),
        found: bool,
    ) {
        for _ in 0..looks {
            *now += Duration::from_millis(rest);
            rush.looks(*now);
            *now += Duration::from_millis(takes);
            rush.looked(found, *now);
        }
    }

    #[test]
    fn finds_after_little_rest_begin_a_rush() {
        for (looks, rest, takes, rushes) in [
            (8, 4, 1, true),
            (7, 4, 1, false),
            (100, 5, 1, false),
            (8, 20, 20, true),
            (100, 21, 20, false),
        ] {
            let (mut rush, mut now) = (Rush::default(), Instant::now());
            look(&mut rush, &mut now, 1, (1000, 1), true);
            look(&mut rush, &mut now, looks - 1, (rest, takes), true);
            assert_eq!(rush.is_on(), rushes, "{looks} looks of {takes} ms after {rest} ms");
        }
    }

    #[test]
    fn three_looks_in_vain_end_it_and_the_next_begins_anew() {
        let (mut rush, mut now) = (Rush::default(), Instant::now());
        look(&mut rush, &mut now, 9, (1, 1), true);
        for _ in 0..10 {
            look(&mut rush, &mut now, 2, (2, 1), false);
            assert!(rush.is_on());
            look(&mut rush, &mut now, 1, (2, 1), true);
        }
        look(&mut rush, &mut now, 3, (2, 1), false);
        assert!(!rush.is_on());
        look(&mut rush, &mut now, 7, (2, 1), true);
        assert!(!rush.is_on());
        look(&mut rush, &mut now, 1, (2, 1), true);
        assert!(rush.is_on());
    }

    #[test]
    fn a_rest_that_took_longer_does_not_end_it() {
        let (mut rush, mut now) = (Rush::default(), Instant::now());
        look(&mut rush, &mut now, 9, (1, 1), true);
        look(&mut rush, &mut now, 1, (100, 1), true);
        assert!(rush.is_on());
    }
}
