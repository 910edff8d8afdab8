use std::time::Duration;

use chrono::{DateTime, Utc};

use super::stuck::StuckJob;
use super::worker::WorkerSummary;
use crate::dead_letter::Count;

/// How it stands with the whole: what waits, what runs, what is dead, and what needs attention.
///
/// No count goes beyond 10,000: [`Count::AtLeast`] stands for that many and more. The parts are
/// read one after the other, so that what changes meanwhile may show in one and not in another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overview {
    /// When this was so, by the database's clock.
    pub at: DateTime<Utc>,
    /// Jobs that may be claimed, those of paused queues among them.
    pub ready: Count,
    /// How long the one of them that was due first has been; of each queue and priority the first
    /// 20 are looked at.
    pub ready_age: Option<Duration>,
    /// Jobs that workers run.
    pub running: u32,
    /// Jobs that live workers which are not stopping can run at once.
    pub capacity: u32,
    /// Jobs whose time has not come.
    pub scheduled: Count,
    /// Those of them that are due within an hour.
    pub due_soon: Count,
    /// When the next of them is due; in the past while no worker has made it ready.
    pub next_run_at: Option<DateTime<Utc>>,
    /// Those of them that have used an attempt up: they wait for a retry.
    pub retrying: Count,
    /// Jobs that wait for a permit of their concurrency key.
    pub blocked: Count,
    /// How long the one of them that waits longest does; the first of each of 1,000 keys are
    /// looked at.
    pub blocked_age: Option<Duration>,
    /// Open dead letters.
    pub dead: Count,
    /// What somebody should look at: no more than 20 of each kind.
    pub attention: Vec<Attention>,
}

/// Something that an operator should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attention {
    /// Jobs wait in a paused queue.
    PausedQueue {
        /// Its name.
        queue: String,
        /// Since when it is paused.
        since: DateTime<Utc>,
        /// Who paused it, as they said.
        actor: Option<String>,
        /// Why, as they said.
        reason: Option<String>,
        /// How many jobs of it are ready; no more than 10,000 are counted.
        ready: Count,
    },
    /// A concurrency key has no permit left, and a job has been waiting for one for more than five
    /// minutes.
    KeyAtLimit {
        /// Its group.
        group: String,
        /// The key.
        key: String,
        /// How many of its jobs may run at a time; with 0 none ever will.
        limit: u32,
        /// Permits taken.
        taken: u32,
        /// Jobs that wait; no more than 10,000 are counted.
        blocked: Count,
        /// How long the next of them has been waiting.
        blocked_age: Duration,
    },
    /// A worker has not renewed its lease in time: less than a quarter of it is left, or nothing.
    LateWorker(WorkerSummary),
    /// Ready jobs that no live worker serves: none that is not stopping has the queue and knows
    /// the kind.
    Unserved {
        /// Their queue.
        queue: String,
        /// Their kind.
        kind: String,
        /// Whether some worker has ever announced the kind.
        announced: bool,
        /// How many were met among the first 50 of each priority of the queue.
        ready: Count,
    },
    /// A job with which a transition fails through no fault of its own.
    StuckJob(StuckJob),
    /// Jobs became dead letters during the last hour, and are open.
    DeadLetters {
        /// How many; no more than 10,000 are counted.
        lately: Count,
    },
}
