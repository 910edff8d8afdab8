mod completed;
mod ending;
mod start;

use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use self::completed::{missing, told};
use self::ending::{Run, expired, outcome, panicked, undecodable, withheld, without_a_run};
use self::start::{Started, missing_key, opened};
use crate::StopReason;
use crate::around::Layers;
use crate::context::Attempt;
use crate::panics::guard;
use crate::policy::Policy;
use crate::reach::Reach;
use crate::registry::Registry;
use crate::reports::Reports;
use crate::returned::HandlerFuture;
use crate::states::States;
use crate::store::{ClaimId, ClaimedJob, Outcome, Ran, Seen, Settlement};
use crate::worker::lease::Lease;
use crate::worker::shared::ledger::Ledger;
use crate::worker::shared::running::{Handler, Running};
use crate::worker::shared::slots::{Slots, Waiting};

/// Runs claimed jobs, each through the same steps: decode → run, within its timeout and under its
/// stop signals → outcome. Whatever happens, exactly one outcome goes to the settler.
pub(crate) struct Execution {
    pub(crate) registry: Arc<Registry>,
    pub(crate) states: Arc<States>,
    pub(crate) layers: Layers,
    pub(crate) running: Arc<Running>,
    pub(crate) slots: Arc<Slots>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) lease: Arc<Lease>,
    pub(crate) outcomes: UnboundedSender<Settlement>,
    /// The handlers' access to the database.
    pub(crate) reach: Option<Arc<dyn Reach>>,
    pub(crate) reports: Arc<Reports>,
    /// How long a handler that was asked to stop may take.
    pub(crate) cancel_grace: Duration,
}

/// What is known of an attempt, even if its end panics.
#[derive(Default)]
struct Begun {
    /// Set when the handler runs.
    ran: Option<Ran>,
    /// Set when the handler completed its job, or tried to.
    seen: Option<Seen>,
    /// The claim that it has at its end.
    own: Option<ClaimId>,
}

/// How long a job that was claimed ahead may wait here for a slot.
const PATIENCE: Duration = Duration::from_millis(100);

/// After how long blocking work that outlasts its handler is logged.
const LONG: Duration = Duration::from_secs(1);

