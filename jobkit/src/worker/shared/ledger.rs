use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::lock::Lock;
use crate::store::ClaimId;

/// What this worker believes it holds: its id, its unsettled claims, and up to which number its
/// claim calls are concluded.
///
/// The heartbeat reads all of it as one value: a claim numbered up to `concluded` that is not held
/// had its answer lost, and is given back.
#[derive(Debug)]
pub(crate) struct Ledger(Lock<State>);

#[derive(Debug)]
struct State {
    worker: i64,
    /// Number of the newest claim call.
    begun: i64,
    /// Calls that were neither answered nor given up yet.
    under_way: BTreeSet<i64>,
    /// Jobs of each claim whose settle has not been answered.
    held: BTreeMap<i64, HashSet<i64>>,
    /// Jobs that were claimed ahead and have not begun: claim and job.
    waiting: BTreeSet<(i64, i64)>,
    /// Calls that were given up, until a heartbeat has handled them: jobs that they may have
    /// claimed ahead have not begun.
    given_up: BTreeSet<i64>,
    /// Jobs whose settle will be tried again later.
    put_off: BTreeSet<i64>,
    /// Given-up calls that asked for one job.
    suspect: Vec<i64>,
    /// Jobs that have or are about to get their own claim: the numbers of their original claim and
    /// of their own.
    parted: BTreeMap<i64, (i64, i64)>,
}

/// A copy of the ledger, for one heartbeat.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) worker: i64,
    /// Every call up to this number was answered or given up.
    pub(crate) concluded: i64,
    /// All jobs of claims up to this number have begun.
    pub(crate) begun: i64,
    pub(crate) held: Vec<i64>,
    pub(crate) suspect: Vec<i64>,
}

impl Ledger {
    pub(crate) fn new(worker: i64) -> Self {
        Self(Lock::new(State::new(worker)))
    }

    /// Starts again with a new id: nothing of the old one is held any more.
    pub(crate) fn begin_anew(&self, worker: i64) {
        *self.0.lock() = State::new(worker);
    }

    pub(crate) fn worker(&self) -> i64 {
        self.0.lock().worker
    }

    /// Numbers a call that may claim: for jobs that begin immediately, and for jobs claimed ahead.
    pub(crate) fn begin(&self) -> (ClaimId, ClaimId) {
        let mut state = self.0.lock();
        state.begun += 2;
        let (worker, n) = (state.worker, state.begun - 1);
        state.under_way.extend([n, n + 1]);
        (ClaimId { worker, n }, ClaimId { worker, n: n + 1 })
    }

    /// Records the answer to a claim call; false if the worker was reaped meanwhile, so that the
    /// jobs are not ours.
    pub(crate) fn hold(&self, claim: ClaimId, jobs: HashSet<i64>) -> bool {
        self.0.lock().hold(claim, jobs)
    }

    /// Records the jobs of the answer that were claimed ahead and have yet to begin.
    pub(crate) fn hold_ahead(&self, claim: ClaimId, jobs: HashSet<i64>) {
        let waiting: Vec<_> = jobs.iter().map(|job| (claim.n, *job)).collect();
        let mut state = self.0.lock();
        if state.hold(claim, jobs) {
            state.waiting.extend(waiting);
        }
    }

    /// Records that a job begins, which may have been claimed ahead.
    pub(crate) fn began(&self, ClaimId { worker, n }: ClaimId, job: i64) {
        let mut state = self.0.lock();
        if state.worker == worker {
            state.waiting.remove(&(n, job));
        }
    }

    /// Records that a claim call failed or was not answered, but may have committed.
    pub(crate) fn give_up(&self, ClaimId { worker, n }: ClaimId, alone: bool) {
        let mut state = self.0.lock();
        if state.worker == worker {
            state.under_way.remove(&n);
            state.given_up.insert(n);
            if alone {
                state.suspect.push(n);
            }
        }
    }

    /// Records that the settle of a job was answered.
    pub(crate) fn settled(&self, ClaimId { worker, n }: ClaimId, job: i64) {
        let mut state = self.0.lock();
        if state.worker != worker {
            return;
        }
        state.put_off.remove(&job);
        state.waiting.remove(&(n, job));
        state.leave(n, job);
        if let Some((before, own)) = state.parted.remove(&job) {
            state.leave(before, job);
            state.leave(own, job);
        }
    }

    /// Forgets jobs that have ended without an outcome to write: they go back like claims whose
    /// answer was lost.
    pub(crate) fn forget(&self, jobs: &[i64]) {
        let mut state = self.0.lock();
        state.held.values_mut().for_each(|held| held.retain(|job| !jobs.contains(job)));
        state.held.retain(|_, held| !held.is_empty());
    }

