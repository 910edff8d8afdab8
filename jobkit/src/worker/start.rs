mod prepare;

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinHandle;

use self::prepare::{prepare, warn};
use super::Worker;
use super::claim::claimer::{Claimer, Pace};
use super::counters::Counters;
use super::due::Due;
pub(crate) use super::duties::pruner::days_ahead;
use super::handle::{Engine, Stops, WorkerHandle};
use super::lease::Lease;
use super::lease::heartbeat::Heartbeat;
use super::run::dispatch::Dispatch;
use super::run::execution::Execution;
use super::run::reach::Line;
use super::schedules::DeclaredSchedules;
use super::settings::Settings;
use super::settle::company::Company;
use super::settle::settler::Settler;
use super::shared::ledger::Ledger;
use super::shared::measures::Measures;
use super::shared::running::Running;
use super::shared::slots::{Served, Slots, listed};
use super::shared::wake::Wake;
use super::{announce, counters, links, queues};
use crate::around::Layers;
use crate::error::{DatabaseError, StartError, StartProblems};
use crate::hooks::{Event, Hooks};
use crate::lock::Lock;
use crate::registry::Registry;
use crate::reports::Reports;
use crate::schedule::ZoneRules;
use crate::states::States;
use crate::store::{self, Link, Says, Settlement, Source, Turns, hidden_tables, interval};

/// What the services share; each gets only the parts it needs.
pub(super) struct Parts {
    pub(super) source: Source,
    pub(super) settings: Settings,
    pub(super) kinds: Vec<String>,
    pub(super) queues: Vec<Served>,
    pub(super) days: i32,
    pub(super) declared: DeclaredSchedules,
    pub(super) ledger: Arc<Ledger>,
    pub(super) lease: Arc<Lease>,
    pub(super) slots: Arc<Slots>,
    pub(super) running: Arc<Running>,
    pub(super) wake: Arc<Wake>,
    pub(super) due: Arc<Due>,
    pub(super) counters: Arc<Counters>,
    pub(super) measures: Arc<Measures>,
    pub(super) reports: Arc<Reports>,
    pub(super) stops: Stops,
    pub(super) hooks: Option<Arc<Hooks<Event>>>,
    /// The connection shared by all services except the heartbeat and the listener, if connections
    /// are few.
    pub(super) shared: Option<Arc<Turns>>,
}

/// Checks, registers, wires and spawns.
pub(super) async fn start(worker: Worker) -> Result<WorkerHandle, StartError> {
    let registry = worker.registry.unwrap_or_else(Registry::linked);
    let mut problems = worker.problems;
    problems.extend(worker.settings.problems());
    problems.extend(queues::problems(&worker.queues, &worker.queue_limits));
    problems.extend(registry.problems(&worker.states));
    let (announced, limiters) = (registry.announcements(), worker.limiters);
    problems.extend(announce::limiter_problems(&announced, &limiters));
    let mut declared = announce::checked(&registry, worker.schedules, &mut problems);
    let (mut link, shared) = links::begin(&worker.source, &worker.settings, &worker.queues);
    match check(&mut link).await {
        Ok(()) => {}
        Err(error) if problems.is_empty() => return Err(error),
        Err(error) => problems.push(error.to_string()),
    }
    if !problems.is_empty() {
        return Err(StartError::Problems(StartProblems(problems)));
    }
    warn(&mut link, &worker.queues).await?;
    let (days, kinds) = (days_ahead(&registry.policies()), registry.kinds());
    let said = announce::limits(&announced, &limiters, &worker.queue_limits);
    prepare(&mut link, &announced, &said, &registry.subscriptions(), &mut declared, days).await?;
    let says = Says::new(declared.number(), ZoneRules::current());
    let (id, sent) = register(&mut link, &worker.settings, &worker.queues, &kinds, &says).await?;
    link.close().await;
    let settings = Settings { few_connections: Some(shared.is_some()), ..worker.settings };
    let parts = Parts {
        lease: Arc::new(Lease::new(settings.lease, settings.lease_margin(), sent)),
        ledger: Arc::new(Ledger::new(id)),
        slots: Arc::new(Slots::new(worker.queues.clone())),
        running: Arc::default(),
        wake: Arc::default(),
        due: Arc::default(),
        counters: Arc::new(counters::Counters::default()),
        measures: Arc::default(),
        reports: Arc::default(),
        stops: Stops::default(),
        hooks: Hooks::of_worker(worker.hooks)?,
        shared,
        queues: worker.queues,
        source: worker.source,
        settings,
        kinds,
        days,
        declared,
    };
    let name = &*parts.settings.name;
    tracing::info!(worker = format!("{id:x}"), name, "jobkit: worker started");
    parts.spawn(registry, worker.states, Layers::new(worker.layers))
}

/// Checks that the worker can use this database. Nothing is set in sessions until they are known to
/// be its own.
pub(super) async fn check(link: &mut Link) -> Result<(), StartError> {
    link.require_own_session().await?;
    link.check_schema().await?;
    match &*link.call(&hidden_tables()).await? {
        [] => Ok(()),
        tables => Err(StartError::RowSecurity { tables: tables.join(", ") }),
    }
}

/// Registers with a random id, and returns when the call began, from which the lease counts.
async fn register(
    link: &mut Link,
    settings: &Settings,
    served: &[Served],
    kinds: &[String],
    says: &Says,
) -> Result<(i64, Instant), DatabaseError> {
    let (worker, sent) = (fastrand::i64(1..), Instant::now());
    let lease = interval(settings.lease);
    let call = store::register(worker, &settings.name, kinds, lease, &listed(served), says);
    link.call(&call).await?;
    Ok((worker, sent))
}

