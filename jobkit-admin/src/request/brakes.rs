//! What is held back, and how.

use std::time::Duration;

use jobkit::admin::brakes::{Rate, Scope};

use crate::failure::Failure;

/// A scope by its word and the name of the queue or the kind.
pub(crate) fn scope(word: &str, name: &str) -> Result<Scope, Failure> {
    let scope = Scope::of(word, name);
    scope.ok_or_else(|| Failure::Invalid("A scope is all, kind or queue.".into()))
}

/// A rate: within a second and with a burst of its own, unless they say otherwise.
pub(crate) fn rate(
    count: Option<u32>,
    seconds: Option<f64>,
    burst: Option<u32>,
) -> Result<Option<Rate>, Failure> {
    let within = Duration::try_from_secs_f64(seconds.unwrap_or(1.0));
    let within = within.map_err(|_| Failure::Invalid("That is no number of seconds.".into()))?;
    let rate = count.map(|count| Rate::new(count, within));
    Ok(rate.map(|rate| rate.burst(burst.unwrap_or(rate.burst))))
}
