use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::report::{Report, Run};
use super::session::Session;
use super::time::advance;
use crate::error::{DatabaseError, StartError, StartProblems};
use crate::registry::Registry;
use crate::schedule::{self, Times};
use crate::store::{
    Call, Decided, DueSchedule, Prepared, SaidLimit, announce, announce_limits,
    announce_subscriptions, clock, declare_schedules, due_schedules, fire, interval,
    look_at_batches, prepare_days, prepared, promote, queues_ready, transaction_age,
};
use crate::worker::Served;
use crate::worker::trial::{Crew, News, Trial};

/// How many jobs one call promotes, and how many schedules it fires.
const BATCH: i32 = 1000;

/// How often in a row time may pass, or something become due, without a job running.
const FRUITLESS: u32 = 50;

/// A drain in progress.
pub(super) struct Draining<S> {
    pub(super) session: S,
    pub(super) crew: Crew,
    /// The queues to serve; if empty, all.
    pub(super) queues: BTreeSet<String>,
    /// The queues of the jobs that are linked or were found.
    pub(super) known: BTreeSet<String>,
    pub(super) at_once: usize,
    /// How many attempts may still be made.
    pub(super) left: usize,
    /// How much time may still pass.
    pub(super) over: Duration,
    /// How much has passed.
    pub(super) moved: Duration,
    pub(super) schedules: bool,
    /// Whether time may pass at all.
    pub(super) passes: bool,
    /// How often it has passed since a job ran.
    pub(super) woken: u32,
    /// Whether everything that was due at the beginning is ready, or nothing waits for a time.
    pub(super) begun: bool,
    /// The queues with ready jobs as found at the beginning, until they are looked at.
    pub(super) ready: Option<Vec<String>>,
    /// When the jobs found were enqueued, by the clock before time was moved, so that values that
    /// handlers derive from it do not change.
    pub(super) born: HashMap<i64, DateTime<Utc>>,
    pub(super) report: Report,
}

impl<S: Session> Draining<S> {
    async fn call<C: Call>(&mut self, call: &C) -> Result<C::Answer, DatabaseError> {
        Ok(call.call(&mut **self.session.connection().await?).await?)
    }

    /// Does what the start of a worker does, as far as it has not been done.
    pub(super) async fn prepare(&mut self) -> Result<(), StartError> {
        let registry = Arc::clone(&self.crew.registry);
        self.known.extend(registry.policies().iter().map(|policy| policy.queue.to_owned()));
        let found = prepare(&registry, &mut self.session, false).await?;
        self.known.extend(found.queues);
        self.begun = !found.waits && !self.schedules;
        self.ready = (self.begun && found.limited).then_some(found.ready);
        if self.schedules {
            self.declare(&registry).await?;
        }
        Ok(())
    }

