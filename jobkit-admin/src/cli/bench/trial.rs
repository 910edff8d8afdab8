//! The job that is measured, and its times.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use jobkit::policy::Policy;
use jobkit::{Job, JobContext, JobType};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The queue and the kind of the benchmark, used for nothing else.
pub(super) const NAME: &str = "jobkit_bench";

/// A job that does nothing, with a payload of the usual size. It is declared by hand: with
/// `#[job]`, every worker that links this crate would announce it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Trial {
    /// Its number in the stopwatch; `None` if it is not timed.
    number: Option<usize>,
    email: String,
    template: String,
}

impl Trial {
    pub(super) fn new(number: Option<usize>) -> Self {
        let email = format!("user{}@example.com", number.unwrap_or(0));
        Self { number, email, template: "welcome".to_owned() }
    }
}

impl JobType for Trial {
    type Output = ();
    const POLICY: Policy = Policy { queue: NAME, retention: None, ..Policy::new(NAME) };
}

impl Job<Stopwatch> for Trial {
    async fn run(self, context: JobContext<Stopwatch>) -> jobkit::Result {
        if let Some(number) = self.number {
            context.state().note(number);
        }
        Ok(())
    }
}

/// When jobs began, by number.
#[derive(Debug, Clone, Default)]
pub(super) struct Stopwatch(Arc<Mutex<Vec<(usize, Instant)>>>);

impl Stopwatch {
    fn note(&self, number: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((number, Instant::now()));
    }

    /// The time from each of these moments to the start of the job with that number.
    pub(super) fn since(&self, moments: &[Instant]) -> Quantiles {
        let begun = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = |(number, begun): &(usize, Instant)| {
            Some(begun.saturating_duration_since(*moments.get(*number)?).as_secs_f64() * 1000.0)
        };
        Quantiles::of(begun.iter().filter_map(waited).collect())
    }
}

/// Milliseconds, in order.
#[derive(Debug)]
pub(super) struct Quantiles(Vec<f64>);

impl Quantiles {
    pub(super) fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The value that this share of the times is below.
    fn at(&self, share: f64) -> Option<f64> {
        let last = self.0.len().checked_sub(1)?;
        self.0.get((last as f64 * share) as usize).copied()
    }

    pub(super) fn json(&self) -> Value {
        let at = |share| self.at(share).map(|time| (time * 1000.0).round() / 1000.0);
        json!({"p50_ms": at(0.5), "p95_ms": at(0.95), "p99_ms": at(0.99), "max_ms": at(1.0)})
    }

    pub(super) fn text(&self) -> String {
        let at = |(name, share)| {
            let time = self.at(share);
            format!("{name} {}", time.map_or("–".to_owned(), |time| format!("{time:.2} ms")))
        };
        [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)].map(at).join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_what_there_is() {
        let hundred = Quantiles::of((0..=100).rev().map(f64::from).collect());
        assert_eq!(hundred.text(), "p50 50.00 ms, p95 95.00 ms, p99 99.00 ms");
        assert_eq!(Quantiles::of(vec![7.0]).json()["p99_ms"], 7.0);
        assert_eq!(Quantiles::of(vec![]).text(), "p50 –, p95 –, p99 –");
    }
}
