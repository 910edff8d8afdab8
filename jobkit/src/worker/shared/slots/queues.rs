use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Slots;
use super::served::{Named, Order, Served};

/// A queue that only matches a pattern is no longer asked if it has had no ready job for this long.
const KEEP: Duration = Duration::from_secs(60);
/// Another queue may get its place after this long, when nothing refers to its jobs any more.
const REST: Duration = Duration::from_secs(600);
/// The maximum number of queues that a worker asks.
pub(crate) const MOST_QUEUES: usize = 500;

/// A queue that is asked for jobs. Claimers and jobs refer to it by its place.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pub(crate) name: Arc<str>,
    /// The pool in which its jobs run.
    pub(crate) pool: usize,
    /// How many queues have had this place before.
    pub(crate) epoch: u32,
}

/// The queues that a worker asks, and in which order if they share slots.
///
/// The next turn goes to the queue that has had the fewest jobs, divided by its weight (start-time
/// fair queueing). A queue that had no jobs for a while comes first, but accumulates no credit.
#[derive(Debug)]
pub(super) struct Queues {
    pools: Arc<[Served]>,
    all: Arc<Vec<Queue>>,
    states: Vec<State>,
    /// The virtual time of each pool, and if its names are asked in order, of each of its names.
    times: Vec<Vec<f64>>,
}

#[derive(Debug)]
struct State {
    /// The index of the name of its pool that it matches.
    entry: usize,
    /// Its virtual time: the jobs it has had, divided by its weight.
    turn: f64,
    running: usize,
    /// When it last had ready jobs, if it only matches a pattern.
    seen: Option<Instant>,
    /// When it stopped being asked, if it has.
    left: Option<Instant>,
}

impl Queues {
    pub(super) fn new(pools: Arc<[Served]>) -> Self {
        let times = pools.iter().map(|pool| vec![0.0; pool.names.len()]).collect();
        let mut queues = Self { all: Arc::default(), states: Vec::new(), times, pools };
        for (pool, served) in Arc::clone(&queues.pools).iter().enumerate() {
            for (entry, named) in served.names.iter().enumerate() {
                if named.prefix().is_none() {
                    queues.add(Arc::clone(&named.name), (pool, entry), None);
                }
            }
        }
        queues
    }

    pub(super) fn all(&self) -> &Arc<Vec<Queue>> {
        &self.all
    }

    /// The queues to ask for jobs for these slots now, in order.
    pub(super) fn in_turn(&self, pool: usize) -> Vec<usize> {
        let is_asked = |at: &usize| self.all[*at].pool == pool && self.states[*at].left.is_none();
        let mut asked: Vec<usize> = (0..self.all.len()).filter(is_asked).collect();
        fastrand::shuffle(&mut asked);
        asked.sort_by(|a, b| self.rank(*a).cmp(&self.rank(*b)).then(self.stands(*a, *b)));
        asked
    }

    fn stands(&self, a: usize, b: usize) -> std::cmp::Ordering {
        self.turn(a).total_cmp(&self.turn(b))
    }

    /// The index of the order of its pool that a queue belongs to.
    fn rank(&self, at: usize) -> usize {
        match self.pools[self.all[at].pool].order {
            Order::AsNamed => self.states[at].entry,
            Order::ByWeight => 0,
        }
    }

    fn turn(&self, at: usize) -> f64 {
        self.states[at].turn.max(self.times[self.all[at].pool][self.rank(at)])
    }

    /// Records how many jobs of a claim a queue has had.
    pub(super) fn took(&mut self, at: usize, jobs: usize) {
        let (turn, rank, pool) = (self.turn(at), self.rank(at), self.all[at].pool);
        let weight = self.pools[pool].names[self.states[at].entry].weight.max(1);
        self.states[at].turn = turn + jobs as f64 / f64::from(weight);
        self.times[pool][rank] = turn;
    }

    pub(super) fn begins(&mut self, at: usize) {
        self.states[at].running += 1;
    }

    pub(super) fn ends(&mut self, at: usize) {
        self.states[at].running -= 1;
    }