    async fn declare(&mut self, registry: &Registry) -> Result<(), StartError> {
        let now = self.call(&clock()).await?;
        let mut problems = Vec::new();
        let mut declared = Vec::new();
        for schedule in registry.schedules() {
            match schedule.check() {
                Ok((times, mut schedule)) => {
                    schedule.next_at = times.next_after(now).map(|next| next.to_rfc3339());
                    declared.push(schedule);
                }
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(StartError::Problems(StartProblems(problems)));
        }
        let declared: Vec<_> = declared.iter().collect();
        self.call(&declare_schedules(&declared, None)).await?;
        Ok(())
    }

    /// One trial after another, each for the queues known by then.
    pub(super) async fn run(&mut self) -> Result<(), DatabaseError> {
        loop {
            let queues = if self.queues.is_empty() { &self.known } else { &self.queues }.clone();
            let served = |name: String| Served::queue(name, self.at_once);
            let mut trial = Trial::new(&self.crew, queues.into_iter().map(served).collect());
            trial.register(&mut **self.session.connection().await?).await?;
            let lived = self.live(&mut trial).await;
            let ended = trial.deregister(&mut **self.session.connection().await?).await;
            // The first error is the informative one.
            if lived? {
                return Ok(ended?);
            }
            ended?;
        }
    }

    /// Runs until nothing is left to do, or there are queues that this trial does not serve.
    /// Returns which of the two.
    async fn live(&mut self, trial: &mut Trial) -> Result<bool, DatabaseError> {
        // Not again unless time passes: the result of a test should not depend on its speed.
        if !std::mem::replace(&mut self.begun, true) {
            self.promote(trial).await?;
        }
        loop {
            if self.left == 0 {
                self.report.done = false;
                return Ok(true);
            }
            let ready = match self.ready.take() {
                Some(ready) => ready,
                None => self.call(&queues_ready()).await?,
            };
            let wanted = |queue: &&String| self.queues.is_empty() || self.queues.contains(*queue);
            let ready: Vec<String> = ready.iter().filter(wanted).cloned().collect();
            if ready.iter().any(|queue| !trial.serves(queue)) {
                self.known.extend(ready);
                return Ok(false);
            }
            let mut claimed = 0;
            for queue in &ready {
                let connection = &mut **self.session.connection().await?;
                let most = self.at_once.min(self.left);
                claimed = trial.claim(connection, queue, most, &mut self.born).await?;
                if claimed > 0 {
                    break;
                }
            }
            if claimed > 0 {
                self.woken = 0;
                self.settle(trial).await?;
            } else if !self.call_back().await? && !self.wake(trial).await? {
                return Ok(true);
            }
        }
    }

    /// Waits for running jobs, and writes their outcomes.
    async fn settle(&mut self, trial: &mut Trial) -> Result<(), DatabaseError> {
        while trial.is_busy() {
            let news = trial.news().await;
            let connection = &mut **self.session.connection().await?;
            match news {
                News::Asked(asked) => asked.make(connection).await,
                News::Outcome(outcome) => {
                    let ended = trial.settle(connection, outcome).await?;
                    self.left = self.left.saturating_sub(ended.len());
                    self.report.runs.extend(ended.into_iter().map(Run::new));
                }
            }
        }
        Ok(())
    }

    /// Ends batches that are empty. Returns whether a callback became ready.
    async fn call_back(&mut self) -> Result<bool, DatabaseError> {
        loop {
            let looked = self.call(&look_at_batches(BATCH)).await?;
            if looked.called > 0 || looked.tallies < BATCH {
                return Ok(looked.called > 0);
            }
        }
    }

    /// Lets time pass until something is ready, if allowed. Returns whether something is.
    async fn wake(&mut self, trial: &Trial) -> Result<bool, DatabaseError> {
        if !self.passes || self.woken == FRUITLESS {
            return Ok(false);
        }
        self.woken += 1;
        let (found, next) = self.promote(trial).await?;
        if found {
            return Ok(true);
        }
        let Some(next) = next.filter(|next| *next <= self.over) else { return Ok(false) };
        self.over -= next;
        // Schedules are due by the time at which the transaction began; a moment more, since
        // intervals are cut to the microsecond.
        let lag = self.call(&transaction_age()).await? + Duration::from_millis(1);
        self.moved += next + lag;
        advance(&mut **self.session.connection().await?, next + lag).await?;
        Ok(true)
    }

    /// Promotes due jobs. Returns whether there were any, and after how long the next is due.
    async fn promote(&mut self, trial: &Trial) -> Result<(bool, Option<Duration>), DatabaseError> {
        let fired = self.schedules && self.fire().await?;
        let promote = promote(BATCH, trial.worker(), interval(Duration::ZERO));
        let promoted = self.call(&promote).await?;
        Ok((fired || promoted.jobs > 0, promoted.next))
    }

    /// Fires due schedules. Returns whether there were any.
    async fn fire(&mut self) -> Result<bool, DatabaseError> {
        let due = self.call(&due_schedules(BATCH, &[], None)).await?;
        let decided: Vec<_> = due.into_iter().filter_map(|due| decided(due, self.moved)).collect();
        if decided.is_empty() {
            return Ok(false);
        }
        let (fired, skipped) = self.call(&fire(&decided)).await?;
        Ok(fired + skipped > 0)
    }
}

/// Decides a schedule after time was moved by this much: with the moved clock, and then converted
/// to the real one.
fn decided(due: DueSchedule, moved: Duration) -> Option<Decided> {
    let seen = due.next_at;
    let then = DueSchedule { next_at: due.next_at + moved, now: due.now + moved, ..due };
    let mut decided = schedule::decide(&then, &then.times.parse::<Times>().ok()?);
    for instant in &mut decided.instants {
        instant.at -= moved;
        instant.since = instant.since.map(|since| since - moved);
    }
    decided.next = decided.next.map(|next| next - moved);
    Some(Decided { seen, ..decided })
}

/// Announces kinds and their limits, and makes partitions for the history. Unless `anew`, existing
/// kinds are not written again: that would lock them for the whole transaction, and concurrent
/// tests would wait for each other. Returns what was found.
pub(super) async fn prepare(
    registry: &Registry,
    session: &mut dyn Session,
    anew: bool,
) -> Result<Prepared, DatabaseError> {
    let policies = registry.announcements();
    let days = crate::worker::days_ahead(&policies);
    let connection = &mut **session.connection().await?;
    let found = prepared(&policies, days).call(connection).await?;
    if !found.limited {
        announce_limits(&SaidLimit::groups(&policies)).call(connection).await?;
    }
    if anew || !found.announced {
        announce(&policies).call(connection).await?;
        let subscriptions = registry.subscriptions();
        if !subscriptions.is_empty() {
            announce_subscriptions(&subscriptions).call(connection).await?;
        }
    }
    if !found.has_days {
        prepare_days(days).call(connection).await?;
    }
    Ok(found)
}