/// A condition for the start of a job.
pub(crate) type Clear = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Execution {
    /// Starts a job in its own task, once `clear` completes; its slot is already taken. If the
    /// worker is ending, the job is given back.
    pub(crate) fn begin(
        self: &Arc<Self>,
        claim: ClaimId,
        suspect: bool,
        mut job: ClaimedJob,
        clear: Option<Clear>,
    ) {
        let this = Arc::clone(self);
        let Some(handler) = self.running.enter(job.id) else {
            self.send(Settlement::of(claim, job.id, Outcome::Release(None)));
            let mut next = self.slots.give_back(job.queue, suspect);
            while let Some(waiting) = next {
                self.return_waiting(waiting);
                next = self.slots.give_back(job.queue, false);
            }
            return;
        };
        let claimed = Instant::now();
        // Boxed, since tokio moves the future of a task seven times before it is first polled.
        tokio::spawn(Box::pin(async move {
            let (id, queue) = (job.id, job.queue);
            if let Some(clear) = clear {
                tokio::select! {
                    () = clear => {}
                    _in_vain = handler.stop.until_told() => {}
                }
            }
            let settlement = if handler.stop.reason().is_some() || !this.is_held(claim) {
                Settlement::of(claim, id, Outcome::Release(None))
            } else {
                this.ledger.began(claim, id);
                // Formatting and dropping errors and panics runs the user's code as well.
                let mut begun = Begun::default();
                let run = this.execute(claim, claimed, &mut job, &handler, &mut begun);
                let executed = guard(pin!(run)).await;
                handler.stop.work_over().await;
                executed.unwrap_or_else(|panic| {
                    let (outcome, Begun { ran, seen, own }) = (panicked(panic), begun);
                    let settlement = Settlement::of(own.unwrap_or(claim), id, outcome);
                    Settlement { ran, ..settlement }.seen(seen)
                })
            };
            // The outcome first: once no handler runs, every outcome has been sent.
            this.send(settlement);
            drop(handler);
            this.give_back(queue, suspect);
        }));
    }

    /// A slot is free: the next job that waits for it begins.
    fn give_back(self: &Arc<Self>, queue: usize, suspect: bool) {
        if let Some(waiting) = self.slots.give_back(queue, suspect) {
            self.begin_waited(waiting);
        }
    }

    /// Lets a job wait for a slot, unless the worker is ending: then it goes back.
    pub(crate) fn wait(&self, waiting: Waiting) {
        self.slots.wait(waiting).into_iter().for_each(|waiting| self.return_waiting(waiting));
    }

    /// Starts waiting jobs in free slots.
    pub(crate) fn begin_waiting(self: &Arc<Self>) {
        while let Some(waiting) = self.slots.next() {
            self.begin_waited(waiting);
        }
    }

    fn begin_waited(self: &Arc<Self>, Waiting { claim, mut job, since }: Waiting) {
        job.waited += since.elapsed();
        self.begin(claim, false, job, None);
    }

    /// Gives back jobs that have waited for long, and all waiting jobs on a recall or when the
    /// worker stops. If it never ran, a job claimed ahead would wait as long as the jobs before it
    /// take.
    pub(crate) async fn return_overdue(self: Arc<Self>, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let overdue = tokio::select! {
                () = stop.cancelled() => break,
                () = self.slots.recalled() => self.slots.withdraw(None),
                () = self.slots.overdue(PATIENCE) => {
                    self.slots.withdraw(Instant::now().checked_sub(PATIENCE))
                }
            };
            overdue.into_iter().for_each(|waiting| self.return_waiting(waiting));
        }
        self.slots.close();
        self.slots.withdraw(None).into_iter().for_each(|waiting| self.return_waiting(waiting));
    }

    /// Returns a job that got no slot in time to ready, uncharged.
    pub(crate) fn return_waiting(&self, Waiting { claim, job, .. }: Waiting) {
        self.send(Settlement::of(claim, job.id, Outcome::Release(None)));
    }

    /// Whether a claim still belongs to this worker: its answer may have been unread while the
    /// process was frozen. Call it once the handler is among the running ones: if the claim is lost
    /// after that, the handler is stopped with them.
    fn is_held(&self, ClaimId { worker, .. }: ClaimId) -> bool {
        self.lease.is_valid() && self.ledger.worker() == worker
    }

    /// Sends an outcome to the settler, which outlives the handlers; if it is gone, the process is
    /// ending, and the claim is reaped.
    pub(crate) fn send(&self, settlement: Settlement) {
        let _ended = self.outcomes.send(settlement);
    }

    async fn execute(
        &self,
        claim: ClaimId,
        claimed: Instant,
        job: &mut ClaimedJob,
        handler: &Handler,
        begun: &mut Begun,
    ) -> Settlement {
        let (began, id, queue, number) = (Instant::now(), job.id, job.queue, job.facts.attempt);
        let (keyed_in, in_batch) = (job.keyed.then_some(queue), job.facts.batch.is_some());
        // References, not values: whatever is kept while the handler runs takes memory in its task.
        let unrun =
            |outcome| Settlement { keyed_in, in_batch, ..Settlement::of(claim, id, outcome) };
        let unfit = without_a_run(job);
        let Some(known) = self.registry.get(&job.facts.kind) else {
            // The claim only asks for known kinds, so this one could not be read.
            return unrun(unfit.unwrap_or(Outcome::Release(None)));
        };
        job.facts.kind.truncate(known.kind.len());
        let policy = known.registration.policy();
        let settlement = |outcome| Settlement { keep: kept(policy, &outcome), ..unrun(outcome) };
        let waited = job.waited + (began - claimed);
        let ran = Some(Ran { queue, kind: policy.kind, attempt: number, waited });
        if let Some(outcome) = unfit.or_else(|| expired(job, policy, waited)) {
            let ran = ran.filter(|_| matches!(outcome, Outcome::Expire(_)));
            return Settlement { ran, ..settlement(outcome) };
        }
        let opened = opened(job, known);
        if let Some(why) = missing_key(&opened) {
            return unrun(withheld(why));
        }
        begun.ran = ran;
        let ended = |outcome| Settlement { ran, ..settlement(outcome) };
        let attempt = self.attempt(claim, job, policy, began, handler);
        let start = |()| self.start(known, take(&mut job.payload), attempt.clone());
        let started = match opened.map_err(|why| why.to_string()).and_then(start) {
            Ok(started) => started,
            Err(error) => return closed(ended(undecodable(&error, policy, number)), attempt),
        };
        let run = self.run_started(started, policy.timeout, handler, &attempt).await;
        let took = began.elapsed();
        let (seen, claim) = self.seen(claim, &attempt, handler).await;
        (begun.seen, begun.own) = (seen, Some(claim));
        let settlement = attempt.span.in_scope(|| {
            let (run, hidden) = (missing(run, begun.seen), attempt.report.hidden());
            let outcome = outcome(run, &handler.stop, policy, number, hidden);
            Settlement { took, claim, ..ended(told(outcome, begun.seen)) }.seen(begun.seen)
        });
        closed(settlement, attempt)
    }

    /// Runs the started attempt, and waits until nothing of it is left.
    async fn run_started(
        &self,
        (future, inside): Started,
        limit: Option<Duration>,
        handler: &Handler,
        attempt: &Attempt,
    ) -> Run {
        let run = match inside {
            None => self.run(future, limit, handler).instrument(attempt.span.clone()).await,
            // Layers may set the parent of the span, which must not be entered before that.
            Some(inside) => {
                let run = self.run(future, limit, handler).await;
                match Box::pin(async move { inside.end().await }).await {
                    Ok(()) => run,
                    Err(panic) => Run::Panicked(panic),
                }
            }
        };
        blocking_over(attempt, handler).await;
        run
    }

    /// Polls the handler until it ends or must end.
    async fn run(
        &self,
        mut future: HandlerFuture,
        limit: Option<Duration>,
        handler: &Handler,
    ) -> Run {
        let ended = tokio::select! {
            biased;
            ended = handler.stop.timed(guard(future.as_mut())) => match ended {
                Ok(result) => Run::Returned(result),
                Err(panic) => Run::Panicked(panic),
            },
            // Boxed, so that it is only created for a handler that does not end immediately.
            ended = async { Box::pin(self.interrupt(limit, handler)).await } => ended,
        };
        handler.stop.end();
        // Dropping runs the user's code as well.
        match catch_unwind(AssertUnwindSafe(|| drop(future))) {
            Ok(()) => ended,
            Err(panic) => Run::Panicked(panic),
        }
    }

    /// Completes when the handler must be dropped.
    async fn interrupt(&self, limit: Option<Duration>, handler: &Handler) -> Run {
        tokio::select! {
            () = handler.abort.cancelled() => {}
            () = self.grace(limit, handler) => {}
        }
        Run::Dropped
    }

    /// Completes once the handler was asked to stop, perhaps by its timeout, and had its grace.
    async fn grace(&self, limit: Option<Duration>, handler: &Handler) {
        let asked = handler.stop.until_asked();
        let mut grace = self.cancel_grace;
        match limit {
            None => drop(asked.await),
            Some(limit) if timeout(limit, asked).await.is_err() => {
                handler.stop.ask(StopReason::TimedOut);
                // A handler that ignores its timeout should not hold its slot for much longer.
                grace = grace.min(limit);
            }
            Some(_) => {}
        }
        sleep(grace).await;
    }
}

