use std::collections::{HashMap, HashSet};
use std::mem::replace;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::company::{Company, LARGEST_CHOICE, take_next};
use super::stand_in::stand_in;
use super::told;
use crate::error::DatabaseError;
use crate::hooks::{Event, Hooks};
use crate::meter;
use crate::reports::Reports;
use crate::store::{Ending, Link, Next, Settle, Settlement, unstick};
use crate::worker::counters::Counters;
use crate::worker::due::Due;
use crate::worker::halves::{self, Stuck};
use crate::worker::run::dispatch::{Dispatch, Reservation};
use crate::worker::shared::ledger::Ledger;
use crate::worker::shared::measures::Measures;
use crate::worker::shared::slots::{Queue, Slots};
use crate::worker::shared::wake::Wake;
use crate::worker::ticker::backoff;

/// Failures in a row after which one row of a batch is assumed to be the cause.
const PATIENCE: u32 = 3;
/// How long after the end of a member its batch is looked at, together with other ends.
const BATCHES: Duration = Duration::from_millis(20);
/// How long to put off an outcome if its job could not even be recorded as stuck.
const STUCK: Duration = Duration::from_secs(10);

/// Writes outcomes, as many at a time as arrived since the last write: batches grow with the load,
/// outcomes that trickle in wait for [`Company`], and a lone job does not wait.
///
/// It never drops an outcome while the process lives: without a database it waits. If it did not
/// run for an hour, jobs would stay claimed under a live lease, and the claimer would stop.
pub(crate) struct Settler {
    pub(crate) link: Link,
    pub(crate) outcomes: UnboundedReceiver<Settlement>,
    /// Outcomes to try again, and when.
    pub(crate) put_off: Vec<(Instant, Settlement)>,
    pub(crate) company: Company,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) dispatch: Arc<Dispatch>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) due: Arc<Due>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) measures: Arc<Measures>,
    pub(crate) hooks: Option<Arc<Hooks<Event>>>,
    pub(crate) reports: Arc<Reports>,
    #[cfg(feature = "testing")]
    pub(crate) faults: crate::worker::faults::Faults,
}

/// What to do with outcomes whose write failed.
enum Remedy {
    /// The database is at fault: wait and repeat.
    Repeat,
    /// One of them may be the cause: try halves.
    Split,
    /// This one is the cause: record that, as a failed attempt.
    StandIn,
    /// It needs a lock that somebody holds, or a partition that the pruner has to create: let the
    /// others go first, and try again after this long.
    Later(Duration),
    /// This one is the cause through no fault of its job, or not even the failure can be recorded.
    Stuck,
}

