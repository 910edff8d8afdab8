use std::collections::HashSet;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::JobId;
use crate::admin::jobs::Progress;

/// A worker, as the database knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerSummary {
    /// Its id: random at each start, and new after it was reaped.
    pub id: i64,
    /// Its name: by default its host and its process id, as `host:pid`.
    pub name: String,
    /// When it registered.
    pub started_at: DateTime<Utc>,
    /// How long ago it last renewed its lease.
    pub heartbeat_age: Duration,
    /// How long a lease lasts.
    pub lease: Duration,
    /// When its lease ends, unless it renews it.
    pub lease_until: DateTime<Utc>,
    /// Whether its lease has lapsed. Its jobs are then soon taken back.
    pub lapsed: bool,
    /// Whether less than a quarter of its lease is left.
    pub late: bool,
    /// Whether it claims no more.
    pub stopping: bool,
    /// When somebody asked it to stop.
    pub stop_requested_at: Option<DateTime<Utc>>,
    /// The queues it serves.
    pub queues: Vec<ServedQueue>,
    /// The kinds it knows.
    pub kinds: Vec<String>,
    /// How many jobs it runs.
    pub running: u32,
    /// Its time zone rules, as [`ZoneRules`](crate::schedule::ZoneRules) shows them; `None` if
    /// unknown.
    pub zones: Option<String>,
}

impl WorkerSummary {
    /// How many jobs it can run at a time, as far as it has announced that.
    #[must_use]
    pub fn slots(&self) -> u32 {
        let mut pools = HashSet::new();
        let counts = |queue: &&ServedQueue| queue.pool.is_none_or(|pool| pools.insert(pool));
        self.queues.iter().filter(counts).filter_map(|queue| queue.slots).sum()
    }
}

/// A queue that a worker serves.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServedQueue {
    /// Its name.
    pub queue: String,
    /// How many of its jobs the worker can run at a time; `None` if unknown.
    pub slots: Option<u32>,
    /// The number of the slots that it shares with others of the same number; a pattern (whose name
    /// ends in a star) shares them with all queues that match.
    pub pool: Option<u32>,
    /// Its weight among those; `None` if they are served in order.
    pub weight: Option<u32>,
}

/// A worker that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GoneWorker {
    /// Its id.
    pub id: i64,
    /// Its name: by default its host and its process id, as `host:pid`.
    pub name: String,
    /// When it registered, if that is known.
    pub started_at: Option<DateTime<Utc>>,
    /// When it last renewed its lease, if it was lost.
    pub heartbeat_at: Option<DateTime<Utc>>,
    /// When it stopped, or was found to be lost.
    pub ended_at: DateTime<Utc>,
    /// Whether it stopped cleanly. Otherwise its lease lapsed and its jobs were taken back.
    pub stopped: bool,
    /// How many jobs it held at its end.
    pub jobs: u32,
}

/// A worker and its running jobs, read one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerDetail {
    /// The fields shown in a list.
    pub summary: WorkerSummary,
    /// Its running jobs in the order in which they were claimed, at most 500.
    pub jobs: Vec<RunningJob>,
}

/// A job that a worker runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningJob {
    /// The job.
    pub job: JobId,
    /// Its stored kind.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// When it was claimed.
    pub since: DateTime<Utc>,
    /// Its progress as of the worker's last heartbeat.
    pub progress: Option<Progress>,
}
