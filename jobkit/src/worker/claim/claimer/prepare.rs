use std::time::Instant;

use super::Pace;
use crate::store::Claim;
use crate::worker::run::dispatch::Reservation;
use crate::worker::shared::slots::{Queue, Slots};

/// Which queues a call asks for jobs, in the order in which it asks.
pub(super) struct Requested(Vec<One>);

struct One {
    queue: usize,
    pool: usize,
    /// The free slots of the queue, or of the pool that it shares.
    slots: usize,
    is_shared: bool,
}

impl Requested {
    /// All queues, given the free slots of each pool.
    pub(super) fn of(slots: &Slots, left: &[usize]) -> Self {
        let queues = slots.queues();
        let one = |(queue, free): (usize, usize)| {
            let pool = queues[queue].pool;
            One { queue, pool, slots: free, is_shared: slots.pools()[pool].is_shared() }
        };
        Self(slots.asked(left).into_iter().map(one).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The index of one in the worker's list.
    pub(super) fn queue(&self, at: usize) -> usize {
        self.0[at].queue
    }

    pub(super) fn queues(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|one| one.queue)
    }

    pub(super) fn pools(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|one| one.pool)
    }

    /// The pools that were asked, and whether their queues had as many jobs as there was room,
    /// given how many each returned.
    pub(super) fn filled(&self, rows: &[usize]) -> Vec<(usize, bool)> {
        let mut found: Vec<(usize, usize, usize)> = Vec::new();
        for (one, rows) in self.0.iter().zip(rows) {
            match found.last_mut() {
                Some((pool, sum, _)) if *pool == one.pool => *sum += rows,
                _ => found.push((one.pool, *rows, one.slots)),
            }
        }
        found.into_iter().map(|(pool, rows, slots)| (pool, rows >= slots)).collect()
    }

    /// The pool of each queue that shares slots, numbered from 1, and the slots of each pool.
    fn shared(&self) -> (Vec<Option<i32>>, Vec<i32>) {
        let (mut pools, mut rooms, mut last) = (Vec::new(), Vec::new(), None);
        for one in &self.0 {
            if one.is_shared && last != Some(one.pool) {
                rooms.push(count(one.slots));
            }
            last = Some(one.pool);
            pools.push(one.is_shared.then(|| count(rooms.len())));
        }
        if rooms.is_empty() { Default::default() } else { (pools, rooms) }
    }
}

/// The call for what fits now.
pub(super) fn prepare<'a>(
    reservation: &Reservation,
    pace: &Pace,
    requested: &Requested,
    queues: &'a [Queue],
    kinds: &'a [String],
    now: Instant,
) -> Claim<'a> {
    let ahead = reservation.slots.ahead();
    let from_start = pace.water.at_start(requested.queues(), now);
    let waters = || requested.queues().map(|queue| pace.water.marks(queue)).filter(|_| !from_start);
    Claim {
        id: reservation.claim,
        kinds,
        queues: requested.queues().map(|queue| &*queues[queue].name).collect(),
        slots: requested.0.iter().map(|one| count(one.slots)).collect(),
        marks: waters().flat_map(|(marks, ..)| *marks).collect(),
        between: waters().map(|(_, first, last)| (count(first), count(last))).unzip(),
        ahead: match ahead.iter().all(|ahead| *ahead == 0) {
            true => Vec::new(),
            false => requested.pools().map(|pool| count(ahead[pool])).collect(),
        },
        pools: requested.shared(),
    }
}

fn count(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}
