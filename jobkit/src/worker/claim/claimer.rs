mod aside;
mod follow;
mod pace;
mod prepare;
mod rest;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

pub(crate) use self::pace::Pace;
use self::prepare::{Requested, prepare};
use crate::error::DatabaseError;
use crate::meter;
use crate::store::{Claimed, ClaimedJob, Link};
use crate::worker::counters::Counters;
use crate::worker::due::Due;
use crate::worker::run::dispatch::{Dispatch, Reservation};
use crate::worker::settings::Settings;
use crate::worker::shared::ledger::Ledger;
use crate::worker::shared::slots::Slots;
use crate::worker::shared::wake::Wake;
use crate::worker::ticker::backoff;

/// The most jobs of one claim: its row of ids must fit a page.
pub(crate) const LARGEST_BATCH: usize = 500;
/// An answer this large, in bytes, may have been limited by the server.
const LARGE_ANSWER: usize = 4 * 1024 * 1024;
/// Answers lost in a row after which a job that was claimed alone is the suspect.
const SUSPICION: u32 = 3;

/// Fetches jobs while there is room for them: one statement a round, only what fits.
///
/// It does not run them or wait for them. If it did not run for an hour, jobs would stay ready.
/// There is a second claimer, which sleeps unless the first finds at least half a call more than it
/// can fetch: while one waits for the database, the other starts what came.
pub(crate) struct Claimer {
    pub(crate) link: Link,
    pub(crate) settings: Settings,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) due: Arc<Due>,
    pub(crate) dispatch: Arc<Dispatch>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) kinds: Vec<String>,
    pub(crate) pace: Pace,
    /// Whether it is the second one, which sleeps while the first finds everything.
    pub(crate) second: bool,
}

/// What to do before the next round.
enum Next {
    Again,
    /// Nothing was found: wait for a wake-up, at most this long.
    Nap(Duration),
    /// There may be jobs, but no slot is free.
    Room,
    /// Wait, whatever happens.
    Rest(Duration),
}

