use std::sync::Arc;

use super::Slots;

/// Slots taken for the jobs that a call may bring, and places beyond them. Dropping it gives back
/// those that are left.
#[derive(Debug)]
pub(crate) struct TakenSlots {
    pub(super) slots: Arc<Slots>,
    pub(super) left: Vec<Left>,
}

/// What is left of a queue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    pub(super) slots: usize,
    pub(super) ahead: usize,
}

impl TakenSlots {
    /// How many are left of each queue.
    pub(crate) fn left(&self) -> Vec<usize> {
        self.left.iter().map(|left| left.slots + left.ahead).collect()
    }

    /// How many of those are not free yet.
    pub(crate) fn ahead(&self) -> Vec<usize> {
        self.left.iter().map(|left| left.ahead).collect()
    }

    /// A slot goes to a handler, which gives it back when it ends.
    pub(crate) fn pass_on(&mut self, queue: usize) {
        match self.left[queue].slots.checked_sub(1) {
            Some(left) => self.left[queue].slots = left,
            // Somebody has moved the job to this queue by hand since it became ready.
            None => self.slots.taken.lock().by_queue[queue].begun += 1,
        }
    }
}

impl Drop for TakenSlots {
    fn drop(&mut self) {
        if self.left.iter().all(|left| left.slots + left.ahead == 0) {
            return;
        }
        let mut taken = self.slots.taken.lock();
        for (places, left) in taken.by_queue.iter_mut().zip(&self.left) {
            places.begun -= left.slots;
            places.called -= left.ahead;
        }
        self.slots.tell(&taken);
    }
}