    /// Adds the queues that were found to have ready jobs; `all` if the list is complete. Returns
    /// whether some are new.
    pub(super) fn follow(&mut self, found: &[String], all: bool, now: Instant) -> bool {
        let found: HashSet<&str> = found.iter().map(String::as_str).collect();
        let (mut known, mut asked) = (HashSet::new(), 0);
        for (queue, state) in self.all.iter().zip(&mut self.states) {
            if state.left.is_some() {
                continue;
            }
            known.insert(Arc::clone(&queue.name));
            if found.contains(&*queue.name) {
                state.seen = state.seen.map(|_| now);
            }
            let is_over = |seen| all && now.saturating_duration_since(seen) > KEEP;
            state.left = state.seen.filter(|seen| is_over(*seen)).map(|_| now);
            asked += usize::from(state.left.is_none());
        }
        let mut is_new = false;
        for name in found.into_iter().filter(|name| !known.contains(*name)) {
            let Some(place) = self.place_of(name) else { continue };
            if asked >= MOST_QUEUES && !self.let_one_go(now) {
                break;
            }
            asked += 1;
            self.add(name.into(), place, Some(now));
            is_new = true;
        }
        is_new
    }

    /// The name by which a queue is served: the longest matching prefix.
    fn place_of(&self, name: &str) -> Option<(usize, usize)> {
        let pools = self.pools.iter().enumerate();
        let names = pools.flat_map(|(pool, served)| {
            let matches = move |named: &Named| {
                named.prefix().filter(|prefix| name.starts_with(prefix)).map(str::len)
            };
            let named = served.names.iter().enumerate();
            named.filter_map(move |(entry, named)| Some((matches(named)?, (pool, entry))))
        });
        names.max_by_key(|(length, _)| *length).map(|(_, place)| place)
    }

    /// Removes the queue whose last ready job was seen longest ago, to make room.
    fn let_one_go(&mut self, now: Instant) -> bool {
        let states = self.states.iter_mut().filter(|state| state.left.is_none());
        let idle = states.filter(|state| state.seen.is_some_and(|seen| seen < now));
        let longest = idle.min_by_key(|state| state.seen);
        longest.map(|state| state.left = Some(now)).is_some()
    }

    fn add(&mut self, name: Arc<str>, (pool, entry): (usize, usize), seen: Option<Instant>) {
        let state = State { entry, turn: 0.0, running: 0, seen, left: None };
        let mut queue = Queue { name, pool, epoch: 0 };
        let has_rested = |left: Instant| seen.is_some_and(|now| now >= left + REST);
        let is_vacant = |state: &State| state.running == 0 && state.left.is_some_and(has_rested);
        let all = Arc::make_mut(&mut self.all);
        if let Some(at) = self.states.iter().position(is_vacant) {
            queue.epoch = all[at].epoch + 1;
            (all[at], self.states[at]) = (queue, state);
        } else {
            all.push(queue);
            self.states.push(state);
        }
    }
}

impl Slots {
    /// The queues that are or were asked for jobs, by their places.
    pub(crate) fn queues(&self) -> Arc<Vec<Queue>> {
        Arc::clone(self.taken.lock().queues.all())
    }

    /// The name of a queue.
    pub(crate) fn name(&self, queue: usize) -> Arc<str> {
        Arc::clone(&self.taken.lock().queues.all()[queue].name)
    }

    /// The queues to ask, given the free slots of each pool, each with its slots. Queues of a pool
    /// with an order are asked in that order; otherwise the order is random, since the server's
    /// limit on the size of an answer favours the first.
    pub(crate) fn asked(&self, free: &[usize]) -> Vec<(usize, usize)> {
        let taken = self.taken.lock();
        let free = free.iter().copied().enumerate().filter(|(_, free)| *free > 0);
        let asked = |(pool, free)| (taken.queues.in_turn(pool), free);
        let mut asked: Vec<(Vec<usize>, usize)> = free.map(asked).collect();
        fastrand::shuffle(&mut asked);
        let each =
            |(queues, free): (Vec<usize>, usize)| queues.into_iter().map(move |at| (at, free));
        asked.into_iter().flat_map(each).collect()
    }

    /// Records how many jobs of a claim each of these queues has had.
    pub(crate) fn took(&self, jobs: impl Iterator<Item = (usize, usize)>) {
        let mut taken = self.taken.lock();
        for (queue, jobs) in jobs.filter(|(_, jobs)| *jobs > 0) {
            taken.queues.took(queue, jobs);
        }
    }

    /// The prefixes of the patterns.
    pub(crate) fn prefixes(&self) -> Vec<&str> {
        let names = self.pools.iter().flat_map(|pool| &pool.names);
        names.filter_map(Named::prefix).collect()
    }