impl Claimer {
    /// Runs until `stop`; waits for a call in progress, and never drops it.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut next = if self.second { Next::Nap(Duration::MAX) } else { Next::Again };
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => break,
                () = self.wait(next) => {}
            }
            next = self.round().await;
        }
        self.link.close().await;
    }

    async fn wait(&self, next: Next) {
        match next {
            Next::Again => {}
            Next::Rest(rest) => sleep(rest).await,
            Next::Room => self.slots.freed(self.number()).await,
            Next::Nap(_) if self.second => self.wake.help_wanted().await,
            Next::Nap(rest) => {
                tokio::select! {
                    () = self.wake.rung() => {}
                    () = sleep(rest) => {}
                    () = self.slots.room(self.number(), &self.pace.full) => {}
                }
            }
        }
    }

    /// Which of the claimers it is.
    fn number(&self) -> usize {
        usize::from(self.second)
    }

    async fn round(&mut self) -> Next {
        if !self.dispatch.is_open() {
            return Next::Rest(Duration::from_millis(20));
        }
        let capacity: usize = self.slots.pools().iter().map(|pool| pool.slots).sum();
        if self.pace.waits_for_settles(capacity, self.ledger.unsettled()) {
            return Next::Rest(Duration::from_millis(2));
        }
        let free: usize = self.slots.free().iter().sum();
        if free == 0 {
            return Next::Room;
        }
        // Busy: waiting a moment makes one claim for many slots instead of many for one.
        let (half, ahead) = (capacity.min(LARGEST_BATCH) / 2, self.slots.ahead());
        // The waiting jobs last as long as the claim takes.
        let worthwhile = if ahead == 0 { half } else { half.min(ahead / 2) };
        self.slots.until_free(self.number(), worthwhile, Duration::from_millis(1)).await;
        match self.claim().await {
            Ok(next) => next,
            Err(error) => {
                self.pace.failures += 1;
                let failures = self.pace.failures;
                tracing::warn!(failures, %error, "jobkit: claiming failed");
                Next::Rest(backoff(failures))
            }
        }
    }

    async fn claim(&mut self) -> Result<Next, DatabaseError> {
        // Without a connection no claim is lost, and no job is suspected.
        if let Err(error) = self.link.open_if_closed().await {
            self.pace.lost = 0;
            return Err(error);
        }
        let now = Instant::now();
        self.pace.sleep.looks(now);
        self.follow_if_due(now).await?;
        self.pace.water.know(&self.slots.queues());
        self.lower_marks();
        self.allow_ahead(now);
        let slots = self.slots.take_within(self.pace.batch);
        if slots.left().iter().all(|left| *left == 0) {
            // The other claimer has taken the slots. A claim for no queue would prove nothing.
            return Ok(Next::Room);
        }
        let (left, queues) = (slots.left(), self.slots.queues());
        let requested = Requested::of(&self.slots, &left);
        self.pace.full = (0..left.len()).filter(|pool| left[*pool] == 0).collect();
        if requested.is_empty() {
            // No queue matches the patterns.
            drop(slots);
            return Ok(self.decide(0, false, true, true).await);
        }
        let reservation = self.dispatch.reserve(slots);
        let claim = prepare(&reservation, &self.pace, &requested, &queues, &self.kinds, now);
        let slots: usize = left.iter().sum();
        let answer = meter::claim(self.link.call(&claim)).await;
        let from_start = claim.marks.is_empty();
        match answer {
            Ok(claimed) => {
                (self.pace.failures, self.pace.lost) = (0, 0);
                self.pace.batch = (self.pace.batch * 2).min(LARGEST_BATCH);
                let bytes = claimed.jobs.iter().map(ClaimedJob::bytes).sum();
                self.pace.ahead.answered(now.elapsed(), claimed.jobs.len(), bytes);
                Ok(self.receive(reservation, &requested, from_start, bytes, claimed).await)
            }
            Err(error) => {
                let suspicious = self.pace.failed(&error, &requested, from_start, now);
                self.dispatch.give_up(reservation, slots == 1 && suspicious);
                self.pace.batch = (slots / 2).max(1);
                let error = self.pace.aside.put(&mut self.link, &claim, error).await;
                error.map_or(Ok(Next::Again), Err)
            }
        }
    }

    /// Sets how many jobs of each pool both claimers may claim ahead: none if queues share slots,
    /// since a job that comes later may have its turn first.
    fn allow_ahead(&mut self, now: Instant) {
        if self.second {
            return;
        }
        let slots = self.slots.pools().iter().map(|pool| pool.slots);
        let mut wanted = self.pace.ahead.wanted(self.slots.ended(), slots, now);
        for (wanted, pool) in wanted.iter_mut().zip(self.slots.pools()) {
            *wanted = if pool.is_shared() { 0 } else { *wanted };
        }
        self.slots.allow_ahead(&wanted);
    }

    /// Jobs that got a permit may be below the marks. The second claimer leaves them to the first.
    fn lower_marks(&mut self) {
        if self.second {
            return;
        }
        for unblocked in self.wake.unblocked() {
            // A queue that matched before may have had another place.
            for (at, queue) in self.slots.queues().iter().enumerate() {
                if *queue.name == *unblocked.queue {
                    self.pace.water.lower(at, unblocked.lane, unblocked.job);
                }
            }
        }
    }

    /// Processes the answer, of this many bytes: records it, starts the jobs, decides how to
    /// continue.
    async fn receive(
        &mut self,
        mut reservation: Reservation,
        requested: &Requested,
        from_start: bool,
        bytes: usize,
        mut claimed: Claimed,
    ) -> Next {
        self.pace.aside.take_back(&mut self.link, &claimed.jobs).await;
        let count = claimed.jobs.len();
        let waiting: usize = claimed.waiting.iter().map(|(_, jobs)| jobs).sum();
        let mut filled = claimed.gone > 0;
        self.pace.again_in = claimed.again_in();
        self.wake.hold(claimed.held.is_some());
        if from_start {
            self.pace.water.started(requested.queues(), claimed.scan, Instant::now());
        }
        filled |= self.note(requested, &claimed);
        filled |= claimed.cut;
        self.pause_ahead(requested, &claimed);
        self.pace.brought(&claimed.jobs, waiting);
        // Queues that have not had their turn yet.
        filled |= self.slots.is_wanting();
        self.counters.blocked.add(waiting);
        self.counters.orphans.add(claimed.gone);
        claimed.jobs.iter_mut().for_each(|job| job.queue = requested.queue(job.queue));
        let suspects = self.dispatch.receive(&mut reservation, claimed.jobs, &claimed.ahead);
        self.dispatch.start_suspects(reservation, suspects);
        if bytes > LARGE_ANSWER {
            // The server put the rest back: asking for it repeatedly would be wasteful.
            self.pace.batch = count.max(1);
        }
        // Otherwise something went back to ready, without a notification.
        let whole = waiting + claimed.gone == 0 && bytes <= LARGE_ANSWER;
        self.decide(count + waiting + claimed.gone, filled, whole, from_start).await
    }

    /// Records what an answer has for each queue: where the next scan begins, and who has had a
    /// turn. Returns whether some had as many jobs as they were asked for.
    fn note(&mut self, requested: &Requested, claimed: &Claimed) -> bool {
        let plain = claimed.lowest.is_empty();
        let few = claimed.held.as_ref().map_or(&[][..], |held| &held.few);
        let mut rows = Vec::with_capacity(requested.len());
        for (at, queue) in requested.queues().enumerate() {
            let jobs = claimed.jobs.iter().filter(|job| job.queue == at);
            let denied = claimed.waiting.iter().filter(|(queue, _)| *queue == at);
            rows.push(jobs.clone().count() + denied.map(|(_, jobs)| jobs).sum::<usize>());
            let jobs = jobs.filter(|job| plain || claimed.ahead.contains(&job.id));
            let jobs = jobs.filter(|job| !few.contains(&job.facts.kind));
            let jobs = jobs.map(|job| (job.lane, job.id));
            let lowest = claimed.lowest.iter().filter(|(queue, ..)| *queue == at);
            let jobs = jobs.chain(lowest.map(|(_, lane, id)| (*lane, *id)));
            self.pace.water.picked(queue, jobs);
        }
        let pools = requested.filled(&rows);
        pools.iter().for_each(|(pool, filled)| self.slots.record(*pool, *filled));
        self.slots.took(requested.queues().zip(rows));
        pools.iter().any(|(_, filled)| *filled)
    }

    /// Pauses claiming ahead for queues with jobs that may not wait here.
    fn pause_ahead(&mut self, requested: &Requested, claimed: &Claimed) {
        for (at, pool) in requested.pools().enumerate() {
            if claimed.cut || claimed.jobs.iter().any(|job| job.queue == at && job.keyed) {
                self.pace.ahead.pause(pool, Instant::now());
            }
        }
        if claimed.cut {
            // Jobs that went back may be below the marks.
            self.pace.water.start_over();
        }
    }

    async fn decide(&mut self, picked: usize, filled: bool, whole: bool, from_start: bool) -> Next {
        self.pace.sleep.looked(picked > 0, Instant::now());
        if filled {
            if picked >= LARGEST_BATCH / 2 {
                self.wake.want_help();
            }
            if self.pace.sleep.is_rushing() {
                self.rise().await;
            }
            return Next::Again;
        }
        if self.second {
            if !whole {
                self.wake.ring();
            }
            return Next::Nap(Duration::MAX);
        }
        self.rest(whole, from_start).await
    }
}
