//! How a batch ended.

use crate::BatchId;

/// How a batch ended, for its callback: how many members there were, and how they ended.
///
/// For a callback of [`or_else`](crate::Batch::or_else) it is how far the batch has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchEnd {
    /// The batch.
    pub id: BatchId,
    /// Jobs that were members.
    pub members: u64,
    /// … and succeeded.
    pub finished: u64,
    /// … and became dead letters, without those that were resolved or discarded while the batch
    /// was [held](crate::Batch::hold_dead).
    pub dead: u64,
    /// … and were discarded.
    pub discarded: u64,
    /// … and were cancelled.
    pub cancelled: u64,
    /// … and expired before they began.
    pub expired: u64,
    /// … and were superseded or coalesced: another job ran in their place.
    pub replaced: u64,
}

impl BatchEnd {
    /// How many members have not ended.
    #[must_use]
    pub fn open(&self) -> u64 {
        let ended = [self.dead, self.discarded, self.cancelled, self.expired, self.replaced];
        self.members.saturating_sub(self.finished + ended.into_iter().sum::<u64>())
    }

    /// Whether all members succeeded.
    #[must_use]
    pub fn all_finished(&self) -> bool {
        self.finished == self.members
    }

    /// From the batch and its counts; `None` if there is no batch.
    pub(crate) fn of(counts: Vec<(i64, Option<String>, Option<i64>)>) -> Option<Self> {
        let id = BatchId(counts.first()?.0);
        let counts: Vec<_> =
            counts.into_iter().filter_map(|(_, outcome, jobs)| outcome.zip(jobs)).collect();
        let sum = |outcomes: &[&str]| {
            let jobs = counts.iter().filter(|(outcome, _)| outcomes.contains(&&**outcome));
            jobs.map(|(_, jobs)| u64::try_from(*jobs).unwrap_or(0)).sum()
        };
        Some(Self {
            id,
            members: sum(&["add"]),
            finished: sum(&["finish"]),
            dead: sum(&["bury", "hold"]),
            discarded: sum(&["discard"]),
            cancelled: sum(&["cancel"]),
            expired: sum(&["expire"]),
            replaced: sum(&["supersede", "coalesce"]),
        })
    }
}