impl Parts {
    fn spawn(
        self,
        registry: Registry,
        states: States,
        layers: Layers,
    ) -> Result<WorkerHandle, StartError> {
        let (outcomes, settled) = mpsc::unbounded_channel();
        let execution = Arc::new(Execution {
            registry: Arc::new(registry),
            states: Arc::new(states),
            layers,
            running: Arc::clone(&self.running),
            slots: Arc::clone(&self.slots),
            ledger: Arc::clone(&self.ledger),
            lease: Arc::clone(&self.lease),
            outcomes,
            reach: Some(Arc::new(self.line())),
            reports: Arc::clone(&self.reports),
            cancel_grace: self.settings.cancel_grace(),
        });
        let beating = self.heartbeat().spawn(self.stops.heartbeat.clone());
        let heartbeat = beating.map_err(|error| DatabaseError::Unreachable(error.into()))?;
        let waiting = Arc::clone(&execution).return_overdue(self.stops.claims.clone());
        let waiting = tokio::spawn(self.stop_claims_after(waiting));
        let dispatch = self.dispatch(execution);
        // Waiting jobs are given back before the settler ends.
        let claimers = self.claimers(&dispatch).into_iter().chain([waiting]).collect();
        let (drain, give_up) = (self.stops.settler.clone(), self.stops.give_up.clone());
        let settler = self.settler(&dispatch, settled).run(drain, give_up);
        let (settler, duties) = (tokio::spawn(self.stop_claims_after(settler)), self.duties());
        self.tell_hooks();
        Ok(WorkerHandle::new(Engine {
            claimers,
            settler,
            duties,
            heartbeat,
            settings: self.settings,
            ledger: self.ledger,
            running: self.running,
            counters: self.counters,
            stops: self.stops,
            hooks: self.hooks,
        }))
    }

    fn claimers(&self, dispatch: &Arc<Dispatch>) -> [JoinHandle<()>; 2] {
        [false, true].map(|second| {
            let claimer = self.claimer(dispatch, second).run(self.stops.claims.clone());
            tokio::spawn(self.stop_claims_after(claimer))
        })
    }

    /// The handlers' access to the database.
    fn line(&self) -> Line<Mutex<Link>> {
        let (asks, ledger) = (Mutex::new(self.link("jobs")), Some(Arc::clone(&self.ledger)));
        Line { asks, ledger }
    }

    /// If one of these services ends (by a panic), the worker must not take more jobs.
    fn stop_claims_after<F: Future<Output = ()>>(
        &self,
        service: F,
    ) -> impl Future<Output = ()> + use<F> {
        let stopping = self.stops.claims.clone().drop_guard();
        async move {
            let _stopping = stopping;
            service.await;
        }
    }

    fn heartbeat(&self) -> Heartbeat {
        // Short deadlines: a hanging beat must leave time for another one within the lease.
        let mut deadlines = self.settings.deadlines();
        deadlines.call = deadlines.call.min(self.settings.lease / 4);
        deadlines.lock = deadlines.lock.min(deadlines.call);
        Heartbeat {
            link: Link::new("heartbeat", self.source.clone(), deadlines),
            settings: self.settings.clone(),
            ledger: Arc::clone(&self.ledger),
            lease: Arc::clone(&self.lease),
            running: Arc::clone(&self.running),
            slots: Arc::clone(&self.slots),
            wake: Arc::clone(&self.wake),
            counters: Arc::clone(&self.counters),
            measures: Arc::clone(&self.measures),
            reports: Arc::clone(&self.reports),
            kinds: self.kinds.clone(),
            declaration: self.declared.number(),
            stopping: self.stops.claims.clone(),
            in_order: self.stops.in_order.clone(),
            stop_seen: false,
        }
    }

    fn dispatch(&self, execution: Arc<Execution>) -> Arc<Dispatch> {
        Arc::new(Dispatch {
            ledger: Arc::clone(&self.ledger),
            lease: Arc::clone(&self.lease),
            execution,
            counters: Arc::clone(&self.counters),
            stopping: self.stops.claims.clone(),
            suspects: Lock::default(),
        })
    }

    fn claimer(&self, dispatch: &Arc<Dispatch>, second: bool) -> Claimer {
        Claimer {
            link: self.standing_link(if second { "second claim" } else { "claim" }),
            settings: self.settings.clone(),
            ledger: Arc::clone(&self.ledger),
            slots: Arc::clone(&self.slots),
            wake: Arc::clone(&self.wake),
            due: Arc::clone(&self.due),
            dispatch: Arc::clone(dispatch),
            counters: Arc::clone(&self.counters),
            kinds: self.kinds.clone(),
            pace: Pace::new(self.queues.len()),
            second,
        }
    }

    fn settler(
        &self,
        dispatch: &Arc<Dispatch>,
        outcomes: mpsc::UnboundedReceiver<Settlement>,
    ) -> Settler {
        Settler {
            link: self.standing_link("settle"),
            outcomes,
            put_off: Vec::new(),
            company: Company::new(),
            ledger: Arc::clone(&self.ledger),
            slots: Arc::clone(&self.slots),
            dispatch: Arc::clone(dispatch),
            wake: Arc::clone(&self.wake),
            due: Arc::clone(&self.due),
            counters: Arc::clone(&self.counters),
            measures: Arc::clone(&self.measures),
            hooks: self.hooks.clone(),
            reports: Arc::clone(&self.reports),
            #[cfg(feature = "testing")]
            faults: self.stops.faults.clone(),
        }
    }
}
