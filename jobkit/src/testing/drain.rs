use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::draining::Draining;
use super::report::Report;
use super::session::Session;
use crate::error::{StartError, StartProblems};
use crate::job_types::JobTypes;
use crate::registry::Registry;
use crate::states::States;
use crate::worker::trial::Crew;
use crate::{Registration, chunk};

/// How many attempts a drain makes unless it is told otherwise.
const MOST: usize = 1000;

/// How long a handler that was asked to stop may take.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// Runs ready jobs, and the jobs that these enqueue, until none is ready. It claims, runs and
/// settles jobs with the code of a worker, but in the session of the test, and so within its
/// transaction.
///
/// ```no_run
/// # use jobkit::{Enqueue, Job, JobContext, job};
/// # #[derive(Clone)] struct App;
/// # #[derive(serde::Serialize, serde::Deserialize)] #[job] struct Welcome { user: i64 }
/// # impl Job<App> for Welcome {
/// #     async fn run(self, _: JobContext<App>) -> jobkit::Result { Ok(()) }
/// # }
/// # async fn f(pool: sqlx::PgPool, app: App) -> anyhow::Result<()> {
/// use jobkit::testing::{self, Drain, RunOutcome};
///
/// let mut tx = testing::begin(&pool).await?;
/// Welcome { user: 7 }.enqueue(&mut *tx).await?;
/// let report = Drain::new().state(app).only::<Welcome>().run(&mut *tx).await?;
/// report.assert_finished();
/// assert_eq!(report.runs[0].outcome, RunOutcome::Finished);
/// tx.rollback().await?;
/// # Ok(()) }
/// ```
///
/// It runs one job after another: from the queue whose oldest job has been ready the longest, and
/// within a queue in the order of a worker's claim. Decoding, timeouts, panics, backoff, keys,
/// limits, expiry and dead letters work as in production. Timeouts take real time.
///
/// Handlers that use a pool of their own are outside the transaction: they do not see what the test
/// wrote, and the drain does not see what they enqueue. Either put the transaction into a `tokio`
/// mutex, pass it to the handlers in their state, and drain through it; it is locked for each step,
/// not while handlers run. Or give the test its own database (`#[sqlx::test]`), and drain through
/// the pool.
#[must_use = "nothing runs until `run` is awaited"]
pub struct Drain {
    states: States,
    registry: Option<Registry>,
    queues: BTreeSet<String>,
    at_once: usize,
    at_most: usize,
    over: Duration,
    schedules: bool,
    problems: Vec<String>,
}

impl Default for Drain {
    fn default() -> Self {
        Self::new()
    }
}

impl Drain {
    /// A drain of all queues, with all jobs linked into the test binary.
    pub fn new() -> Self {
        Self {
            states: chunk::states(),
            registry: None,
            queues: BTreeSet::new(),
            at_once: 1,
            at_most: MOST,
            over: Duration::ZERO,
            schedules: false,
            problems: Vec::new(),
        }
    }

    /// Like [`Worker::state`](crate::Worker::state).
    pub fn state<S: Send + Sync + 'static>(mut self, state: S) -> Self {
        if !self.states.insert(state) {
            let name = std::any::type_name::<S>();
            self.problems.push(format!("the state `{name}` was given twice: set each type once"));
        }
        self
    }

    /// Like [`Worker::only`](crate::Worker::only): other jobs are left alone, and their states are
    /// not needed.
    pub fn only<J: JobTypes>(mut self) -> Self {
        let (registry, problems) = Registry::only(&J::list());
        self.registry = Some(registry);
        self.problems.extend(problems);
        self
    }

    /// Like [`Worker::jobs`](crate::Worker::jobs).
    pub fn jobs(mut self, registrations: impl IntoIterator<Item = Registration>) -> Self {
        self.registry = Some(Registry::of(registrations));
        self
    }

    /// Serves this queue. By default, all are served.
    pub fn queue(mut self, name: impl Into<String>) -> Self {
        self.queues.insert(name.into());
        self
    }

    /// Runs this many jobs at a time instead of one after another. A call of a
    /// [`ChunkJob`](crate::chunk::ChunkJob) has at most this many.
    pub fn at_once(self, slots: usize) -> Self {
        Self { at_once: slots.max(1), ..self }
    }

    /// Makes at most about this many attempts, instead of 1,000; [`Report::is_done`] tells whether
    /// that was enough.
    pub fn at_most(self, attempts: usize) -> Self {
        Self { at_most: attempts, ..self }
    }

    /// Also runs jobs that become due within this time: delays, snoozes, retries. Whenever nothing
    /// is ready, time [advances](super::advance) until something is. Without this, only jobs that
    /// were due when the drain began run.
    pub fn over(self, time: Duration) -> Self {
        Self { over: time, ..self }
    }

    /// Also declares the schedules of these jobs, and fires those that are due, as a worker does.
    /// The first such drain declares them; [`over`](Self::over) or [`advance`](super::advance) then
    /// makes them due.
    pub fn schedules(self) -> Self {
        Self { schedules: true, ..self }
    }

    /// Drains, and reports the outcome of each attempt.
    ///
    /// # Errors
    /// [`StartError::Problems`] lists everything that is missing, as for
    /// [`Worker::start`](crate::Worker::start); otherwise [`StartError::Database`]. Within a
    /// transaction, the drain ends with the first such error.
    pub async fn run(self, session: impl Session) -> Result<Report, StartError> {
        let Self { states, registry, queues, at_once, at_most, over, schedules, problems } = self;
        let registry = registry.unwrap_or_else(Registry::linked);
        let problems = [problems, registry.problems(&states)].concat();
        if !problems.is_empty() {
            return Err(StartError::Problems(StartProblems(problems)));
        }
        let (registry, states) = (Arc::new(registry), Arc::new(states));
        let shared = session.is_shared();
        let crew = Crew { registry, states, cancel_grace: CANCEL_GRACE, shared };
        let mut draining = Draining {
            session,
            crew,
            queues,
            known: BTreeSet::new(),
            at_once,
            left: at_most,
            over,
            moved: Duration::ZERO,
            schedules,
            passes: !over.is_zero(),
            woken: 0,
            begun: false,
            ready: None,
            born: HashMap::new(),
            report: Report::default(),
        };
        draining.prepare().await?;
        draining.run().await?;
        Ok(draining.report)
    }
}

impl fmt::Debug for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("queues", &self.queues).finish_non_exhaustive()
    }
}
