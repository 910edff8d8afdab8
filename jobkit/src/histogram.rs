use std::time::Duration;

use serde::Serialize;

/// How many buckets there are.
const BUCKETS: usize = 61;
/// The first bound, in nanoseconds: those of even buckets are it times a power of two.
const BASE: u64 = 100_000;
/// The second one, of which the same holds for odd buckets.
const BETWEEN: u64 = 141_421;

/// A histogram of durations: counts in buckets whose bounds grow by the square root of two, from
/// 0.1 ms to 21 hours.
///
/// Bucket `i`, from 0, counts durations of at most 0.1 ms × 2^(i / 2) that exceed the bound of the
/// bucket before. The last of the 61 buckets has no bound.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Histogram {
    /// Without zeros at the end.
    counts: Vec<u64>,
}

impl Histogram {
    /// Of buckets, from 0, with what each counts.
    pub(crate) fn of(buckets: impl IntoIterator<Item = (usize, u64)>) -> Self {
        let mut histogram = Self::default();
        for (bucket, number) in buckets.into_iter().filter(|(at, n)| *at < BUCKETS && *n > 0) {
            histogram.add_to(bucket, number);
        }
        histogram
    }

    pub(crate) fn add(&mut self, time: Duration) {
        self.add_to(bucket(time), 1);
    }

    fn add_to(&mut self, bucket: usize, number: u64) {
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += number;
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    /// The total count.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The buckets up to the last one that is not empty: the upper bound of each, `None` for the
    /// one without a bound, and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Option<Duration>, u64)> {
        self.counts.iter().enumerate().map(|(at, number)| (bound(at), *number))
    }

    /// The upper bounds of all buckets except the last, which has none.
    pub fn bounds() -> impl Iterator<Item = Duration> {
        (0..BUCKETS).filter_map(bound)
    }

    /// The duration that this share of them, 0 to 1 (0.95 for p95), did not exceed; `None` if
    /// nothing was counted. It is exact to within its bucket, a factor of 1.42, and at most 21
    /// hours.
    #[must_use]
    pub fn percentile(&self, share: f64) -> Option<Duration> {
        let rank = share.clamp(0.0, 1.0) * self.count() as f64;
        let mut below = 0.0;
        for (at, number) in self.counts.iter().enumerate().filter(|(_, number)| **number > 0) {
            let number = *number as f64;
            if below + number >= rank {
                let from = at.checked_sub(1).and_then(bound).unwrap_or_default();
                let to = bound(at).unwrap_or(from);
                return Some(from + (to - from).mul_f64((rank - below) / number));
            }
            below += number;
        }
        None
    }
}

/// The longest time that a bucket counts.
fn bound(bucket: usize) -> Option<Duration> {
    let base = if bucket.is_multiple_of(2) { BASE } else { BETWEEN };
    (bucket < BUCKETS - 1).then(|| Duration::from_nanos(base << (bucket / 2)))
}

/// The bucket that counts a time.
fn bucket(time: Duration) -> usize {
    let Ok(nanos) = u64::try_from(time.as_nanos()) else { return BUCKETS - 1 };
    // The first bound of a whole power of two that is no shorter; and perhaps the one before.
    let doublings = nanos.div_ceil(BASE).next_power_of_two().ilog2();
    let bucket = 2 * doublings as usize;
    let is_before = doublings > 0 && nanos <= BETWEEN << (doublings - 1);
    (bucket - usize::from(is_before)).min(BUCKETS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn longest(bucket: usize) -> Duration {
        bound(bucket).expect("only the last one has no bound")
    }

    fn of(histogram: &Histogram, share: f64) -> Duration {
        histogram.percentile(share).expect("something was counted")
    }

    #[test]
    fn bounds_grow_from_a_tenth_of_a_millisecond_to_a_day() {
        assert_eq!(bound(0), Some(MS / 10));
        assert_eq!(bound(2), Some(MS / 5));
        assert!(bound(59).is_some_and(|bound| bound.as_secs() / 3600 == 21));
        assert_eq!(bound(60), None);
        for at in 1..60 {
            let factor = longest(at).as_secs_f64() / longest(at - 1).as_secs_f64();
            assert!((factor - std::f64::consts::SQRT_2).abs() < 1e-5, "{at}: {factor}");
        }
    }

    #[test]
    fn a_time_is_counted_up_to_the_bound_and_no_further() {
        assert_eq!(bucket(Duration::ZERO), 0);
        for at in 0..60 {
            let bound = longest(at);
            assert_eq!(bucket(bound), at);
            assert_eq!(bucket(bound + Duration::from_nanos(1)), at + 1);
        }
        assert_eq!(bucket(Duration::MAX), 60);
    }

    #[test]
    fn nothing_has_no_percentile() {
        assert_eq!(Histogram::default().percentile(0.5), None);
        assert_eq!(Histogram::of([(3, 0)]).percentile(0.5), None);
    }

    #[test]
    fn percentiles_are_right_to_within_a_bucket() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|ms| histogram.add(ms * MS));
        assert_eq!(histogram.count(), 1000);
        for (share, exact) in [(0.0, 1), (0.01, 10), (0.5, 500), (0.95, 950), (1.0, 1000)] {
            let found = of(&histogram, share).as_secs_f64() * 1000.0;
            let factor = found / f64::from(exact);
            assert!((0.7..=1.42).contains(&factor), "{share}: {found} instead of {exact}");
        }
        let (p50, p95) = (of(&histogram, 0.5), of(&histogram, 0.95));
        assert!(p50 < p95 && p95 <= of(&histogram, 7.0));
        assert_eq!(histogram.percentile(f64::NAN), None);
    }

    #[test]
    fn what_has_no_bound_is_told_as_the_last_that_has_one() {
        let mut histogram = Histogram::default();
        histogram.add(Duration::MAX);
        assert_eq!(histogram.percentile(0.5), bound(59));
        assert_eq!(histogram.buckets().last(), Some((None, 1)));
    }

    #[test]
    fn a_sum_counts_what_both_do() {
        let (mut one, mut other) = (Histogram::default(), Histogram::default());
        one.add(MS);
        other.add(MS);
        other.add(1000 * MS);
        one.merge(&other);
        assert_eq!(one.count(), 3);
        other.merge(&Histogram::of([(0, 5), (61, 1)]));
        assert_eq!((other.count(), other.buckets().next()), (7, Some((Some(MS / 10), 5))));
    }
}
