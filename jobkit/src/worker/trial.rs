//! A worker without services, for tests: it claims, runs and settles with the code of a worker,
//! step by step, through the connection given for each step.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_util::sync::CancellationToken;

use super::counters::Counters;
use super::lease::Lease;
use super::run::dispatch::Dispatch;
use super::run::execution::Execution;
use super::run::reach::Line;
use super::settle::told;
use super::shared::ledger::Ledger;
use super::shared::running::Running;
use super::shared::slots::{Served, Slots, listed};
use crate::StopReason;
use crate::around::Layers;
use crate::lock::Lock;
use crate::registry::Registry;
use crate::schedule::ZoneRules;
use crate::states::States;
use crate::store::{
    Asked, Call, Claim, Ending, Mailbox, Says, Settle, Settlement, deregister, interval, mailbox,
    register,
};

/// Longer than any test, since nobody renews it.
const LEASE: Duration = Duration::from_secs(60 * 60);

/// The most jobs of one claim.
const BATCH: usize = 500;

/// The jobs it runs, and what its handlers need.
pub(crate) struct Crew {
    pub(crate) registry: Arc<Registry>,
    pub(crate) states: Arc<States>,
    pub(crate) cancel_grace: Duration,
    /// Whether handlers work on the connection of the trial.
    pub(crate) shared: bool,
}

/// See the module.
pub(crate) struct Trial {
    dispatch: Dispatch,
    slots: Arc<Slots>,
    running: Arc<Running>,
    kinds: Vec<String>,
    outcomes: UnboundedReceiver<Settlement>,
    mailbox: Mailbox,
    /// Jobs that are claimed and not settled.
    claimed: HashMap<i64, Taken>,
}

/// A job as it was claimed.
#[derive(Debug, Clone)]
pub(crate) struct Taken {
    pub(crate) kind: String,
    pub(crate) queue: Arc<str>,
    pub(crate) attempt: u32,
}

/// What a trial has to do next with its connection.
pub(crate) enum News {
    /// Write this outcome.
    Outcome(Settlement),
    /// Make this call for a handler.
    Asked(Asked),
}

/// A settled attempt: the job, the requested outcome, and what became of it.
pub(crate) type Ended = (Taken, Settlement, Option<Ending>);

impl Trial {
    /// A trial that serves these queues, with their slots.
    pub(crate) fn new(crew: &Crew, queues: Vec<Served>) -> Self {
        let slots = Arc::new(Slots::new(queues));
        let ledger = Arc::new(Ledger::new(fastrand::i64(1..)));
        let lease = Arc::new(Lease::new(LEASE, Duration::ZERO, Instant::now()));
        let running = Arc::<Running>::default();
        let ((sender, outcomes), (line, mailbox)) = (unbounded_channel(), mailbox());
        let execution = Arc::new(Execution {
            registry: Arc::clone(&crew.registry),
            states: Arc::clone(&crew.states),
            layers: Layers::default(),
            running: Arc::clone(&running),
            slots: Arc::clone(&slots),
            ledger: Arc::clone(&ledger),
            lease: Arc::clone(&lease),
            outcomes: sender,
            reach: Some(Arc::new(Line {
                asks: line,
                ledger: (!crew.shared).then(|| Arc::clone(&ledger)),
            })),
            reports: Arc::default(),
            cancel_grace: crew.cancel_grace,
        });
        let dispatch = Dispatch {
            ledger,
            lease,
            execution,
            counters: Arc::new(Counters::default()),
            stopping: CancellationToken::new(),
            suspects: Lock::default(),
        };
        let (kinds, claimed) = (crew.registry.kinds(), HashMap::new());
        Self { dispatch, slots, running, kinds, outcomes, mailbox, claimed }
    }

    pub(crate) fn worker(&self) -> i64 {
        self.dispatch.ledger.worker()
    }

    /// Whether it serves this queue.
    pub(crate) fn serves(&self, queue: &str) -> bool {
        self.slots.queues().iter().any(|served| *served.name == *queue)
    }

