//! Recurring jobs: when they run, and what happens to instants that are missed or overlap.
//!
//! Declare a schedule on a worker with [`Worker::schedule`](crate::Worker::schedule), or on a job
//! with `#[job(schedule = "…")]`. Operators create, change and pause schedules with
//! [`Admin`](crate::Admin).
//!
//! ```
//! use jobkit::schedule::Times;
//!
//! let times: Times = "0 3 * * * Europe/Berlin".parse()?;
//! let noon = "2026-03-28T12:00:00Z".parse()?;
//! assert_eq!(times.next_after(noon), Some("2026-03-29T01:00:00Z".parse()?));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::time::Duration;

use chrono::{DateTime, Utc};

mod decide;
mod declaration;
mod times;

pub(crate) use self::decide::decide;
pub(crate) use self::declaration::Declaration;
pub use self::times::{Times, TimesError, ZoneRules};

/// Longest jitter.
pub(crate) const LONGEST_JITTER: Duration = Duration::from_secs(24 * 60 * 60);

/// The most missed instants that are fired.
pub(crate) const MOST_CAUGHT_UP: u32 = 1000;

/// What happens to missed instants: those that passed while no worker was alive or the database was
/// unavailable. Each skipped instant is recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum CatchUp {
    /// Instants that are more than a minute late are skipped.
    None,
    /// The latest missed instant is fired, however late.
    #[default]
    Latest,
    /// The latest missed instants are fired.
    All {
        /// At most this many, 1 to 1,000.
        max: u32,
        /// None that is later than this.
        window: Duration,
    },
}

impl CatchUp {
    /// As it is stored.
    pub(crate) fn read(text: &str, max: u32, window: Duration) -> Self {
        match text {
            "none" => Self::None,
            "all" => Self::All { max, window },
            _ => Self::Latest,
        }
    }

    /// As it is stored.
    pub(crate) const fn stored(self) -> (&'static str, u32, Duration) {
        match self {
            Self::None => ("none", 1, Duration::ZERO),
            Self::Latest => ("latest", 1, Duration::ZERO),
            Self::All { max, window } => ("all", max, window),
        }
    }
}

/// What happens to an instant while the job of an earlier one is live: waiting, running, or about
/// to be retried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// It is fired anyway. A concurrency key can limit how many jobs run at a time.
    #[default]
    Allow,
    /// It is skipped.
    SkipIfRunning,
}

impl Overlap {
    /// As it is stored.
    pub(crate) fn read(text: &str) -> Self {
        if text == "allow" { Self::Allow } else { Self::SkipIfRunning }
    }

    /// As it is stored.
    pub(crate) const fn stored(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::SkipIfRunning => "skip_if_running",
        }
    }
}

/// When a job recurs, and how.
///
/// ```
/// use std::time::Duration;
/// use jobkit::schedule::{CatchUp, Overlap, Schedule};
///
/// let nightly = Schedule::new("0 3 * * * Europe/Berlin")
///     .catch_up(CatchUp::None)
///     .overlap(Overlap::SkipIfRunning)
///     .jitter(Duration::from_secs(60));
/// ```
#[derive(Debug, Clone)]
pub struct Schedule {
    pub(crate) text: String,
    pub(crate) catch_up: CatchUp,
    pub(crate) overlap: Overlap,
    pub(crate) jitter: Duration,
}

impl Schedule {
    /// A schedule with these times, in the syntax of [`Times`]. If they are invalid, the function
    /// that takes the schedule returns an error.
    #[must_use]
    pub fn new(times: impl Into<String>) -> Self {
        Self {
            text: times.into(),
            catch_up: CatchUp::default(),
            overlap: Overlap::default(),
            jitter: Duration::ZERO,
        }
    }

    /// Sets what happens to missed instants; [`CatchUp::Latest`] by default.
    #[must_use]
    pub fn catch_up(mut self, catch_up: CatchUp) -> Self {
        self.catch_up = catch_up;
        self
    }

    /// Sets what happens to an instant while an earlier job is live; [`Overlap::Allow`] by default.
    #[must_use]
    pub fn overlap(mut self, overlap: Overlap) -> Self {
        self.overlap = overlap;
        self
    }

    /// Delays each job by a random time of up to this, at most a day; none by default.
    #[must_use]
    pub fn jitter(mut self, jitter: Duration) -> Self {
        self.jitter = jitter;
        self
    }

    /// Its times, or what is wrong with it, as the end of a sentence.
    pub(crate) fn check(&self) -> Result<Times, String> {
        if self.jitter > LONGEST_JITTER {
            return Err("its jitter is longer than a day".to_owned());
        }
        let (_, max, _) = self.catch_up.stored();
        if !(1..=MOST_CAUGHT_UP).contains(&max) {
            return Err(format!(
                "it catches up with {max} instants; 1 to {MOST_CAUGHT_UP} are allowed"
            ));
        }
        self.text.parse().map_err(|error: TimesError| error.to_string())
    }
}

/// The schedule that enqueued a job, and the instant that it is for, as its metadata say.
pub(crate) fn scheduled(metadata: &str) -> Option<(String, DateTime<Utc>)> {
    #[derive(serde::Deserialize)]
    struct Scheduled {
        schedule: String,
        instant: String,
    }
    let Scheduled { schedule, instant } = serde_json::from_str(metadata).ok()?;
    Some((schedule, instant.parse().ok()?))
}

impl From<&str> for Schedule {
    fn from(times: &str) -> Self {
        Self::new(times)
    }
}

impl From<String> for Schedule {
    fn from(times: String) -> Self {
        Self::new(times)
    }
}

impl From<Times> for Schedule {
    fn from(times: Times) -> Self {
        Self::new(times.to_string())
    }
}

#[cfg(test)]
mod tests;