/// The outcome of an attempt that has ended. A failure is logged once it is written.
fn closed(settlement: Settlement, attempt: Arc<Attempt>) -> Settlement {
    if let Outcome::Retry { .. } | Outcome::Wait { .. } = settlement.outcome {
        return Settlement { failed: Some(attempt), ..settlement };
    }
    attempt.report.close();
    settlement
}

/// Waits for blocking work that the handler has left behind, so that its job stays claimed and
/// keeps its permit and its slot.
async fn blocking_over(attempt: &Attempt, handler: &Handler) {
    if handler.stop.is_working() {
        Box::pin(async {
            let over = timeout(LONG, handler.stop.work_over()).await;
            if over.is_err() {
                tracing::warn!(
                    job.id = attempt.id.0,
                    job.kind = attempt.facts.kind,
                    "jobkit: the handler has ended, but its blocking work has not: the job stays \
                     claimed until it does"
                );
                handler.stop.work_over().await;
            }
        })
        .await;
    }
}

/// How long a job with this outcome is kept.
fn kept(policy: &Policy, outcome: &Outcome) -> Option<Duration> {
    match outcome {
        Outcome::Finish(_) => policy.retention,
        _ => policy.retention_discarded.or(policy.retention),
    }
}

#[cfg(test)]
mod tests;
