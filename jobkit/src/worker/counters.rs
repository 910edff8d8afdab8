use std::sync::atomic::{AtomicU64, Ordering};

use crate::hooks::Outcome;

/// What a worker has done since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Jobs claimed.
    pub claimed: u64,
    /// Claimed jobs that came with the settle that granted their permit, without a separate claim.
    pub handed_over: u64,
    /// Jobs that succeeded.
    pub finished: u64,
    /// Attempts that failed and are retried.
    pub retried: u64,
    /// Runs that the job itself snoozed.
    pub snoozed: u64,
    /// Jobs that became dead letters.
    pub buried: u64,
    /// Jobs the handler discarded.
    pub discarded: u64,
    /// Jobs that ended as cancelled.
    pub cancelled: u64,
    /// Jobs given back uncharged.
    pub released: u64,
    /// Outcomes that came too late: the claim was lost, and nothing was written.
    pub lost: u64,
    /// Jobs of dead workers taken back.
    pub reaped: u64,
    /// Jobs given back because the answer to their claim was lost.
    pub unanswered: u64,
    /// Ready rows whose job was gone.
    pub orphans: u64,
    /// Jobs that did not immediately get a permit of their concurrency key: they were blocked or,
    /// if the key was locked for long, are ready again.
    pub blocked: u64,
    /// Blocked jobs that a sweep found although there was a free permit, without an explanation;
    /// should always be 0.
    pub swept: u64,
    /// Events that were dropped because the [hooks](crate::hooks) were too slow.
    pub unheard: u64,
}

macro_rules! counters {
    ($($name:ident)*) => {
        /// The live counters behind [`Counts`].
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        impl Counters {
            pub(crate) fn read(&self) -> Counts {
                Counts { $($name: self.$name.0.load(Ordering::Relaxed),)* unheard: 0 }
            }
        }
    };
}

counters! {
    claimed handed_over finished retried snoozed buried discarded cancelled released lost reaped
    unanswered orphans blocked swept
}

impl Counters {
    /// The counter of attempts with this outcome; `None` for outcomes that came too late.
    pub(crate) fn of(&self, outcome: Option<Outcome>) -> &Counter {
        match outcome {
            None => &self.lost,
            Some(Outcome::Finish) => &self.finished,
            Some(Outcome::Retry) => &self.retried,
            Some(Outcome::Snooze) => &self.snoozed,
            Some(Outcome::Bury) => &self.buried,
            Some(Outcome::Discard | Outcome::Expire | Outcome::Supersede) => &self.discarded,
            Some(Outcome::Cancel) => &self.cancelled,
            Some(Outcome::Release) => &self.released,
        }
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: usize) {
        self.0.fetch_add(n as u64, Ordering::Relaxed);
    }
}
