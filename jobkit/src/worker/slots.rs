use std::sync::Mutex;
use std::sync::PoisonError;

use tokio::sync::Notify;

/// A queue as this worker serves it.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub(crate) name: String,
    /// How many of its jobs may run here at a time.
    pub(crate) slots: usize,
}

/// How many handlers run, by queue. Only the claimer takes slots, so what is free can only grow
/// between its look and its claim.
#[derive(Debug)]
pub(crate) struct Slots {
    queues: Vec<Served>,
    taken: Mutex<Taken>,
    freed: Notify,
}

#[derive(Debug)]
struct Taken {
    by_queue: Vec<usize>,
    /// A job whose last two attempts crashed is running: it runs alone among its like.
    crash_suspect: bool,
}

impl Slots {
    pub(crate) fn new(queues: Vec<Served>) -> Self {
        let by_queue = vec![0; queues.len()];
        let taken = Mutex::new(Taken { by_queue, crash_suspect: false });
        Self { queues, taken, freed: Notify::new() }
    }

    pub(crate) fn queues(&self) -> &[Served] {
        &self.queues
    }

    fn taken(&self) -> std::sync::MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Free slots of each queue.
    pub(crate) fn free(&self) -> Vec<usize> {
        let taken = self.taken();
        self.queues
            .iter()
            .zip(&taken.by_queue)
            .map(|(queue, taken)| queue.slots.saturating_sub(*taken))
            .collect()
    }

    /// Takes a slot of a queue.
    pub(crate) fn take(&self, queue: usize) {
        self.taken().by_queue[queue] += 1;
    }

    /// Takes the one place for crash suspects; false when it is taken.
    pub(crate) fn take_suspect(&self) -> bool {
        !std::mem::replace(&mut self.taken().crash_suspect, true)
    }

    /// A handler ended.
    pub(crate) fn give_back(&self, queue: usize, suspect: bool) {
        let mut taken = self.taken();
        taken.by_queue[queue] -= 1;
        if suspect {
            taken.crash_suspect = false;
        }
        drop(taken);
        self.freed.notify_one();
    }

    /// Completes when so many slots are free.
    pub(crate) async fn until_free(&self, count: usize) {
        while self.free().iter().sum::<usize>() < count {
            self.freed().await;
        }
    }

    /// Completes when a slot has become free since the last time.
    pub(crate) async fn freed(&self) {
        self.freed.notified().await;
    }
}
