use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::error::DatabaseError;
use crate::store::{Call, Link};

/// A background duty: one step, then a rest. All duties have this shape, and are independent of
/// each other.
pub(crate) trait Duty: Send {
    /// Its name in the log.
    const NAME: &'static str;

    /// Whether `stop` may cut a step short.
    const INTERRUPTIBLE: bool = false;

    /// Does one round and says how long to rest.
    fn step(&mut self) -> impl Future<Output = Result<Duration, DatabaseError>> + Send;

    /// Rests after a successful step; a duty that can be woken may rest for less.
    fn rest(&mut self, rest: Duration) -> impl Future<Output = ()> + Send {
        sleep(rest)
    }

    /// Ends gracefully.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// Runs a duty until `stop`. A failed step is logged, and repeated after a rest that grows to
/// five seconds; nothing but `stop` ends the loop.
pub(crate) async fn run<D: Duty>(mut duty: D, stop: CancellationToken) {
    let mut failures = 0;
    while !stop.is_cancelled() {
        let step = tokio::select! {
            () = stop.cancelled(), if D::INTERRUPTIBLE => break,
            step = duty.step() => step,
        };
        match &step {
            Ok(_) => failures = 0,
            Err(error) => {
                failures += 1;
                tracing::warn!(duty = D::NAME, failures, %error, "jobkit: a duty failed");
            }
        }
        let rested = async {
            match step {
                Ok(rest) => duty.rest(jitter(rest, 0.1)).await,
                Err(_) => sleep(backoff(failures)).await,
            }
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = rested => {}
        }
    }
    duty.close().await;
}

/// Makes a call up to five times: another worker may be doing the same right now, or the table may
/// be locked.
pub(crate) async fn insist<C: Call>(link: &mut Link, call: &C) -> Result<C::Answer, DatabaseError> {
    let mut tries = 0;
    loop {
        match link.call(call).await {
            Err(_) if tries < 4 => {}
            answer => return answer,
        }
        tries += 1;
        tokio::time::sleep(backoff(tries)).await;
    }
}

/// The rest after this many failures in a row: 100 ms doubled up to 5 s, jittered by half, so that
/// workers do not all return to a restarted server at once.
pub(crate) fn backoff(failures: u32) -> Duration {
    let rest = Duration::from_millis(100).saturating_mul(2_u32.saturating_pow(failures.min(6)));
    jitter(rest.min(Duration::from_secs(5)), 0.5)
}

/// `time`, give or take this part of it.
pub(crate) fn jitter(time: Duration, part: f64) -> Duration {
    time.mul_f64(1.0 - part + 2.0 * part * fastrand::f64())
}
