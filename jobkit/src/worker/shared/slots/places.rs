use std::collections::BTreeMap;
use std::time::Instant;

use crate::store::{ClaimId, ClaimedJob, Lane};

/// The slots of one queue, or those that several share, and the places beyond them.
#[derive(Debug, Default)]
pub(super) struct Places {
    pub(super) slots: usize,
    /// Slots taken by handlers, and by calls whose jobs begin immediately.
    pub(super) begun: usize,
    /// How many jobs may be claimed ahead.
    pub(super) ahead: usize,
    /// Places taken by calls whose jobs may have to wait.
    pub(super) called: usize,
    /// The waiting jobs, in the order in which they begin.
    pub(super) waiting: BTreeMap<(Lane, i64), Waiting>,
    /// How many handlers have ended.
    pub(super) ended: u64,
}

/// A job that was claimed ahead and waits for a slot.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) claim: ClaimId,
    pub(crate) job: ClaimedJob,
    pub(crate) since: Instant,
}

impl Places {
    pub(super) fn free_slots(&self) -> usize {
        self.slots.saturating_sub(self.begun)
    }

    /// Free places for jobs that may be claimed now.
    pub(super) fn free(&self) -> usize {
        (self.slots + self.ahead).saturating_sub(self.begun + self.called + self.waiting.len())
    }

    /// The next waiting job, if there is a slot for it.
    pub(super) fn next(&mut self) -> Option<Waiting> {
        let next = (self.free_slots() > 0).then(|| self.waiting.pop_first());
        next.flatten().map(|(_, waiting)| {
            self.begun += 1;
            waiting
        })
    }
}
