mod places;
mod queues;
mod served;
mod share;
mod taken;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::time::{sleep_until, timeout};

use self::places::Places;
use self::queues::Queues;
use self::share::share;
use self::taken::Left;
use crate::lock::Lock;

pub(crate) use self::places::Waiting;
pub(crate) use self::queues::{MOST_QUEUES, Queue};
pub(crate) use self::served::{Named, Order, Served, listed};
pub(crate) use self::taken::TakenSlots;

/// How many claimers there may be.
const CLAIMERS: usize = 2;

/// How many slots of each *pool* (the slots of one queue, or those that several share) are taken by
/// running handlers, and by calls in progress that may bring jobs. Beyond them there are places for
/// jobs claimed ahead, which wait here for a slot.
#[derive(Debug)]
pub(crate) struct Slots {
    pools: Arc<[Served]>,
    taken: Lock<Taken>,
    /// Rings for each claimer when a place becomes free.
    freed: [Notify; CLAIMERS],
    /// Rings when the first job waits.
    waits: Notify,
    /// Rings when waiting jobs must be given back.
    recall: Notify,
}

#[derive(Debug)]
struct Taken {
    queues: Queues,
    by_pool: Vec<Places>,
    /// Pools whose queues had as many ready jobs as they were asked for.
    filled: Vec<bool>,
    /// The first of those to have its turn.
    turn: usize,
    /// Pools that had more ready jobs than free slots at the last look.
    backlogged: Vec<bool>,
    /// Whether a job whose last two attempts crashed is running; only one may.
    crash_suspect: bool,
    /// How many free places each claimer waits for.
    awaited: [usize; CLAIMERS],
    /// Set when the worker is stopping: nothing waits any more.
    closed: bool,
}

impl Slots {
    pub(crate) fn new(pools: Vec<Served>) -> Self {
        let pools: Arc<[Served]> = pools.into();
        let places = |pool: &Served| Places { slots: pool.slots, ..Places::default() };
        let taken = Lock::new(Taken {
            queues: Queues::new(Arc::clone(&pools)),
            by_pool: pools.iter().map(places).collect(),
            filled: vec![false; pools.len()],
            turn: 0,
            backlogged: vec![false; pools.len()],
            crash_suspect: false,
            awaited: [1; CLAIMERS],
            closed: false,
        });
        Self {
            pools,
            taken,
            freed: Default::default(),
            waits: Notify::default(),
            recall: Notify::default(),
        }
    }

    pub(crate) fn pools(&self) -> &[Served] {
        &self.pools
    }

    /// Free places of each pool.
    pub(crate) fn free(&self) -> Vec<usize> {
        self.taken.lock().free().collect()
    }

    /// Takes the free places of each pool, at most this many in total. If there are that many free
    /// slots, nothing is claimed ahead: the size of the call is the bottleneck.
    pub(crate) fn take_within(self: &Arc<Self>, most: usize) -> TakenSlots {
        self.take(|taken| {
            let slots = |places: &Places| places.free_slots().min(places.free());
            let slots: Vec<usize> = taken.by_pool.iter().map(slots).collect();
            let enough = slots.iter().sum::<usize>() >= most;
            let places = if enough { slots } else { taken.free().collect() };
            let (shares, turn) = share(most, &places, &taken.filled, taken.turn);
            taken.turn = turn;
            shares
        })
    }

    /// Takes up to this many free slots of each pool; none if jobs are ready for every slot or wait
    /// for one, since then priority decides what is next, or if queues share the slots, since then
    /// their order decides.
    pub(crate) fn take_spare(self: &Arc<Self>, needed: &[usize]) -> TakenSlots {
        self.take(|taken| {
            let of_pool = taken.by_pool.iter().zip(&taken.backlogged).zip(needed).zip(&*self.pools);
            of_pool
                .map(|(((places, full), needed), pool)| {
                    match *full || !places.waiting.is_empty() || pool.is_shared() {
                        true => 0,
                        false => places.free_slots().min(places.free()).min(*needed),
                    }
                })
                .collect()
        })
    }

    fn take(self: &Arc<Self>, choose: impl Fn(&mut Taken) -> Vec<usize>) -> TakenSlots {
        let mut taken = self.taken.lock();
        let chosen = choose(&mut taken);
        let of_pool = taken.by_pool.iter_mut().zip(chosen);
        let left = of_pool.map(|(places, chosen)| {
            let slots = chosen.min(places.free_slots());
            let ahead = chosen - slots;
            places.begun += slots;
            places.called += ahead;
            Left { slots, ahead }
        });
        let left = left.collect();
        drop(taken);
        TakenSlots { slots: Arc::clone(self), left }
    }

    /// Records whether the queues of a pool had as many ready jobs as they were asked for.
    pub(crate) fn record(&self, pool: usize, filled: bool) {
        let mut taken = self.taken.lock();
        taken.filled[pool] = filled;
        // Free slots beyond those asked for would have been asked for in vain.
        taken.backlogged[pool] = filled && taken.by_pool[pool].free_slots() == 0;
    }

    /// Whether a pool that had as many jobs as it was asked for has free places.
    pub(crate) fn is_wanting(&self) -> bool {
        let taken = self.taken.lock();
        taken.free().zip(&taken.filled).any(|(free, filled)| free > 0 && *filled)
    }

