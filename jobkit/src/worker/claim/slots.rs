mod share;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use self::share::share;
use crate::lock::Lock;

/// A queue as this worker serves it.
#[derive(Debug, Clone)]
pub(crate) struct Served {
    pub(crate) name: Arc<str>,
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

/// How many claimers there may be.
const CLAIMERS: usize = 2;

/// How many slots are taken, by queue: by handlers that run, and by calls under way that may bring
/// jobs.
#[derive(Debug)]
pub(crate) struct Slots {
    queues: Vec<Served>,
    taken: Lock<Taken>,
    /// Rings for each claimer.
    freed: [Notify; CLAIMERS],
}

#[derive(Debug)]
struct Taken {
    by_queue: Vec<usize>,
    /// Queues that had as many ready jobs as they were asked for.
    filled: Vec<bool>,
    /// Which of those is the first to have its turn.
    turn: usize,
    /// Queues that had more ready jobs than free slots when they were last looked at.
    backlogged: Vec<bool>,
    /// A job whose last two attempts crashed is running: it runs alone among its like.
    crash_suspect: bool,
    /// How many free slots each claimer waits for.
    awaited: [usize; CLAIMERS],
}

impl Slots {
    pub(crate) fn new(queues: Vec<Served>) -> Self {
        let taken = Lock::new(Taken {
            by_queue: vec![0; queues.len()],
            filled: vec![false; queues.len()],
            turn: 0,
            backlogged: vec![false; queues.len()],
            crash_suspect: false,
            awaited: [1; CLAIMERS],
        });
        Self { queues, taken, freed: Default::default() }
    }

    pub(crate) fn queues(&self) -> &[Served] {
        &self.queues
    }

    /// Free slots of each queue.
    pub(crate) fn free(&self) -> Vec<usize> {
        let taken = self.taken.lock();
        self.free_of(&taken).collect()
    }

    fn free_of(&self, taken: &Taken) -> impl Iterator<Item = usize> {
        let pairs = self.queues.iter().zip(&taken.by_queue);
        pairs.map(|(queue, taken)| queue.slots.saturating_sub(*taken))
    }

    /// Takes the free slots of each queue, cut down to so many in all.
    pub(crate) fn take_within(self: &Arc<Self>, most: usize) -> TakenSlots {
        self.take(|free, taken| {
            let (shares, turn) = share(most, free, &taken.filled, taken.turn);
            taken.turn = turn;
            shares
        })
    }

    /// Takes what is free of so many of each queue; nothing where jobs are ready for every slot:
    /// there, priority decides who is next.
    pub(crate) fn take_spare(self: &Arc<Self>, needed: &[usize]) -> TakenSlots {
        self.take(|free, taken| {
            let of_queue = free.iter().zip(&taken.backlogged).zip(needed);
            of_queue
                .map(|((free, full), needed)| if *full { 0 } else { *free.min(needed) })
                .collect()
        })
    }

    fn take(self: &Arc<Self>, choose: impl Fn(&[usize], &mut Taken) -> Vec<usize>) -> TakenSlots {
        let mut taken = self.taken.lock();
        let free: Vec<usize> = self.free_of(&taken).collect();
        let chosen = choose(&free, &mut taken);
        taken.by_queue.iter_mut().zip(&chosen).for_each(|(taken, chosen)| *taken += chosen);
        drop(taken);
        TakenSlots { slots: Arc::clone(self), left: chosen }
    }

    /// Records whether a queue had as many ready jobs as it was asked for.
    pub(crate) fn record(&self, queue: usize, filled: bool) {
        let mut taken = self.taken.lock();
        taken.filled[queue] = filled;
        // Those that are free beside the ones asked for would have been asked for in vain.
        taken.backlogged[queue] = filled && taken.by_queue[queue] >= self.queues[queue].slots;
    }

    /// Whether a queue that had as many jobs as it was asked for has free slots.
    pub(crate) fn is_wanting(&self) -> bool {
        let taken = self.taken.lock();
        self.free_of(&taken).zip(&taken.filled).any(|(free, filled)| free > 0 && *filled)
    }

    /// Takes the one place for crash suspects; false when it is taken.
    pub(crate) fn take_suspect(&self) -> bool {
        !std::mem::replace(&mut self.taken.lock().crash_suspect, true)
    }

    /// A handler ended.
    pub(crate) fn give_back(&self, queue: usize, suspect: bool) {
        let mut taken = self.taken.lock();
        taken.by_queue[queue] -= 1;
        if suspect {
            taken.crash_suspect = false;
        }
        self.tell(&taken);
    }

    fn tell(&self, taken: &Taken) {
        let free: usize = self.free_of(taken).sum();
        for (awaited, freed) in taken.awaited.iter().zip(&self.freed) {
            if free >= *awaited {
                freed.notify_one();
            }
        }
    }

