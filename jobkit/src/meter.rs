//! Counters and histograms of this process, through the facade `metrics` (the feature of that
//! name). `docs/observability.md` lists them. Without the feature they compile to nothing.
#![cfg_attr(not(feature = "metrics"), allow(unused_variables, reason = "nothing is counted"))]

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Jobs were sent to the database.
pub(crate) fn enqueued(kind: impl Into<Cow<'static, str>>, jobs: usize) {
    #[cfg(feature = "metrics")]
    metrics::counter!("jobkit_enqueued_total", "kind" => kind.into()).increment(jobs as u64);
}

/// An attempt has its outcome; `times` are how long it ran and how long it had waited, if it ran.
pub(crate) fn ended(
    kind: &'static str,
    queue: impl FnOnce() -> Arc<str>,
    outcome: &'static str,
    times: Option<(Duration, Duration)>,
) {
    #[cfg(feature = "metrics")]
    {
        let queue = metrics::SharedString::from(queue());
        let labels = [("kind", kind.into()), ("queue", queue), ("outcome", outcome.into())];
        metrics::counter!("jobkit_attempts_total", &labels).increment(1);
        let Some((took, waited)) = times else { return };
        let of_kind = &labels[..2];
        metrics::histogram!("jobkit_run_seconds", of_kind).record(took);
        metrics::histogram!("jobkit_wait_seconds", of_kind).record(waited);
    }
}

/// An outcome came too late.
pub(crate) fn lost() {
    #[cfg(feature = "metrics")]
    metrics::counter!("jobkit_lost_outcomes_total").increment(1);
}

/// A handler held its thread for long.
pub(crate) fn held(kind: &'static str) {
    #[cfg(feature = "metrics")]
    metrics::counter!("jobkit_held_threads_total", "kind" => kind).increment(1);
}

/// A call that asks the database for jobs.
pub(crate) async fn claim<F: Future>(call: F) -> F::Output {
    timed(call, "jobkit_claim_seconds").await
}

/// A call that writes outcomes.
pub(crate) async fn settle<F: Future>(call: F) -> F::Output {
    timed(call, "jobkit_settle_seconds").await
}

async fn timed<F: Future>(call: F, name: &'static str) -> F::Output {
    #[cfg(feature = "metrics")]
    let began = std::time::Instant::now();
    let answer = call.await;
    #[cfg(feature = "metrics")]
    metrics::histogram!(name).record(began.elapsed());
    answer
}

/// Jobs came, by a claim or with a settle.
pub(crate) fn received(jobs: usize) {
    #[cfg(feature = "metrics")]
    metrics::counter!("jobkit_claimed_total").increment(jobs as u64);
}

/// A lease was about to be renewed, with this much of it left.
pub(crate) fn lease_left(left: Duration) {
    #[cfg(feature = "metrics")]
    metrics::gauge!("jobkit_lease_left_seconds").set(left);
}

/// Whether the worker is listening for notifications.
pub(crate) fn listening(up: bool) {
    #[cfg(feature = "metrics")]
    metrics::gauge!("jobkit_listener_up").set(f64::from(u8::from(up)));
}
