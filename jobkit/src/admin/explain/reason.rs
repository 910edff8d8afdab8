//! Why a job does not run, in values and in words.

use std::fmt;

use chrono::{DateTime, Utc};

use super::awaits::{BatchAwaited, held_by_dead, unclosed};
use super::hands::{InHand, in_hand};
use super::held::{limited, paused};
use super::key::KeyUse;
use super::pace::KeyPace;
use crate::admin::jobs::Progress;
use crate::admin::limits::{Limit, Pause, Scope};
use crate::admin::stuck::StuckJob;
use crate::{BatchId, JobId};

/// The largest count.
const MANY: u32 = 10_000;

/// One reason why a job does not run, or that it runs or has ended. Displayed, it is a sentence
/// without a full stop.
///
/// Counts end at 10,000, which stands for that many or more. Times are the database's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It runs.
    Running {
        /// The worker that runs it.
        worker: i64,
        /// When it began.
        since: DateTime<Utc>,
        /// Its last reported progress.
        progress: Option<Progress>,
    },
    /// It waits in a worker for a slot, for at most a tenth of a second.
    ClaimedAhead {
        /// The worker that has claimed it.
        worker: i64,
    },
    /// It is marked as cancelled, and will only end.
    CancelRequested {
        /// When that was requested.
        since: DateTime<Utc>,
    },
    /// A transition of it fails through no fault of the job.
    Stuck(StuckJob),
    /// It is not due yet, or has only just become due.
    Scheduled {
        /// When it is due.
        until: DateTime<Utc>,
    },
    /// It waits until the job with its unique key ends, and until the time of
    /// [`Scheduled`](Self::Scheduled) if that is also listed.
    Follows {
        /// That job.
        job: JobId,
    },
    /// It is a callback, and its batch has not ended.
    AwaitsBatch(BatchAwaited),
    /// Nobody has closed its batch, so more members may be added, and it cannot end.
    Unclosed {
        /// The batch.
        batch: BatchId,
    },
    /// Dead letters keep its batch open.
    HeldByDead {
        /// The batch.
        batch: BatchId,
        /// How many.
        dead: u64,
    },
    /// Producers that found or changed it have open transactions: claims skip it until these end.
    InHand(Vec<InHand>),
    /// Its queue, its kind or everything is paused.
    Paused {
        /// Which of these.
        scope: Scope,
        /// Its pause.
        pause: Pause,
    },
    /// Its queue or its kind has reached its limit of running jobs, or its rate.
    Limited(Limit),
    /// No live worker serves its queue.
    Unserved {
        /// The queue.
        queue: String,
    },
    /// Live workers serve its queue, but none of them knows its kind.
    UnknownKind {
        /// The queue.
        queue: String,
        /// The kind.
        kind: String,
    },
    /// Live workers serve its queue, but none of them knows this version of its payload.
    UnknownVersion {
        /// The queue.
        queue: String,
        /// The kind.
        kind: String,
        /// The version.
        version: u16,
    },
    /// It waits for a permit of its concurrency key.
    Blocked {
        /// Its place among the blocked jobs, from 1, in the order in which they get permits.
        position: u32,
        /// How many there are.
        blocked: u32,
        /// The key.
        key: KeyUse,
    },
    /// Its concurrency key is paused or has used up its rate.
    Paced(KeyPace),
    /// It is ready, but its concurrency key has no permit left: the worker that claims it will find
    /// it blocked.
    AtLimit(KeyUse),
    /// The workers that could run it have no free slot for its queue.
    Busy {
        /// The queue.
        queue: String,
        /// Jobs of the queue that they run.
        running: u32,
        /// How many they can run at a time.
        slots: u32,
    },
    /// It is ready, and its turn has not come.
    Ahead {
        /// The queue.
        queue: String,
        /// Ready jobs of the queue that are picked before it.
        jobs: u32,
    },
    /// It expires unless it starts by then.
    Expires {
        /// When.
        at: DateTime<Utc>,
    },
    /// It was told to wait, which is not a failure: for at most a day or its time for retries.
    ToldToWait {
        /// When the waiting began.
        since: DateTime<Utc>,
    },
    /// If it fails and the next attempt would be later than this, it becomes a dead letter.
    RetriedUntil {
        /// When.
        at: DateTime<Utc>,
    },
    /// It succeeded.
    Finished {
        /// When.
        at: DateTime<Utc>,
    },
    /// It was discarded.
    Discarded {
        /// When.
        at: DateTime<Utc>,
        /// Why.
        reason: Option<String>,
    },
    /// It was cancelled.
    Cancelled {
        /// When.
        at: DateTime<Utc>,
    },
    /// It is a dead letter.
    Dead {
        /// When it became one.
        at: DateTime<Utc>,
        /// `exhausted`, `out_of_time`, `dead`, `undecodable` or `crashed`.
        reason: String,
        /// The beginning of its last error.
        error: String,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running { worker, since, progress } => {
                write!(f, "Running since {} on worker {worker:x}", Time(since))?;
                progress.as_ref().map_or(Ok(()), |progress| {
                    write!(f, "; progress at {}: {progress}", Time(&progress.at))
                })
            }
            Self::ClaimedAhead { worker } => {
                write!(f, "Claimed by worker {worker:x}, where it waits for a slot")
            }
            Self::CancelRequested { since } => {
                write!(f, "Marked as cancelled since {}: a worker will end it", Time(since))
            }
            Self::Scheduled { until } => write!(f, "Scheduled until {}", Time(until)),
            Self::Follows { job } => {
                write!(f, "Waits until job {job}, which holds its unique key, ends")
            }
            Self::InHand(sessions) => in_hand(sessions, f),
            Self::Paused { scope, pause } => paused(scope, pause, f),
            Self::Limited(limit) => limited(limit, f),
            Self::Stuck(stuck) => stuck.fmt(f),
            Self::Unserved { queue } => write!(f, "No live worker serves its queue {queue}"),
            Self::UnknownKind { queue, kind } => {
                write!(f, "No live worker of its queue {queue} knows the kind {kind}")
            }
            Self::UnknownVersion { queue, kind, version } => write!(
                f,
                "No live worker of its queue {queue} knows version {version} of the kind {kind}"
            ),
            Self::Blocked { position, blocked, key } => {
                let (position, blocked) = (Ordinal(*position), Count(*blocked));
                write!(f, "Blocked: {position} of {blocked} for {key}")
            }
            Self::Paced(pace) => pace.fmt(f),
            Self::AtLimit(key) => write!(f, "Ready, but no permit is left for {key}"),
            Self::Busy { queue, running, slots } => write!(
                f,
                "Ready, but no worker has a slot free for its queue {queue}: {} of {slots} taken",
                Count(*running)
            ),
            Self::Ahead { queue, jobs } => ahead(f, queue, *jobs),
            Self::Expires { at } => {
                write!(f, "Expires unless it starts by {}", Time(at))
            }
            Self::ToldToWait { since } => write!(f, "Told to wait since {}", Time(since)),
            Self::RetriedUntil { at } => write!(f, "Not retried after {}", Time(at)),
            other => other.fmt_end(f),
        }
    }
}

