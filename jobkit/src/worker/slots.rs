use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// A queue as this worker serves it.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub(crate) name: String,
    /// How many of its jobs may run here at a time.
    pub(crate) slots: usize,
}

impl Served {
    /// Names and slots, as a registration lists them.
    pub(crate) fn columns(queues: &[Self]) -> (Vec<&str>, Vec<i32>) {
        let slots = |queue: &Self| i32::try_from(queue.slots).unwrap_or(i32::MAX);
        queues.iter().map(|queue| (&*queue.name, slots(queue))).unzip()
    }
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
    /// How many free slots the claimer waits for.
    awaited: usize,
}

impl Slots {
    pub(crate) fn new(queues: Vec<Served>) -> Self {
        let by_queue = vec![0; queues.len()];
        let taken = Mutex::new(Taken { by_queue, crash_suspect: false, awaited: 1 });
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
        self.free_of(&taken).collect()
    }

    fn free_of(&self, taken: &Taken) -> impl Iterator<Item = usize> {
        let pairs = self.queues.iter().zip(&taken.by_queue);
        pairs.map(|(queue, taken)| queue.slots.saturating_sub(*taken))
    }

    /// Free slots of each queue, cut down to so many in all.
    pub(crate) fn free_within(&self, most: usize) -> Vec<usize> {
        share(most, &self.free())
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
        if self.free_of(&taken).sum::<usize>() >= taken.awaited {
            self.freed.notify_one();
        }
    }

    /// Completes when so many slots are free, or after `patience`: waking for each of them would
    /// cost more than the handlers of small jobs.
    pub(crate) async fn until_free(&self, count: usize, patience: Duration) {
        self.taken().awaited = count;
        let enough = async {
            while self.free().iter().sum::<usize>() < count {
                self.freed.notified().await;
            }
        };
        let _in_time = timeout(patience, enough).await;
        self.taken().awaited = 1;
    }

    /// Completes when a slot has become free since the last time.
    pub(crate) async fn freed(&self) {
        self.freed.notified().await;
    }
}

/// Cuts demands down to so much in all, without starving anybody: small ones are met, larger ones
/// share what is left. When there is not one for each, chance decides who has one.
fn share(most: usize, demands: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..demands.len()).filter(|at| demands[*at] > 0).collect();
    fastrand::shuffle(&mut order);
    order.truncate(most);
    order.sort_by_key(|at| demands[*at]);
    let mut shares = vec![0; demands.len()];
    let mut left = most;
    for (done, at) in order.iter().enumerate() {
        shares[*at] = demands[*at].min(left / (order.len() - done));
        left -= shares[*at];
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_large_demand_leaves_room_for_a_small_one() {
        assert_eq!(share(500, &[1000, 10]), [490, 10]);
        assert_eq!(share(500, &[1000, 0, 10, 1000]), [245, 0, 10, 245]);
        assert_eq!(share(500, &[3, 0, 4]), [3, 0, 4]);
        assert_eq!(share(500, &[]), Vec::<usize>::new());
    }

    #[test]
    fn when_there_is_not_one_for_each_everybody_has_a_turn() {
        let mut turns = [0; 3];
        for _ in 0..1000 {
            let shares = share(1, &[5, 500, 1]);
            assert_eq!(shares.iter().sum::<usize>(), 1);
            turns.iter_mut().zip(shares).for_each(|(turns, share)| *turns += share);
        }
        assert!(turns.iter().all(|turns| *turns > 0), "{turns:?}");
    }
}
