use std::time::{Duration, Instant};

/// A find for which the claimer had not rested longer than this follows the one before it.
const REST: Duration = Duration::from_millis(4);
/// So many finds in a row begin a rush …
const BEGINS: u32 = 8;
/// … and so many looks in vain end it.
const ENDS: u32 = 3;

/// Whether jobs come so fast that it is cheaper to look for them than to be told of each.
///
/// A notification makes the commits of all producers wait for each other, since NOTIFY holds a lock
/// of the whole cluster until the commit is flushed. A worker that has something to do again and
/// again after no more than 4 ms is awake anyway: for the time of such a rush it says so, and looks
/// every 2 ms.
#[derive(Debug, Default)]
pub(crate) struct Rush {
    finds: u32,
    misses: u32,
    rested_since: Option<Instant>,
    rested: Option<Duration>,
}

impl Rush {
    /// A look begins.
    pub(crate) fn looks(&mut self, now: Instant) {
        self.rested = self.rested_since.map(|since| now.duration_since(since));
    }

    /// It is over, and has found jobs or not.
    pub(crate) fn looked(&mut self, found: bool, now: Instant) {
        let follows = self.rested.is_some_and(|rested| rested <= REST);
        if found {
            self.finds = if follows { self.finds + 1 } else { 1 };
            self.misses = 0;
        } else {
            self.misses += 1;
            if self.misses >= ENDS {
                self.finds = 0;
            }
        }
        self.rested_since = Some(now);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.finds >= BEGINS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks that take 10 ms each, after so many milliseconds of rest.
    fn look(rush: &mut Rush, now: &mut Instant, looks: u32, rest: u64, found: bool) {
        for _ in 0..looks {
            *now += Duration::from_millis(rest);
            rush.looks(*now);
            *now += Duration::from_millis(10);
            rush.looked(found, *now);
        }
    }

    #[test]
    fn finds_after_little_rest_begin_a_rush() {
        for (looks, rest, rushes) in [(8, 4, true), (7, 4, false), (100, 5, false)] {
            let (mut rush, mut now) = (Rush::default(), Instant::now());
            look(&mut rush, &mut now, 1, 1000, true);
            look(&mut rush, &mut now, looks - 1, rest, true);
            assert_eq!(rush.is_on(), rushes, "{looks} looks after {rest} ms");
        }
    }

    #[test]
    fn three_looks_in_vain_end_it_and_the_next_begins_anew() {
        let (mut rush, mut now) = (Rush::default(), Instant::now());
        look(&mut rush, &mut now, 9, 1, true);
        for _ in 0..10 {
            look(&mut rush, &mut now, 2, 2, false);
            assert!(rush.is_on());
            look(&mut rush, &mut now, 1, 2, true);
        }
        look(&mut rush, &mut now, 3, 2, false);
        assert!(!rush.is_on());
        look(&mut rush, &mut now, 7, 2, true);
        assert!(!rush.is_on());
        look(&mut rush, &mut now, 1, 2, true);
        assert!(rush.is_on());
    }
}
