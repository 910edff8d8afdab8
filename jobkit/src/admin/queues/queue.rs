use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::admin::Count;
use crate::admin::limits::Pause;

/// How many jobs of a queue may wait. Beyond that, enqueues to the queue fail with
/// [`QueueFull`](crate::error::QueueFull).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waiting {
    /// How many may wait.
    pub most: u32,
    /// How many waited, ready or for a permit, when a worker last counted them; at most one more
    /// than the limit.
    pub counted: u32,
    /// When it became full, if it is full.
    pub full_since: Option<DateTime<Utc>>,
}

/// The status of a queue.
///
/// Ready jobs are counted up to 10,000 per queue, or fewer with many queues, but at least 1,000.
/// Blocked, scheduled and running jobs are counted up to 10,000 over all queues together. Beyond
/// that, the count is [`Count::AtLeast`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueSummary {
    /// Its name.
    pub queue: String,
    /// Jobs that may be claimed.
    pub ready: Count,
    /// How long the oldest of them has been due, among the first 20 of each priority.
    pub ready_age: Option<Duration>,
    /// Jobs that wait for a permit of their key.
    pub blocked: Count,
    /// The longest wait among the blocked jobs counted.
    pub blocked_age: Option<Duration>,
    /// Jobs whose time has not come.
    pub scheduled: Count,
    /// Scheduled jobs that have used up an attempt.
    pub retrying: Count,
    /// When the next scheduled job is due.
    pub next_run_at: Option<DateTime<Utc>>,
    /// Jobs that run on live workers that are not stopping.
    pub running: Count,
    /// Jobs that run on workers that are stopping.
    pub stopping: Count,
    /// Jobs held by workers that are gone, until a worker takes them back.
    pub gone: Count,
    /// How long ago the oldest running job of live workers was claimed.
    pub running_age: Option<Duration>,
    /// How many of its jobs can run at once on live workers that are not stopping.
    pub capacity: u32,
    /// How many such workers there are.
    pub workers: u32,
    /// Its pause, if it is paused.
    pub paused: Option<Pause>,
    /// How many of its jobs may wait, if that is limited.
    pub waiting: Option<Waiting>,
    /// The same by kind, ordered by name, as far as jobs were counted.
    pub kinds: Vec<QueueKind>,
}

impl QueueSummary {
    /// A queue about which nothing is known yet.
    pub(crate) fn empty(queue: &str) -> Self {
        let none = Count::Exactly(0);
        Self {
            queue: queue.to_owned(),
            ready: none,
            ready_age: None,
            blocked: none,
            blocked_age: None,
            scheduled: none,
            retrying: none,
            next_run_at: None,
            running: none,
            stopping: none,
            gone: none,
            running_age: None,
            capacity: 0,
            workers: 0,
            paused: None,
            waiting: None,
            kinds: Vec::new(),
        }
    }

    /// The entry of a kind; entries stay ordered by name.
    pub(crate) fn kind(&mut self, kind: &str) -> &mut QueueKind {
        let found = self.kinds.binary_search_by(|known| known.kind.as_str().cmp(kind));
        let at = found.unwrap_or_else(|at| {
            self.kinds.insert(at, QueueKind { kind: kind.to_owned(), ..QueueKind::default() });
            at
        });
        &mut self.kinds[at]
    }
}

/// The jobs of one kind in a queue, as far as counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueKind {
    /// The stored kind.
    pub kind: String,
    /// Jobs that may be claimed.
    pub ready: u32,
    /// Jobs that wait for a permit of their key.
    pub blocked: u32,
    /// Jobs whose time has not come.
    pub scheduled: u32,
    /// Jobs that live workers run.
    pub running: u32,
    /// How long ago the first of these was claimed.
    pub running_age: Option<Duration>,
}