    /// How many handlers of each pool have ended.
    pub(crate) fn ended(&self) -> Vec<u64> {
        self.taken.lock().by_pool.iter().map(|places| places.ended).collect()
    }

    /// Sets how many jobs of each pool may be claimed ahead.
    pub(crate) fn allow_ahead(&self, ahead: &[usize]) {
        let mut taken = self.taken.lock();
        taken.by_pool.iter_mut().zip(ahead).for_each(|(places, ahead)| places.ahead = *ahead);
    }

    /// How many jobs may be claimed ahead.
    pub(crate) fn ahead(&self) -> usize {
        self.taken.lock().by_pool.iter().map(|places| places.ahead).sum()
    }

    /// Lets a job claimed ahead wait for a slot; returns it if the worker is stopping.
    pub(crate) fn wait(&self, waiting: Waiting) -> Option<Waiting> {
        let mut taken = self.taken.lock();
        if taken.closed {
            return Some(waiting);
        }
        if taken.by_pool.iter().all(|places| places.waiting.is_empty()) {
            self.waits.notify_one();
        }
        let place = (waiting.job.lane, waiting.job.id);
        let pool = taken.pool(waiting.job.queue);
        taken.by_pool[pool].waiting.insert(place, waiting);
        None
    }

    /// The next waiting job for which there is a slot, which it takes.
    pub(crate) fn next(&self) -> Option<Waiting> {
        let mut taken = self.taken.lock();
        let next = taken.by_pool.iter_mut().find_map(Places::next);
        taken.begins(next)
    }

    /// Removes waiting jobs: those that have waited since then or longer, or all.
    pub(crate) fn withdraw(&self, since: Option<Instant>) -> Vec<Waiting> {
        let mut taken = self.taken.lock();
        let overdue = |waiting: &Waiting| since.is_none_or(|since| waiting.since <= since);
        let withdrawn = taken.by_pool.iter_mut().flat_map(|places| {
            let withdrawn = places.waiting.extract_if(.., |_, waiting| overdue(waiting));
            let withdrawn: Vec<_> = withdrawn.map(|(_, waiting)| waiting).collect();
            if !withdrawn.is_empty() {
                // Its jobs take longer than before.
                places.ahead = 0;
            }
            withdrawn
        });
        let withdrawn = withdrawn.collect();
        self.tell(&taken);
        withdrawn
    }

    /// Somebody has paused a queue, or cancelled a waiting job.
    pub(crate) fn recall(&self) {
        self.recall.notify_one();
    }

    pub(crate) async fn recalled(&self) {
        self.recall.notified().await;
    }

    /// From now on, no job may wait.
    pub(crate) fn close(&self) {
        self.taken.lock().closed = true;
    }

    /// Completes when a job has waited since then or longer.
    pub(crate) async fn overdue(&self, patience: Duration) {
        loop {
            let longest = {
                let taken = self.taken.lock();
                let waiting = taken.by_pool.iter().flat_map(|places| places.waiting.values());
                waiting.map(|waiting| waiting.since).min()
            };
            match longest {
                Some(since) if since.elapsed() >= patience => return,
                Some(since) => sleep_until((since + patience).into()).await,
                None => self.waits.notified().await,
            }
        }
    }

    /// Takes the one place for crash suspects; false when it is taken.
    pub(crate) fn take_suspect(&self) -> bool {
        !std::mem::replace(&mut self.taken.lock().crash_suspect, true)
    }

    /// A handler has ended. Returns the waiting job that gets its slot.
    pub(crate) fn give_back(&self, queue: usize, suspect: bool) -> Option<Waiting> {
        let mut taken = self.taken.lock();
        if suspect {
            taken.crash_suspect = false;
        }
        taken.queues.ends(queue);
        let pool = taken.pool(queue);
        let places = &mut taken.by_pool[pool];
        places.begun -= 1;
        places.ended += 1;
        let next = places.next();
        self.tell(&taken);
        taken.begins(next)
    }

    fn tell(&self, taken: &Taken) {
        let free: usize = taken.free().sum();
        for (awaited, freed) in taken.awaited.iter().zip(&self.freed) {
            if free >= *awaited {
                freed.notify_one();
            }
        }
    }

    /// Completes when this many places are free, or after `patience`: waking for each of them would
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

    /// Completes when a place has become free since the last time.
    pub(crate) async fn freed(&self, claimer: usize) {
        self.freed[claimer].notified().await;
    }

    /// Completes when one of these pools has a free place, and never without pools: a sleeping
    /// claimer is not woken by each handler that ends.
    pub(crate) async fn room(&self, claimer: usize, pools: &[usize]) {
        if pools.is_empty() {
            return std::future::pending().await;
        }
        while pools.iter().all(|pool| self.free()[*pool] == 0) {
            self.freed(claimer).await;
        }
    }
}

impl Taken {
    /// The pool in which the jobs of a queue run.
    fn pool(&self, queue: usize) -> usize {
        self.queues.all()[queue].pool
    }

    /// Records the queue of a waiting job that begins.
    fn begins(&mut self, next: Option<Waiting>) -> Option<Waiting> {
        next.inspect(|waiting| self.queues.begins(waiting.job.queue))
    }

    fn free(&self) -> impl Iterator<Item = usize> {
        self.by_pool.iter().map(Places::free)
    }
}

#[cfg(test)]
mod tests;
