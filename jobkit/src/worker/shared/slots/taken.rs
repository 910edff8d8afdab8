use std::sync::Arc;

use super::Slots;

/// Slots taken for the jobs that a call may bring, and places beyond them. Dropping it gives back
/// the rest.
#[derive(Debug)]
pub(crate) struct TakenSlots {
    pub(super) slots: Arc<Slots>,
    pub(super) left: Vec<Left>,
}

/// The rest of a pool.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub(super) slots: usize,
    pub(super) ahead: usize,
}

impl TakenSlots {
    /// How many are left of each pool.
    pub(crate) fn left(&self) -> Vec<usize> {
        self.left.iter().map(|left| left.slots + left.ahead).collect()
    }

    /// How many of those are not free yet.
    pub(crate) fn ahead(&self) -> Vec<usize> {
        self.left.iter().map(|left| left.ahead).collect()
    }

    /// Passes a slot to a handler, which gives it back when it ends.
    pub(crate) fn pass_on(&mut self, queue: usize) {
        let mut taken = self.slots.taken.lock();
        let pool = taken.pool(queue);
        taken.queues.begins(queue);
        match self.left[pool].slots.checked_sub(1) {
            Some(left) => self.left[pool].slots = left,
            // Somebody has manually moved the job to this queue since it became ready.
            None => taken.by_pool[pool].begun += 1,
        }
    }
}

impl Drop for TakenSlots {
    fn drop(&mut self) {
        if self.left.iter().all(|left| left.slots + left.ahead == 0) {
            return;
        }
        let mut taken = self.slots.taken.lock();
        for (places, left) in taken.by_pool.iter_mut().zip(&self.left) {
            places.begun -= left.slots;
            places.called -= left.ahead;
        }
        self.slots.tell(&taken);
    }
}
