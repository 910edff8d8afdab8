use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::admin::Count;

/// A queue of which no job starts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PausedQueue {
    /// Its name.
    pub queue: String,
    /// Since when, by the database's clock.
    pub since: DateTime<Utc>,
    /// Who paused it; `None` when it was paused from SQL without saying so.
    pub actor: Option<String>,
    /// Why; `None` when it was paused from SQL without saying so.
    pub reason: Option<String>,
}

/// How many jobs may wait in a queue, beyond which enqueues to it fail with
/// [`QueueFull`](crate::error::QueueFull).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bound {
    /// How many may wait.
    pub most: u32,
    /// How many did when a worker last counted them, ready or for a permit; of more than may, one
    /// more is counted.
    pub waiting: u32,
    /// Since when it is full, if it is.
    pub full_since: Option<DateTime<Utc>>,
}

/// The status of a queue.
///
/// Of the ready jobs of a queue no more than 10,000 are counted, and no fewer than 1,000 however
/// many queues there are; of the blocked, the scheduled and the running jobs of all queues together
/// the first 10,000. Where there are more, the count is [`Count::AtLeast`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueSummary {
    /// Its name.
    pub queue: String,
    /// Jobs that may be claimed.
    pub ready: Count,
    /// How long the one of them that was due first has been; of each priority the first 20 are
    /// looked at.
    pub ready_age: Option<Duration>,
    /// Jobs that wait for a permit of their key.
    pub blocked: Count,
    /// The longest wait among the blocked jobs counted.
    pub blocked_age: Option<Duration>,
    /// Jobs whose time has not come.
    pub scheduled: Count,
    /// Scheduled jobs that have used an attempt up.
    pub retrying: Count,
    /// When the next scheduled job is due.
    pub next_run_at: Option<DateTime<Utc>>,
    /// Jobs that live workers run which are not stopping.
    pub running: Count,
    /// Jobs that run on workers that are stopping.
    pub stopping: Count,
    /// Jobs held by workers that are gone, until they are taken back.
    pub gone: Count,
    /// How long ago the first of those that live workers run was claimed.
    pub running_age: Option<Duration>,
    /// Jobs of it that live workers which are not stopping can run at once.
    pub capacity: u32,
    /// These workers.
    pub workers: u32,
    /// Since when, by whom and why it is paused, if it is.
    pub paused: Option<PausedQueue>,
    /// How many of its jobs may wait, if that is bounded.
    pub bound: Option<Bound>,
    /// The same by kind, as far as jobs were counted; by name.
    pub kinds: Vec<QueueKind>,
}

impl QueueSummary {
    /// Of a queue of which nothing is known yet.
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
            bound: None,
            kinds: Vec::new(),
        }
    }

    /// The place of a kind, which keeps the names in order.
    pub(crate) fn kind(&mut self, kind: &str) -> &mut QueueKind {
        let found = self.kinds.binary_search_by(|known| known.kind.as_str().cmp(kind));
        let at = found.unwrap_or_else(|at| {
            self.kinds.insert(at, QueueKind { kind: kind.to_owned(), ..QueueKind::default() });
            at
        });
        &mut self.kinds[at]
    }
}

/// The jobs of one kind in a queue, as far as they were counted.
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