    /// Begins its life in the database.
    pub(crate) async fn register(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        let serves = listed(self.slots.pools());
        let says = Says::new(None, ZoneRules::current());
        let call = register(self.worker(), "test", &self.kinds, interval(LEASE), &serves, &says);
        call.call(connection).await
    }

    /// Ends it.
    pub(crate) async fn deregister(&self, connection: &mut PgConnection) -> sqlx::Result<()> {
        deregister(self.worker()).call(connection).await
    }

    /// Claims at most this many jobs of a queue that it serves, and starts them. Returns how many
    /// ready jobs changed: some may be blocked now, or have ended. `born` is when jobs that were
    /// claimed before were enqueued.
    pub(crate) async fn claim(
        &mut self,
        connection: &mut PgConnection,
        queue: &str,
        most: usize,
        born: &mut HashMap<i64, DateTime<Utc>>,
    ) -> sqlx::Result<usize> {
        let served = self.slots.queues();
        let Some(at) = served.iter().position(|served| *served.name == *queue) else {
            return Ok(0);
        };
        let wanted = |place| if place == at { most.min(BATCH) } else { 0 };
        let needed: Vec<usize> = (0..served.len()).map(wanted).collect();
        let mut reservation = self.dispatch.reserve(self.slots.take_spare(&needed));
        let free = i32::try_from(reservation.slots.left()[at]).unwrap_or(i32::MAX);
        let claim = Claim {
            id: reservation.claim,
            kinds: &self.kinds,
            queues: vec![&*served[at].name],
            slots: vec![free],
            marks: Vec::new(),
            between: Default::default(),
            ahead: Vec::new(),
            pools: Default::default(),
        };
        let mut claimed = claim.call(connection).await?;
        for job in &mut claimed.jobs {
            job.queue = at;
            let facts = &mut job.facts;
            facts.created_at = *born.entry(job.id).or_insert(facts.created_at);
            let (kind, queue) = (facts.kind.clone(), Arc::clone(&served[at].name));
            self.claimed.insert(job.id, Taken { kind, queue, attempt: facts.attempt });
        }
        let waiting: usize = claimed.waiting.iter().map(|(_, jobs)| jobs).sum();
        let count = claimed.jobs.len() + waiting + claimed.gone;
        let suspects = self.dispatch.receive(&mut reservation, claimed.jobs, &claimed.ahead);
        self.dispatch.start_suspects(reservation, suspects);
        Ok(count)
    }

    /// Whether a job is claimed and not settled.
    pub(crate) fn is_busy(&self) -> bool {
        !self.claimed.is_empty()
    }

    /// Waits for an outcome, or for a handler's call to the database.
    pub(crate) async fn news(&mut self) -> News {
        tokio::select! {
            biased;
            Some(outcome) = self.outcomes.recv() => News::Outcome(outcome),
            Some(asked) = self.mailbox.recv() => News::Asked(asked),
        }
    }

    /// Writes an outcome, and others that are available.
    pub(crate) async fn settle(
        &mut self,
        connection: &mut PgConnection,
        first: Settlement,
    ) -> sqlx::Result<Vec<Ended>> {
        let mut batch = vec![first];
        while let Ok(next) = self.outcomes.try_recv() {
            batch.push(next);
        }
        let over: Vec<_> = batch.extract_if(.., |settlement| settlement.is_over()).collect();
        let mut endings = HashMap::<i64, Ending>::new();
        if !batch.is_empty() {
            let settle = Settle { worker: self.worker(), settlements: &batch, next: None };
            endings.extend(settle.call(connection).await?.endings);
        }
        let ended = |settlement: Settlement| {
            self.dispatch.ledger.settled(settlement.claim, settlement.job);
            let taken = self.claimed.remove(&settlement.job)?;
            let ending = settlement.ending(endings.get(&settlement.job).copied());
            told::log(&settlement, ending, &self.slots);
            Some((taken, settlement, ending))
        };
        Ok(over.into_iter().chain(batch).filter_map(ended).collect())
    }
}

/// Handlers end with the test that ran them.
impl Drop for Trial {
    fn drop(&mut self) {
        self.running.close();
        self.running.abort_all(StopReason::Stopping);
    }
}
