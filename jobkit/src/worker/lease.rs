pub(crate) mod heartbeat;

use std::time::{Duration, Instant, SystemTime};

use crate::lock::Lock;

/// How long this worker may trust its lease.
///
/// It is measured by the local monotonic clock from before a heartbeat was sent, so it always ends
/// before the lease does by the database's clock (as long as both run at the same speed). The
/// monotonic clock stops while the machine sleeps, but the lease does not: so the time by which the
/// time of day gets ahead is subtracted.
#[derive(Debug)]
pub(crate) struct Lease {
    length: Duration,
    margin: Duration,
    state: Lock<State>,
}

#[derive(Debug, Clone, Copy)]
struct State {
    until: Instant,
    /// The start of the time it has been held without a gap; a failed beat is a gap.
    steady_since: Option<Instant>,
    /// When it was last checked whether the machine had slept, and for how long it has in total.
    looked: (Instant, SystemTime),
    slept: Duration,
}

/// How much the time of day must get ahead between two checks: less means a clock being adjusted.
const SLEEP: Duration = Duration::from_secs(1);

impl Lease {
    /// A lease registered by a call that began at `sent`.
    pub(crate) fn new(length: Duration, margin: Duration, sent: Instant) -> Self {
        let state = State {
            until: sent + length,
            steady_since: Some(sent),
            looked: (Instant::now(), SystemTime::now()),
            slept: Duration::ZERO,
        };
        Self { length, margin, state: Lock::new(state) }
    }

    /// A heartbeat sent at `sent` was answered; `lapsed` says that the lease had lapsed before by
    /// the database's clock. If that has stepped back it would not notice; the local clock never
    /// does.
    pub(crate) fn renew(&self, sent: Instant, lapsed: bool) {
        let mut state = self.state.lock();
        let lapsed = lapsed || state.until < sent;
        state.until = sent + self.length;
        if lapsed || state.steady_since.is_none() {
            state.steady_since = Some(sent);
        }
    }

    /// How long the machine has slept up to now (or its clock was set ahead, which cannot be
    /// distinguished): the lease ends that much earlier.
    pub(crate) fn slept(&self) -> Duration {
        let mut state = self.state.lock();
        let (before, now) = (state.looked, (Instant::now(), SystemTime::now()));
        let passed = now.1.duration_since(before.1).unwrap_or_default();
        let slept = passed.saturating_sub(now.0 - before.0);
        state.looked = now;
        if slept >= SLEEP {
            tracing::warn!(?slept, "jobkit: the machine has slept, or its clock was set ahead");
            state.slept += slept;
            state.until = state.until.checked_sub(slept).unwrap_or(now.0);
        }
        state.slept
    }

    /// A heartbeat failed: the lease is uncertain until the next one.
    pub(crate) fn falter(&self) {
        self.state.lock().steady_since = None;
    }

    /// Whether new work may be claimed.
    pub(crate) fn is_valid(&self) -> bool {
        Instant::now() < self.state.lock().until - self.margin
    }

    /// When handlers are told to stop, and when they are dropped, unless it is renewed before.
    pub(crate) fn ends(&self) -> (Instant, Instant) {
        let until = self.state.lock().until;
        (until - self.margin, until)
    }

    /// Whether it has been held for one whole lease without a gap: only then does this worker know
    /// that others could have renewed theirs, and it may reap.
    pub(crate) fn is_steady(&self) -> bool {
        let state = *self.state.lock();
        let steady = state.steady_since.is_some_and(|since| since.elapsed() >= self.length);
        steady && Instant::now() < state.until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn ago(seconds: u32) -> Instant {
        Instant::now().checked_sub(SECOND * seconds).expect("the machine is up that long")
    }

    #[test]
    fn a_lease_is_steady_after_one_whole_lease_without_a_gap() {
        let lease = Lease::new(10 * SECOND, SECOND, ago(11));
        assert!(!lease.is_valid() && !lease.is_steady(), "nothing is known after a thaw");
        lease.renew(ago(5), false);
        assert!(lease.is_valid() && lease.is_steady());
        lease.falter();
        assert!(lease.is_valid() && !lease.is_steady());
        lease.renew(ago(0), false);
        assert!(!lease.is_steady(), "a failed beat is a gap");
    }

    #[test]
    fn a_lapse_is_a_gap() {
        for by_the_database in [true, false] {
            let lease = Lease::new(10 * SECOND, SECOND, ago(30));
            lease.renew(ago(0), by_the_database);
            assert!(lease.is_valid() && !lease.is_steady());
        }
    }

    #[test]
    fn a_machine_that_slept_has_less_of_its_lease() {
        let lease = Lease::new(10 * SECOND, SECOND, ago(0));
        assert_eq!(lease.slept(), Duration::ZERO);
        lease.state.lock().looked.1 -= 8 * SECOND;
        assert!(lease.slept() > 7 * SECOND && lease.is_valid());
        lease.state.lock().looked.1 -= SECOND / 2;
        assert!(lease.slept() < 9 * SECOND, "a clock is adjusted");
        lease.state.lock().looked.1 += 3600 * SECOND;
        assert!(lease.slept() < 9 * SECOND && lease.is_valid(), "a clock is set back");
        lease.state.lock().looked.1 -= 8 * SECOND;
        assert!(lease.slept() > 15 * SECOND && !lease.is_valid());
        assert!(lease.ends().1 < Instant::now());
        lease.renew(ago(0), false);
        assert!(lease.is_valid());
    }

    #[test]
    fn nothing_is_claimed_within_the_margin() {
        assert!(!Lease::new(10 * SECOND, 3 * SECOND, ago(8)).is_valid());
    }
}