    /// Completes when so many slots are free, or after `patience`: waking for each of them would
    /// cost more than the handlers of small jobs.
    pub(crate) async fn until_free(&self, claimer: usize, count: usize, patience: Duration) {
        self.taken.lock().awaited[claimer] = count;
        let enough = async {
            while self.free().iter().sum::<usize>() < count {
                self.freed(claimer).await;
            }
        };
        let _in_time = timeout(patience, enough).await;
        self.taken.lock().awaited[claimer] = 1;
    }

    /// Completes when a slot has become free since the last time.
    pub(crate) async fn freed(&self, claimer: usize) {
        self.freed[claimer].notified().await;
    }

    /// Completes when one of these queues has a free slot; never, where there are none of them: a
    /// claimer that sleeps is not woken by each handler that ends.
    pub(crate) async fn room(&self, claimer: usize, queues: &[usize]) {
        if queues.is_empty() {
            return std::future::pending().await;
        }
        while queues.iter().all(|queue| self.free()[*queue] == 0) {
            self.freed(claimer).await;
        }
    }
}

/// Slots taken for the jobs that a call may bring. Dropping it gives back those that are left.
#[derive(Debug)]
pub(crate) struct TakenSlots {
    slots: Arc<Slots>,
    left: Vec<usize>,
}

impl TakenSlots {
    /// How many are left of each queue.
    pub(crate) fn left(&self) -> &[usize] {
        &self.left
    }

    /// One goes to a handler, which gives it back when it ends.
    pub(crate) fn pass_on(&mut self, queue: usize) {
        match self.left[queue].checked_sub(1) {
            Some(left) => self.left[queue] = left,
            // Somebody has moved the job to this queue by hand since it became ready.
            None => self.slots.taken.lock().by_queue[queue] += 1,
        }
    }
}

impl Drop for TakenSlots {
    fn drop(&mut self) {
        if self.left.iter().all(|left| *left == 0) {
            return;
        }
        let mut taken = self.slots.taken.lock();
        taken.by_queue.iter_mut().zip(&self.left).for_each(|(taken, left)| *taken -= left);
        self.slots.tell(&taken);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;

    fn slots(queues: &[usize]) -> Arc<Slots> {
        let served = |slots: &usize| Served { name: Arc::default(), slots: *slots };
        Arc::new(Slots::new(queues.iter().map(served).collect()))
    }

    #[test]
    fn what_a_call_took_is_free_again_unless_a_handler_has_it() {
        let slots = slots(&[3, 5]);
        let mut taken = slots.take_within(6);
        assert_eq!((taken.left(), slots.free()), (&[3, 3][..], vec![0, 2]));
        taken.pass_on(1);
        drop(taken);
        assert_eq!(slots.free(), [3, 4]);
        slots.give_back(1, false);
        assert_eq!(slots.free(), [3, 5]);
    }

    #[test]
    fn a_job_that_was_moved_to_a_queue_without_room_runs_all_the_same() {
        let slots = slots(&[1, 5]);
        slots.take_spare(&[1, 0]).pass_on(0);
        let mut taken = slots.take_spare(&[0, 5]);
        taken.pass_on(0);
        drop(taken);
        assert_eq!(slots.free(), [0, 5]);
        slots.give_back(0, false);
        assert_eq!(slots.free(), [0, 5], "another of it runs");
        slots.give_back(0, false);
        assert_eq!(slots.free(), [1, 5]);
    }

    #[test]
    fn a_queue_with_a_backlog_has_no_spare_slots() {
        let slots = slots(&[3, 5]);
        slots.record(0, true);
        assert_eq!(slots.take_spare(&[2, 9]).left(), [2, 5], "it could have asked for more");
        let all = slots.take_within(8);
        slots.record(0, true);
        drop(all);
        assert_eq!(slots.take_spare(&[2, 9]).left(), [0, 5]);
        slots.record(0, false);
        assert_eq!(slots.take_spare(&[2, 0]).left(), [2, 0]);
    }

    #[test]
    fn a_queue_that_waits_for_its_turn_wants_more() {
        let slots = slots(&[3, 5]);
        assert!(!slots.is_wanting());
        slots.record(0, true);
        assert!(slots.is_wanting());
        let _taken = slots.take_within(8);
        assert!(!slots.is_wanting(), "none of its slots is free");
    }

    #[test]
    fn a_claimer_that_left_no_queue_out_is_woken_by_no_handler() {
        let slots = slots(&[1]);
        slots.take_within(1).pass_on(0);
        slots.give_back(0, false);
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(pin!(slots.room(0, &[])).poll(&mut context).is_pending());
        assert!(pin!(slots.freed(0)).poll(&mut context).is_ready(), "nobody took the ring");
    }
}