    /// Numbers a claim of its own for a running job, if its claim has other jobs. The claim is held
    /// from here on, whether or not the call is answered; repeated calls get the same number.
    pub(crate) fn part(&self, ClaimId { worker, n }: ClaimId, job: i64) -> Option<i64> {
        let mut state = self.0.lock();
        if state.worker != worker {
            return None;
        }
        if let Some((_, own)) = state.parted.get(&job) {
            return (*own != n).then_some(*own);
        }
        if state.held.get(&n).is_none_or(|jobs| jobs.len() == 1) {
            return None;
        }
        state.begun += 1;
        let own = state.begun;
        state.held.insert(own, HashSet::from([job]));
        state.parted.insert(job, (n, own));
        Some(own)
    }

    /// Records that a job is now in its own claim and no longer in the other.
    pub(crate) fn parted(&self, ClaimId { worker, n }: ClaimId, job: i64) {
        let mut state = self.0.lock();
        if state.worker == worker {
            state.leave(n, job);
        }
    }

    /// The claims of a running job: where it was claimed, and perhaps its own.
    pub(crate) fn claims(&self, ClaimId { n, .. }: ClaimId, job: i64) -> Vec<i64> {
        self.0.lock().parted.get(&job).map_or(vec![n], |(before, own)| vec![*before, *own])
    }

    /// Records that the settle of a job will be tried again later.
    pub(crate) fn put_off(&self, ClaimId { worker, .. }: ClaimId, job: i64) {
        let mut state = self.0.lock();
        if state.worker == worker {
            state.put_off.insert(job);
        }
    }

    /// Whether a job is claimed and its settle not answered yet.
    pub(crate) fn holds(&self, ClaimId { worker, n }: ClaimId, job: i64) -> bool {
        let state = self.0.lock();
        state.worker == worker
            && (state.held.get(&n).is_some_and(|jobs| jobs.contains(&job))
                || state.parted.get(&job).is_some_and(|(before, _)| *before == n))
    }

    /// How many jobs of a claim, by its number, are not settled yet.
    pub(crate) fn held(&self, n: i64) -> usize {
        self.0.lock().held.get(&n).map_or(0, HashSet::len)
    }

    /// How many jobs are claimed and not settled, except those that wait for a slot: jobs that run
    /// or will be settled next, and jobs whose settle was put off.
    pub(crate) fn unsettled(&self) -> (usize, usize) {
        let state = self.0.lock();
        let held: usize = state.held.values().map(HashSet::len).sum();
        let put_off = state.put_off.len();
        (held.saturating_sub(put_off + state.waiting.len()), put_off)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let state = self.0.lock();
        let concluded = state.under_way.first().map_or(state.begun, |n| n - 1);
        let waiting = state.waiting.first().map(|(n, _)| *n);
        let unbegun = [waiting, state.given_up.first().copied()].into_iter().flatten().min();
        Snapshot {
            worker: state.worker,
            concluded,
            begun: unbegun.map_or(concluded, |n| concluded.min(n - 1)),
            held: state.held.keys().copied().collect(),
            suspect: state.suspect.clone(),
        }
    }

    /// Forgets suspects once a heartbeat has handled them.
    pub(crate) fn cleared(&self, snapshot: &Snapshot) {
        let mut state = self.0.lock();
        if state.worker == snapshot.worker {
            state.suspect.retain(|n| *n > snapshot.concluded);
            state.given_up.retain(|n| *n > snapshot.concluded);
        }
    }
}

impl State {
    fn hold(&mut self, ClaimId { worker, n }: ClaimId, jobs: HashSet<i64>) -> bool {
        if self.worker != worker {
            return false;
        }
        if !jobs.is_empty() {
            self.held.insert(n, jobs);
        }
        self.under_way.remove(&n);
        true
    }

    fn new(worker: i64) -> Self {
        Self {
            worker,
            begun: 0,
            under_way: BTreeSet::new(),
            held: BTreeMap::new(),
            waiting: BTreeSet::new(),
            given_up: BTreeSet::new(),
            put_off: BTreeSet::new(),
            suspect: Vec::new(),
            parted: BTreeMap::new(),
        }
    }

    /// Removes a job from a claim, which is held as long as it has others.
    fn leave(&mut self, n: i64, job: i64) {
        if let Some(jobs) = self.held.get_mut(&n) {
            jobs.remove(&job);
            if jobs.is_empty() {
                self.held.remove(&n);
            }
        }
    }
}

#[cfg(test)]
mod tests;
