use std::time::Duration;

/// The longest wait any policy gives: 24 hours.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a job waits between a failed attempt and the next one.
///
/// Every wait is at most 24 hours and is jittered by ± 10 %, so that jobs that failed together are
/// not retried together.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Backoff {
    /// attempt⁴ + 15 seconds: 16 s, 31 s, 96 s, 271 s, 640 s, … (the default, and the curve that
    /// Sidekiq made popular).
    Quartic,
    /// `first`, then twice as long each time, never more than `max`.
    Exponential {
        /// The wait after the first failed attempt.
        first: Duration,
        /// The longest wait.
        max: Duration,
    },
    /// `step` times the number of failed attempts.
    Linear(Duration),
    /// The same wait every time.
    Fixed(Duration),
    /// Your own function of the number of the attempt that failed, counted from 1.
    Custom(fn(u32) -> Duration),
}

impl Backoff {
    /// The wait after attempt number `attempt` (counted from 1) failed, before jitter.
    #[must_use]
    pub fn delay(self, attempt: u32) -> Duration {
        let attempt = attempt.max(1);
        let delay = match self {
            Self::Quartic => Duration::from_secs(u64::from(attempt).saturating_pow(4))
                .saturating_add(Duration::from_secs(15)),
            Self::Exponential { first, max } => {
                first.saturating_mul(2_u32.saturating_pow(attempt - 1)).min(max)
            }
            Self::Linear(step) => step.saturating_mul(attempt),
            Self::Fixed(wait) => wait,
            Self::Custom(delay) => delay(attempt),
        };
        delay.min(LONGEST)
    }

    /// [`delay`](Self::delay) with `fraction` (0 to 1) of the jitter band of ± 10 % applied.
    pub(crate) fn jittered(self, attempt: u32, fraction: f64) -> Duration {
        self.delay(attempt).mul_f64(0.9 + 0.2 * fraction.clamp(0.0, 1.0)).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(policy: Backoff, attempts: impl IntoIterator<Item = u32>) -> Vec<u64> {
        attempts.into_iter().map(|n| policy.delay(n).as_secs()).collect()
    }

    #[test]
    fn the_default_grows_with_the_fourth_power() {
        assert_eq!(secs(Backoff::Quartic, 1..=5), [16, 31, 96, 271, 640]);
    }

    #[test]
    fn named_policies_follow_their_parameters() {
        let (two, ten) = (Duration::from_secs(2), Duration::from_secs(10));
        assert_eq!(secs(Backoff::Exponential { first: two, max: ten }, 1..=5), [2, 4, 8, 10, 10]);
        assert_eq!(secs(Backoff::Linear(two), 1..=3), [2, 4, 6]);
        assert_eq!(secs(Backoff::Fixed(ten), 1..=3), [10, 10, 10]);
        assert_eq!(secs(Backoff::Custom(|n| Duration::from_secs(u64::from(n) + 7)), [3]), [10]);
    }

    #[test]
    fn no_wait_is_longer_than_a_day_whatever_the_attempt() {
        for policy in
            [Backoff::Quartic, Backoff::Linear(LONGEST), Backoff::Custom(|_| Duration::MAX)]
        {
            assert_eq!(policy.delay(u32::MAX), LONGEST);
        }
        let doubling = Backoff::Exponential { first: LONGEST, max: Duration::MAX };
        assert_eq!(doubling.delay(u32::MAX), LONGEST);
    }

    #[test]
    fn jitter_stays_within_a_tenth() {
        let wait = Backoff::Fixed(Duration::from_secs(100));
        assert_eq!(wait.jittered(1, 0.0), Duration::from_secs(90));
        assert_eq!(wait.jittered(1, 1.0), Duration::from_secs(110));
    }
}