    /// See [`Queues::follow`].
    pub(crate) fn follow(&self, found: &[String], all: bool) -> bool {
        self.taken.lock().queues.follow(found, all, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(order: Order, names: &[(&str, u32)]) -> Served {
        let named = |(name, weight): &(&str, u32)| Named::new(*name, *weight);
        Served { names: names.iter().map(named).collect(), order, slots: 10 }
    }

    fn queues(pools: Vec<Served>) -> Queues {
        Queues::new(pools.into())
    }

    fn names(queues: &Queues, pool: usize) -> Vec<String> {
        queues.in_turn(pool).into_iter().map(|at| queues.all[at].name.to_string()).collect()
    }

    /// How many jobs each has had after this many claims of this many slots, of queues that have
    /// jobs without end.
    fn shares(queues: &mut Queues, claims: usize, slots: usize) -> Vec<usize> {
        let mut shares = vec![0; queues.all.len()];
        for _ in 0..claims {
            let first = queues.in_turn(0)[0];
            queues.took(first, slots);
            shares[first] += slots;
        }
        shares
    }

    #[test]
    fn queues_with_weights_share_what_there_is() {
        for slots in [1, 7] {
            let mut queues = queues(vec![pool(Order::ByWeight, &[("a", 5), ("b", 1), ("c", 2)])]);
            assert_eq!(shares(&mut queues, 800, slots), [500, 100, 200].map(|jobs| jobs * slots));
        }
    }

    #[test]
    fn what_was_empty_comes_first_and_has_saved_nothing_up() {
        let mut queues = queues(vec![pool(Order::ByWeight, &[("a", 1), ("b", 1)])]);
        for _ in 0..100 {
            queues.took(0, 10);
        }
        assert_eq!(names(&queues, 0)[0], "b");
        let shares = shares(&mut queues, 20, 10);
        assert!((90..=110).contains(&shares[1]), "{shares:?}");
    }

    #[test]
    fn in_strict_order_the_first_is_asked_first_whatever_it_had() {
        let mut queues = queues(vec![pool(Order::AsNamed, &[("high", 1), ("low", 1)])]);
        queues.took(0, 1000);
        assert_eq!(names(&queues, 0), ["high", "low"]);
    }

    #[test]
    fn a_name_goes_before_a_pattern_and_a_longer_pattern_before_a_shorter_one() {
        let pools =
            ["*", "mail*", "mail-bulk"].map(|name| pool(Order::ByWeight, &[(name, 1)])).to_vec();
        let mut queues = queues(pools);
        let found = ["mail-bulk", "mail-1", "reports", "mail"].map(str::to_owned);
        assert!(queues.follow(&found, true, Instant::now()));
        assert_eq!(names(&queues, 0), ["reports"]);
        let mut mail = names(&queues, 1);
        mail.sort();
        assert_eq!(mail, ["mail", "mail-1"]);
        assert_eq!(names(&queues, 2), ["mail-bulk"]);
        assert!(!queues.follow(&found, true, Instant::now()), "nothing is new");
    }

    #[test]
    fn a_queue_without_jobs_is_left_after_a_while_and_its_place_is_used_again_much_later() {
        let mut queues = queues(vec![pool(Order::ByWeight, &[("*", 1)])]);
        let (now, found) = (Instant::now(), |name: &str| [name.to_owned()]);
        queues.follow(&found("a"), true, now);
        queues.begins(0);
        queues.follow(&[], true, now + KEEP);
        assert_eq!(names(&queues, 0), ["a"]);
        let later = now + KEEP * 2;
        queues.follow(&found("b"), true, later);
        assert_eq!(names(&queues, 0), ["b"]);
        queues.follow(&found("c"), true, later + REST);
        assert_eq!(queues.all.len(), 3, "a job of `a` still runs");
        queues.ends(0);
        queues.follow(&found("d"), true, later + REST);
        assert_eq!((queues.all.len(), &*queues.all[0].name, queues.all[0].epoch), (3, "d", 1));
    }

    #[test]
    fn no_more_queues_are_asked_than_may_be_and_those_with_jobs_go_before_others() {
        let mut queues = queues(vec![pool(Order::ByWeight, &[("*", 1)])]);
        let now = Instant::now();
        let names_of = |word: &str, count| -> Vec<String> {
            (0..count).map(|n| format!("{word}-{n}")).collect()
        };
        queues.follow(&names_of("a", MOST_QUEUES + 1), false, now);
        assert_eq!(queues.in_turn(0).len(), MOST_QUEUES);
        queues.follow(&names_of("b", 2), false, now + Duration::from_secs(1));
        let names = names(&queues, 0);
        assert_eq!(names.len(), MOST_QUEUES);
        assert!(["b-0", "b-1"].iter().all(|new| names.iter().any(|name| name == new)));
    }
}
