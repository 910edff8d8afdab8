use std::time::Duration;

use crate::Backoff;
use crate::unique::Unique;

/// What a job type asks for: where it queues, how often it is tried, how long it is kept.
///
/// `#[job(…)]` fills one in for each struct; [`Pending`](crate::Pending) overrides parts of it for
/// a single job. What must not change under a stored job (queue, priority, attempts) is copied
/// into its row when it is enqueued; the rest is read from the worker's binary.
///
/// Later releases may add fields: write `Policy { queue: "mail", ..Policy::new("send_receipt") }`.
#[derive(Debug, Clone, Copy)]
pub struct Policy {
    /// The stable name stored with every job of this type, at most 128 bytes.
    pub kind: &'static str,
    /// Earlier names of this type: stored jobs that bear one of them are run as this type.
    pub aliases: &'static [&'static str],
    /// The version of the payload that this type enqueues, 1 to 32,767. Workers leave jobs of a
    /// version alone that they do not know.
    pub version: u16,
    /// Earlier versions that this type reads as well, by [`Declared::upcast`](crate::Declared).
    pub upcasts: &'static [u16],
    /// The queue jobs of this type wait in, at most 128 bytes.
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
    /// How long after it is due a job may still begin for the first time, 1 second to 366 days: one
    /// that did not is discarded as expired. `None` sets no limit.
    pub expires: Option<Duration>,
    /// For how long after its first failure a job is tried again, 1 second to 366 days: where the
    /// next attempt would come later, it becomes a dead letter, though it has attempts left. `None`
    /// sets no limit.
    pub retry_for: Option<Duration>,
    /// How long a job is kept after it ended, at most 90 days; `None` keeps nothing.
    pub retention: Option<Duration>,
    /// The same for a job that was discarded or cancelled; `None` is as long as
    /// [`retention`](Self::retention) says.
    pub retention_discarded: Option<Duration>,
    /// The limit shared by jobs with one concurrency key; `None` for unlimited jobs.
    pub concurrency: Option<Concurrency>,
    /// Whether a job may come without a concurrency key, and then is not limited: the expression
    /// in `#[job]` is an `Option`.
    pub optional_key: bool,
    /// What jobs with a unique key ask for; `None` for jobs that are not unique.
    pub unique: Option<Unique>,
    /// The group of the coalesce keys: kinds that name the same one share them, by default the kind
    /// itself. `None` for jobs that do not coalesce.
    pub coalesce: Option<&'static str>,
    /// Paths in the payload (`card.number`) whose values are not shown: not in errors, logs or
    /// lists, nor to operators without the right to see them.
    pub redact: &'static [&'static str],
}

/// When a dead letter is replayed without anybody asking for it, and when that ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoReplay {
    /// How long after its failure, 1 second to 30 days.
    pub after: Duration,
    /// How often it may be buried, 2 to 1000: after so many failures it stays for a human.
    pub max_cycles: u16,
}

/// How many jobs of one concurrency key may run at a time, and which key space they share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Concurrency {
    /// Kinds that name the same group share their keys; by default the kind itself.
    pub group: &'static str,
    /// The group's default limit, 1 to 1,000,000.
    pub limit: u32,
}

impl Policy {
    /// The policy of a kind that asks for nothing: queue `default`, priority 0, 20 attempts, no
    /// timeout, no expiry, dead letters left to a human, kept for one day.
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
            optional_key: false,
            unique: None,
            coalesce: None,
            redact: &[],
        }
    }
}
