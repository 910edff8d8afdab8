//! When jobs were enqueued, committed and begun.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use serde_json::{Value, json};

use crate::load::work;

/// Jobs whose handler has begun.
static STARTED: AtomicU64 = AtomicU64::new(0);
/// Jobs whose handler is through.
static ENDED: AtomicU64 = AtomicU64::new(0);
static MOMENTS: OnceLock<Moments> = OnceLock::new();

/// By job number, in microseconds of [`now_us`]; 0 when it has not happened.
pub(crate) struct Moments {
    pub(crate) called: Vec<AtomicI64>,
    pub(crate) committed: Vec<AtomicI64>,
    begun: Vec<AtomicI64>,
}

/// What every handler does, with what its payload has.
pub async fn on_job(seq: i64, _us: i64) {
    STARTED.fetch_add(1, Relaxed);
    if let Some(moments) = MOMENTS.get() {
        note(&moments.begun, seq);
    }
    work(seq).await;
    ENDED.fetch_add(1, Relaxed);
}

/// Microseconds on a clock of this process.
pub fn now_us() -> i64 {
    static CLOCK: OnceLock<Instant> = OnceLock::new();
    let micros = CLOCK.get_or_init(Instant::now).elapsed().as_micros();
    i64::try_from(micros).unwrap_or(i64::MAX).max(1)
}

pub(crate) fn started() -> u64 {
    STARTED.load(Relaxed)
}

pub(crate) fn ended() -> u64 {
    ENDED.load(Relaxed)
}

/// Marks that something happened to this job now, the first time.
pub(crate) fn note(moments: &[AtomicI64], seq: i64) {
    let place = usize::try_from(seq).ok().and_then(|seq| moments.get(seq));
    if let Some(place) = place {
        // A job that runs again has begun before.
        let _ = place.compare_exchange(0, now_us(), Relaxed, Relaxed);
    }
}

impl Moments {
    /// Watches jobs 0 to `jobs` from now on.
    pub(crate) fn watch(jobs: usize) -> &'static Self {
        let none = || (0..jobs).map(|_| AtomicI64::new(0)).collect();
        MOMENTS.get_or_init(|| Self { called: none(), committed: none(), begun: none() })
    }

    /// Milliseconds from then (called or committed) to the begin, of these jobs.
    pub(crate) fn summary(&self, then: &[AtomicI64], jobs: Range<usize>) -> Value {
        let at = |moments: &[AtomicI64], job: usize| moments[job].load(Relaxed);
        let took = |job: usize| {
            let (then, begun) = (at(then, job), at(&self.begun, job));
            // A handler may begin before the call returns that has committed its job.
            (then > 0 && begun > 0).then(|| (begun - then).max(0) as f64 / 1000.0)
        };
        let wanted = jobs.clone().filter(|job| at(then, *job) > 0).count();
        let mut times: Vec<f64> = jobs.filter_map(took).collect();
        times.sort_by(f64::total_cmp);
        let quantile = |share: f64| match times.len() {
            0 => Value::Null,
            len => json!(times[((len - 1) as f64 * share) as usize]),
        };
        json!({
            "n": times.len(), "missing": wanted - times.len(),
            "p50": quantile(0.5), "p95": quantile(0.95), "p99": quantile(0.99),
            "max": quantile(1.0),
        })
    }
}
