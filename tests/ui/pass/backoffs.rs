use std::time::Duration;

use jobkit::{Backoff, Job, JobContext, JobType, job};
use serde::{Deserialize, Serialize};

mod waits {
    use std::time::Duration;

    pub(crate) fn patient(attempt: u32) -> Duration {
        Duration::from_secs(60) * attempt
    }
}

macro_rules! retried {
    ($name:ident, $($backoff:tt)*) => {
        #[derive(Serialize, Deserialize)]
        #[job(backoff = $($backoff)*, timeout = none, retention = none, auto_replay = none)]
        struct $name;

        impl Job for $name {
            async fn run(self, _cx: JobContext) -> jobkit::Result {
                Ok(())
            }
        }
    };
}

retried!(ByFourthPower, quartic);
retried!(Doubling, exponential("5s"));
retried!(Growing, linear("10s"));
retried!(Steady, fixed("30s"));
retried!(Patient, waits::patient);
retried!(Own, Self::retry_after);

impl Own {
    fn retry_after(attempt: u32) -> Duration {
        Duration::from_secs(7 + u64::from(attempt))
    }
}

#[test]
fn is_accepted() {
    let third = |backoff: Backoff| backoff.delay(3).as_secs();
    assert_eq!(third(ByFourthPower::POLICY.backoff), 96);
    assert_eq!(third(Doubling::POLICY.backoff), 20);
    assert_eq!(third(Growing::POLICY.backoff), 30);
    assert_eq!(third(Steady::POLICY.backoff), 30);
    assert_eq!(third(Patient::POLICY.backoff), 180);
    assert_eq!(third(Own::POLICY.backoff), 10);
    assert_eq!(Own::POLICY.timeout, None);
    assert_eq!(Own::POLICY.retention, None);
    assert_eq!(Own::POLICY.auto_replay, None);
}