impl Settler {
    /// Runs until `drain`, then writes what is left, unless `give_up` comes first.
    pub(crate) async fn run(mut self, drain: CancellationToken, give_up: CancellationToken) {
        let (mut batch, mut left) = (Vec::with_capacity(LARGEST_CHOICE), 0);
        loop {
            let next = self.put_off.iter().map(|(at, _)| *at).min();
            tokio::select! {
                biased;
                received = self.outcomes.recv_many(&mut batch, LARGEST_CHOICE), if left == 0 => {
                    if received == 0 {
                        break;
                    }
                }
                () = std::future::ready(()), if left > 0 => {}
                () = drain.cancelled(), if !self.outcomes.is_closed() => {
                    self.outcomes.close();
                    continue;
                }
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
            let held = self.wake.is_held();
            self.company.join(&mut self.outcomes, &mut batch, &self.ledger, held, &drain).await;
            let due = |(at, _): &mut (Instant, Settlement)| *at <= Instant::now();
            batch.extend(self.put_off.extract_if(.., due).map(|(_, settlement)| settlement));
            let next = take_next(&mut batch, &mut left, |n| self.ledger.held(n));
            if !self.flush_until(&give_up, next).await {
                break;
            }
        }
        // Outcomes that were put off are tried while there is time.
        let mut tries = 0;
        while !self.put_off.is_empty() {
            let last = self.put_off.drain(..).map(|(_, settlement)| settlement).collect();
            if !self.flush_until(&give_up, last).await {
                break;
            }
            tries += 1;
            if !self.put_off.is_empty() {
                give_up.run_until_cancelled(sleep(backoff(tries))).await;
            }
        }
        self.link.close().await;
    }

    /// Writes a batch. Returns whether there was time for it.
    async fn flush_until(&mut self, give_up: &CancellationToken, batch: Vec<Settlement>) -> bool {
        let jobs = batch.len();
        // Pinned in place: moving it would copy 10 KB, twice for each write.
        let flush = pin!(self.flush(batch));
        let settled = give_up.run_until_cancelled(flush).await;
        if settled.is_none() {
            tracing::warn!(jobs, "jobkit: stopped without recording outcomes");
        }
        settled.is_some()
    }

    /// Writes a batch, one worker id at a time (there are two only after a new registration).
    async fn flush(&mut self, mut batch: Vec<Settlement>) {
        let over: Vec<_> = batch.extract_if(.., |settlement| settlement.is_over()).collect();
        self.record(&over, &[]);
        batch.sort_by_key(|settlement| (settlement.claim.worker, settlement.job));
        let mut work: Vec<Vec<Settlement>> = Vec::new();
        while let Some(worker) = batch.first().map(|settlement| settlement.claim.worker) {
            let end = batch.partition_point(|settlement| settlement.claim.worker == worker);
            let others = batch.split_off(end);
            work.push(replace(&mut batch, others));
        }
        let (mut failures, mut stuck) = (0, Stuck::new());
        while let Some(mut group) = work.pop() {
            let Err(error) = self.settle(&group).await else {
                // Once one of them is known to be the cause, the others need not wait for it.
                failures = if failures >= PATIENCE { failures } else { 0 };
                continue;
            };
            failures += 1;
            let jobs = group.len();
            tracing::warn!(failures, jobs, %error, "jobkit: settling failed");
            match remedy(&error, &group, failures) {
                Remedy::Repeat => {
                    work.push(group);
                    sleep(backoff(failures)).await;
                }
                Remedy::Split => {
                    work.push(group.split_off(jobs / 2));
                    work.push(group);
                }
                Remedy::StandIn => {
                    work.push(group.into_iter().map(|s| stand_in(s, &error)).collect());
                }
                Remedy::Later(rest) => self.put_off(group, rest),
                Remedy::Stuck => {
                    stuck.extend(group.iter().map(|s| s.job).zip([error]));
                    group.iter_mut().for_each(|settlement| settlement.stuck = true);
                    self.put_off(group, STUCK);
                }
            }
        }
        self.report(stuck).await;
    }

    /// Records stuck outcomes, and puts them off, for longer each time.
    async fn report(&mut self, stuck: Stuck) {
        let worker = self.ledger.worker();
        for (job, wait) in halves::report(&mut self.link, "settle", worker, &stuck).await {
            let put_off = self.put_off.iter_mut().filter(|(_, s)| s.job == job);
            put_off.for_each(|(at, _)| *at = Instant::now() + wait);
        }
    }

    /// Writes outcomes of one worker id, and starts the jobs that get the freed permits.
    async fn settle(&mut self, group: &[Settlement]) -> Result<(), DatabaseError> {
        let worker = group[0].claim.worker;
        let reservation = self.reservation(worker, group);
        let queues = self.slots.queues();
        let next = reservation.as_ref().map(|reservation| next(&queues, reservation));
        let settle = Settle { worker, settlements: group, next };
        let answer = meter::settle(self.link.call(&settle));
        #[cfg(feature = "testing")]
        let answer = self.faults.of(answer);
        let settled = match answer.await {
            Ok(settled) => settled,
            Err(error) => {
                reservation
                    .into_iter()
                    .for_each(|reservation| self.dispatch.give_up(reservation, false));
                return Err(error);
            }
        };
        self.record(group, &settled.endings);
        group.iter().filter_map(|s| s.outcome.delay()).for_each(|delay| self.due.after(delay));
        self.unstick(group).await;
        if let Some(mut reservation) = reservation {
            self.counters.handed_over.add(settled.claimed.len());
            let suspects =
                self.dispatch.receive(&mut reservation, settled.claimed, &HashSet::new());
            debug_assert!(suspects.is_empty(), "they are left to the claimer");
            self.dispatch.done(reservation);
        }
        if !settled.unblocked.is_empty() || group.iter().any(|s| s.outcome.is_given_back()) {
            self.wake.ring_for(settled.unblocked);
        } else {
            self.wake.ring_if_held();
        }
        Ok(())
    }

    /// Records that outcomes are no longer stuck.
    async fn unstick(&mut self, group: &[Settlement]) {
        let jobs: Vec<_> = group.iter().filter(|s| s.stuck).map(|s| s.job).collect();
        if !jobs.is_empty()
            && let Err(error) = self.link.call(&unstick(&jobs)).await
        {
            tracing::debug!(%error, "jobkit: could not record that jobs are no longer stuck");
        }
    }

    /// Slots for the next jobs of the freed permits, which run in the same slots immediately.
    fn reservation(&self, worker: i64, group: &[Settlement]) -> Option<Reservation> {
        let (queues, mut needed) = (self.slots.queues(), vec![0; self.slots.pools().len()]);
        group.iter().filter_map(|s| s.keyed_in).for_each(|at| needed[queues[at].pool] += 1);
        if needed.iter().all(|needed| *needed == 0) || !self.dispatch.is_open() {
            return None;
        }
        let slots = self.slots.take_spare(&needed);
        if slots.left().iter().all(|left| *left == 0) {
            return None;
        }
        let reservation = self.dispatch.reserve(slots);
        if reservation.claim.worker == worker {
            Some(reservation)
        } else {
            self.dispatch.give_up(reservation, false);
            None
        }
    }

    /// Puts outcomes off for a while; their jobs stay claimed until then.
    fn put_off(&mut self, group: Vec<Settlement>, rest: Duration) {
        let at = Instant::now() + rest;
        group.iter().for_each(|s| self.ledger.put_off(s.claim, s.job));
        self.put_off.extend(group.into_iter().map(|settlement| (at, settlement)));
    }

    /// Records written outcomes in the ledger, the measures and the counters.
    fn record(&self, group: &[Settlement], endings: &[(i64, Ending)]) {
        let endings: HashMap<i64, Ending> = endings.iter().copied().collect();
        if group.iter().any(|settlement| settlement.in_batch) {
            self.due.after(BATCHES);
        }
        for settlement in group {
            self.ledger.settled(settlement.claim, settlement.job);
            let ending = settlement.ending(endings.get(&settlement.job).copied());
            self.measures.add(settlement, ending);
            told::log(settlement, ending, &self.slots);
            self.reports.settled(settlement, ending);
            self.counters.of(settlement.outcome.became(ending)).add(1);
            told::tell(settlement, ending, &self.slots, self.hooks.as_deref());
        }
    }
}

/// A claim of the jobs that the settle unblocks, with this reservation's number.
fn next<'a>(queues: &'a [Queue], reservation: &Reservation) -> Next<'a> {
    let left = reservation.slots.left();
    let room = |queue: &Queue| i32::try_from(left[queue.pool]).unwrap_or(i32::MAX);
    Next {
        n: reservation.claim.n,
        queues: queues.iter().map(|queue| &*queue.name).collect(),
        room: queues.iter().map(room).collect(),
    }
}

/// What to do after this many failures in a row.
fn remedy(error: &DatabaseError, group: &[Settlement], failures: u32) -> Remedy {
    let code = error.code();
    // Cancelled since it was slow, or waited for the lock of a semaphore.
    let held_up = matches!(error, DatabaseError::Deadline(_))
        || matches!(code.as_deref(), Some("57014" | "55P03"));
    let refused = error.is_final();
    let may_be_one = refused || error.may_be_one_row() && failures >= PATIENCE;
    match group.len() {
        2.. if may_be_one || held_up => Remedy::Split,
        1 if error.lacks_a_day() => Remedy::Later(Duration::from_secs(2)),
        1 if refused && !group[0].stand_in && !group[0].outcome.is_given_back() => Remedy::StandIn,
        1 if held_up => Remedy::Later(Duration::from_secs(2)),
        1 if may_be_one => Remedy::Stuck,
        _ => Remedy::Repeat,
    }
}
