//! The policy of a job type, as `#[job(…)]` declares it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::Backoff;
use crate::unique::Unique;

#[cfg(feature = "encrypt")]
pub mod encryption;
mod queue_limit;

pub use self::queue_limit::QueueLimit;

/// The settings of a job type: its queue, how often it is tried, how long it is kept.
///
/// `#[job(…)]` fills one in for each struct; [`Pending`](crate::enqueue::Pending) overrides parts
/// of it for a single job. Settings that must not change for a stored job (queue, priority,
/// attempts) are copied into its row when it is enqueued; the others come from the worker's binary.
///
/// Later releases may add fields: write `Policy { queue: "mail", ..Policy::new("send_receipt") }`.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// The stable name stored with every job of this type, at most 128 bytes.
    pub kind: &'static str,
    /// Earlier names of this type: jobs stored under one of them run as this type.
    pub aliases: &'static [&'static str],
    /// The version of the payload that this type enqueues, 1 to 32,767. Workers leave jobs of
    /// unknown versions alone.
    pub version: u16,
    /// Earlier versions that this type can read as well, through
    /// [`JobType::upcast`](crate::JobType).
    pub upcasts: &'static [u16],
    /// The queue of jobs of this type, at most 128 bytes.
    pub queue: &'static str,
    /// −3 to 3; a smaller number runs first.
    pub priority: i16,
    /// How many attempts a job gets before it becomes a dead letter, 1 to 1000.
    pub max_attempts: u16,
    /// How long one attempt may take; `None` sets no limit.
    pub timeout: Option<Duration>,
    /// How long to wait after a failed attempt.
    pub backoff: Backoff,
    /// Whether dead letters of this kind are replayed automatically; `None` leaves them to an
    /// operator.
    pub auto_replay: Option<AutoReplay>,
    /// How long after it is due a job may still start for the first time, 1 second to 366 days. A
    /// job that has not started by then ends as expired. `None` sets no limit.
    pub expires: Option<Duration>,
    /// How long after its first failure a job is retried, 1 second to 366 days. If the next attempt
    /// would come later, the job becomes a dead letter even if it has attempts left. `None` sets no
    /// limit.
    pub retry_for: Option<Duration>,
    /// How long a job is kept after it has ended, at most 90 days; `None` keeps nothing.
    pub retention: Option<Duration>,
    /// How long a discarded or cancelled job is kept; `None` is the same as
    /// [`retention`](Self::retention).
    pub retention_discarded: Option<Duration>,
    /// The limit shared by jobs with one concurrency key; `None` for unlimited jobs.
    pub concurrency: Option<Concurrency>,
    /// How often jobs of one concurrency key may start; `None` sets no limit. Jobs with a rate and
    /// without a concurrency limit have [`Concurrency::UNLIMITED`].
    pub rate: Option<Rate>,
    /// Whether a job may have no concurrency key and so no limit: true if the expression in
    /// `#[job]` is an `Option`.
    pub optional_key: bool,
    /// The options of the unique key; `None` for jobs that are not unique.
    pub unique: Option<Unique>,
    /// The group of the coalesce keys, by default the kind itself; kinds that name the same group
    /// share them. `None` for jobs that do not coalesce.
    pub coalesce: Option<&'static str>,
    /// How many jobs one call may run, for a [`ChunkJob`](crate::chunk::ChunkJob); `None` for jobs
    /// that run one by one.
    pub chunk: Option<Chunk>,
    /// Paths in the payload (`card.number`) whose values are not shown in errors, logs or lists, or
    /// to operators without the right to see them.
    pub redact: &'static [&'static str],
    /// The [topic](crate::enqueue::Topic) that the type subscribes to: whatever is published there
    /// becomes such a job. `None` for jobs that are only enqueued.
    pub topic: Option<&'static str>,
    /// Paths whose values are stored encrypted (feature `encrypt`); they are in
    /// [`redact`](Self::redact) as well.
    pub encrypt: &'static [&'static str],
    /// Whether a payload may be a JSON string; `None` until that was tested.
    #[doc(hidden)]
    pub takes_text: Option<bool>,
}

/// A topic, the kind that subscribes to it, and an earlier name of that.
pub(crate) type Subscription = (&'static str, &'static str, Option<&'static str>);

/// When a dead letter is replayed automatically, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoReplay {
    /// How long after its failure, 1 second to 30 days.
    pub after: Duration,
    /// How often it may be buried, 2 to 1000: after this many burials it stays for a human.
    pub max_cycles: u16,
}

/// How many jobs one call runs, and how long the first of them waits for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunk {
    /// How many jobs at most, 1 to 1000; never more than the worker has slots for their queue.
    pub max: u16,
    /// How long the first job waits at most, 1 millisecond to 1 minute; must be shorter than the
    /// timeout.
    pub linger: Duration,
}