impl Reason {
    /// The reason of a job that has ended, or waits for its batch to end.
    fn fmt_end(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished { at } => write!(f, "Finished at {}", Time(at)),
            Self::Discarded { at, reason } => {
                write!(f, "Discarded at {}", Time(at))?;
                reason.as_ref().map_or(Ok(()), |reason| write!(f, ": {reason}"))
            }
            Self::Cancelled { at } => write!(f, "Cancelled at {}", Time(at)),
            Self::Dead { at, reason, error } => {
                write!(f, "Dead letter since {} ({reason}): {error}", Time(at))
            }
            Self::AwaitsBatch(batch) => write!(f, "{batch}"),
            Self::Unclosed { batch } => unclosed(*batch, f),
            Self::HeldByDead { batch, dead } => held_by_dead(*batch, *dead, f),
            _ => Ok(()),
        }
    }
}

fn ahead(f: &mut fmt::Formatter<'_>, queue: &str, jobs: u32) -> fmt::Result {
    match jobs {
        0 => write!(f, "Ready: next in its queue {queue}"),
        1 => write!(f, "Ready: 1 job of its queue {queue} is ahead of it"),
        _ => write!(f, "Ready: {} jobs of its queue {queue} are ahead of it", Count(jobs)),
    }
}

/// A count that ends at [`MANY`].
struct Count(u32);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= MANY { write!(f, "10,000+") } else { self.0.fmt(f) }
    }
}

struct Ordinal(u32);

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ending = match (self.0 % 10, self.0 % 100) {
            (_, 11..=13) => "th",
            (1, _) => "st",
            (2, _) => "nd",
            (3, _) => "rd",
            _ => "th",
        };
        let later = if self.0 >= MANY { " or later" } else { "" };
        write!(f, "{}{ending}{later}", self.0)
    }
}

pub(in crate::admin) struct Time<'a>(pub(in crate::admin) &'a DateTime<Utc>);

impl fmt::Display for Time<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.0 {
            time if time == DateTime::<Utc>::MAX_UTC => f.write_str("infinity"),
            time => time.format("%Y-%m-%d %H:%M:%S UTC").fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