impl Default for Chunk {
    fn default() -> Self {
        Self { max: 100, linger: Duration::from_millis(50) }
    }
}

/// How many jobs of one concurrency key may run at a time, and which key space they share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency {
    /// Kinds that name the same group share their keys; by default the kind itself.
    pub group: &'static str,
    /// The group's default limit, 1 to 1,000,000, or [`UNLIMITED`](Self::UNLIMITED).
    pub limit: u32,
}

impl Concurrency {
    /// The limit for keys that have only a rate: any number of their jobs may run.
    pub const UNLIMITED: u32 = i32::MAX as u32;
}

/// How often jobs of one concurrency key may start, across all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// The time from one slot to the next, 100 microseconds to 30 days: 600 ms for 100 a minute.
    pub every: Duration,
    /// How many slots may be taken at once after a rest, 1 to 1,000,000.
    pub burst: u32,
}

impl Rate {
    /// This many per second, in bursts of as many.
    #[must_use]
    pub const fn per_second(count: u32) -> Self {
        Self::per(count, Duration::from_secs(1))
    }

    /// This many per minute, in bursts of one second's worth, at least 1.
    #[must_use]
    pub const fn per_minute(count: u32) -> Self {
        Self::per(count, Duration::from_secs(60))
    }

    /// This many per hour, in bursts of one second's worth, at least 1.
    #[must_use]
    pub const fn per_hour(count: u32) -> Self {
        Self::per(count, Duration::from_secs(60 * 60))
    }

    /// This many in this time, in bursts of one second's worth, at least 1.
    #[must_use]
    pub const fn per(count: u32, time: Duration) -> Self {
        let every = match time.checked_div(count) {
            Some(every) => every,
            None => time,
        };
        let burst = match every.as_micros() {
            0 => 1_000_000,
            micros @ 1..=1_000_000 => (1_000_000 / micros) as u32,
            _ => 1,
        };
        Self { every, burst }
    }

    /// The same rate with this burst.
    #[must_use]
    pub const fn burst(self, burst: u32) -> Self {
        Self { burst, ..self }
    }
}

/// A text that is not a rate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a rate; write a number per unit of time, such as 5/s, 100/min or 1000/h")]
pub struct ParseRateError(String);

impl FromStr for Rate {
    type Err = ParseRateError;

    /// Reads `100/min` or `100/minute`: a number, and `s`, `min`, `h` or `d`, as
    /// `#[job(rate = …)]` does.
    ///
    /// # Errors
    /// For any other text.
    fn from_str(text: &str) -> Result<Self, ParseRateError> {
        let wrong = || ParseRateError(text.to_owned());
        let (count, unit) = text.split_once('/').ok_or_else(wrong)?;
        let count = count.trim().parse().ok().filter(|count| (1..=86_400_000).contains(count));
        let seconds = match unit.trim() {
            "s" | "sec" | "second" => 1,
            "m" | "min" | "minute" => 60,
            "h" | "hour" => 60 * 60,
            "d" | "day" => 24 * 60 * 60,
            _ => return Err(wrong()),
        };
        Ok(Self::per(count.ok_or_else(wrong)?, Duration::from_secs(seconds)))
    }
}

impl fmt::Display for Rate {
    /// As it was written, if possible: `100/min, burst 20`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let every = self.every.as_micros().max(1);
        let units =
            [(1_000_000, "s"), (60_000_000, "min"), (3_600_000_000, "h"), (86_400_000_000, "d")];
        let whole = units.into_iter().find_map(|(unit, name)| {
            let count = (unit + every / 2) / every;
            (count > 0 && (unit / count).abs_diff(every) <= 1).then_some((count, name))
        });
        match whole {
            Some((count, name)) => write!(f, "{count}/{name}, burst {}", self.burst),
            None => write!(f, "one every {:?}, burst {}", self.every, self.burst),
        }
    }
}

impl Policy {
    /// The default policy of a kind: queue `default`, priority 0, 20 attempts, no timeout, no
    /// expiry, no automatic replay, kept for one day.
    #[must_use]
    pub const fn new(kind: &'static str) -> Self {
        Self {
            kind,
            aliases: &[],
            version: 1,
            upcasts: &[],
            queue: "default",
            priority: 0,
            max_attempts: 20,
            timeout: None,
            backoff: Backoff::Quartic,
            auto_replay: None,
            expires: None,
            retry_for: None,
            retention: Some(Duration::from_secs(24 * 60 * 60)),
            retention_discarded: None,
            concurrency: None,
            rate: None,
            optional_key: false,
            unique: None,
            coalesce: None,
            chunk: None,
            redact: &[],
            topic: None,
            encrypt: &[],
            takes_text: None,
        }
    }
}
