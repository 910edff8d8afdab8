mod announce;
mod claim;
mod counters;
mod due;
mod duties;
#[cfg(feature = "testing")]
mod faults;
mod halves;
mod handle;
mod lease;
mod links;
pub(crate) mod on_demand;
mod preflight;
mod queues;
mod run;
mod schedules;
mod serves;
mod settings;
mod settle;
mod shared;
mod signals;
mod some;
mod start;
mod tell;
mod ticker;
mod timing;
#[cfg(feature = "testing")]
pub(crate) mod trial;

use std::sync::Arc;

use sqlx::PgPool;

pub use self::announce::announce;
pub use self::counters::Counts;
#[cfg(feature = "testing")]
pub use self::faults::SettleFault;
pub use self::handle::WorkerHandle;
pub use self::preflight::Preflight;
use self::settings::Settings;
pub(crate) use self::shared::slots::Served;
#[cfg(feature = "testing")]
pub(crate) use self::start::days_ahead;

use crate::around::{Around, Layer};
use crate::connect::reached;
use crate::enqueue::Draft;
use crate::error::{ConnectError, StartError};
use crate::hooks::{Event, Hook};
use crate::job_type::JobType;
use crate::job_types::JobTypes;
use crate::policy::{QueueLimit, Rate};
use crate::registry::Registry;
use crate::schedule::{Declaration, Schedule};
use crate::states::States;
use crate::store::Source;
use crate::{Registration, chunk, limiter};

/// Runs jobs inside your process: set the queues it serves and the state your jobs need, then
/// [`start`](Self::start) it.
///
/// ```no_run
/// # use std::time::Duration;
/// # use jobkit::Worker;
/// # #[derive(Clone)] struct App;
/// # async fn f(pool: sqlx::PgPool, app: App) -> Result<(), Box<dyn std::error::Error>> {
/// let worker = Worker::new(pool).state(app).queue("mail", 20).queue("default", 50).start().await?;
/// worker.run_until_signal().await?; // SIGTERM or Ctrl-C
/// # Ok(()) }
/// ```
///
/// The worker has its own connections, so handlers that exhaust your pool cannot starve it: three,
/// or eight and more if it has more than 20 slots ([`few_connections`](Self::few_connections)).
/// They use the pool's current options but not its hooks.
#[must_use = "a worker does nothing until it is started"]
pub struct Worker {
    source: Source,
    states: States,
    registry: Option<Registry>,
    queues: Vec<Served>,
    queue_limits: Vec<(String, QueueLimit)>,
    settings: Settings,
    schedules: Vec<Declaration>,
    /// Each with its kind, if it is only for one.
    layers: Vec<(Option<&'static str>, Arc<dyn Layer>)>,
    hooks: Vec<Hook<Event>>,
    limiters: Vec<limiter::Declaration>,
    /// Problems with the settings so far.
    problems: Vec<String>,
}

impl Worker {
    /// A worker for the database of this pool, with all jobs linked into the binary. A crate of
    /// jobs that is never mentioned is not linked: mention it with `use my_jobs as _;`.
    pub fn new(pool: PgPool) -> Self {
        Self::of(pool.into())
    }

    fn of(source: Source) -> Self {
        Self {
            source,
            states: chunk::states(),
            registry: None,
            queues: Vec::new(),
            queue_limits: Vec::new(),
            settings: Settings::default(),
            schedules: Vec::new(),
            layers: Vec::new(),
            hooks: Vec::new(),
            limiters: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// A worker for the database at this address, such as
    /// `postgres://user:password@host:5432/database`, with all jobs linked into the binary, for
    /// programs that have no pool. What the address leaves out is taken from the environment, as
    /// libpq does (`PGHOST`, `PGPASSWORD`, …). It connects once, to check that it can.
    ///
    /// Several hosts, as in `postgres://user@a:5432,b:5432/database`, are one database and its
    /// standbys: the worker uses the one that accepts writes, and follows a fail-over, which does
    /// not charge jobs an attempt.
    ///
    /// ```no_run
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let worker = jobkit::Worker::connect(&std::env::var("DATABASE_URL")?).await?;
    /// worker.queue("mail", 20).start().await?.run_until_signal().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Those of [`Admin::connect`](crate::Admin::connect).
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        reached(url).await.map(Self::of)
    }

    /// Sets the state that jobs with `impl Job<S>` get from
    /// [`JobContext::state`](crate::JobContext::state). Several states may be set, one of each
    /// type.
    pub fn state<S: Send + Sync + 'static>(mut self, state: S) -> Self {
        if !self.states.insert(state) {
            let name = std::any::type_name::<S>();
            self.problems.push(format!("the state `{name}` was given twice: set each type once"));
        }
        self
    }

    /// Enqueues this job repeatedly, at these times by the database's clock; any live worker does
    /// so. A worker stores the schedule when it starts; it never undoes what operators changed,
    /// paused or deleted. A schedule that is no longer in code continues until somebody deletes it.
    ///
    /// ```no_run
    /// # use jobkit::{Job, JobContext, Worker, job};
    /// # #[derive(serde::Serialize, serde::Deserialize)] #[job] struct Report { region: u8 }
    /// # impl Job for Report { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
    /// # async fn f(pool: sqlx::PgPool) -> Result<(), jobkit::error::StartError> {
    /// let worker = Worker::new(pool)
    ///     .queue("default", 5)
    ///     .schedule("report-1", "0 3 * * * Europe/Berlin", Report { region: 1 });
    /// # worker.start().await?; Ok(()) }
    /// ```
    ///
    /// See [`Times`](crate::schedule::Times) for the syntax and [`Schedule`] for the other
    /// settings. The name has 1 to 128 bytes, and identifies the schedule for all binaries.
    pub fn schedule(
        mut self,
        name: impl Into<String>,
        schedule: impl Into<Schedule>,
        job: impl Into<Draft>,
    ) -> Self {
        self.schedules.push(Declaration::new(name.into(), schedule.into(), job.into()));
        self
    }

    /// Puts a layer around the handlers of all jobs: see [`around`](crate::around). The first layer
    /// is the outermost.
    pub fn around(mut self, layer: impl Around) -> Self {
        self.layers.push((None, Arc::new(layer)));
        self
    }

    /// Puts a layer around the handlers of one type of job, inside the layers around all jobs.
    ///
    /// ```no_run
    /// # use jobkit::{Job, JobContext, Worker, around::Next, job};
    /// # #[derive(serde::Serialize, serde::Deserialize)] #[job] struct Report;
    /// # impl Job for Report { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
    /// # async fn f(pool: sqlx::PgPool) -> Result<(), jobkit::error::StartError> {
    /// let worker = Worker::new(pool).around_kind::<Report>(async |_: JobContext, next: Next| {
    ///     println!("a report begins");
    ///     next.run().await
    /// });
    /// # worker.start().await?; Ok(()) }
    /// ```
    pub fn around_kind<J: JobType>(mut self, layer: impl Around) -> Self {
        self.layers.push((Some(J::POLICY.kind), Arc::new(layer)));
        self
    }

    /// Calls `hook` for every event: see [`hooks`](crate::hooks). Several hooks are called one
    /// after the other.
    pub fn hook(mut self, hook: impl Fn(&Event) + Send + 'static) -> Self {
        self.hooks.push(Box::new(hook));
        self
    }

    /// Declares a [limiter](crate::limiter): how often running jobs get a slot of this name,
    /// whatever their kinds and across all processes.
    ///
    /// ```no_run
    /// # use jobkit::Worker;
    /// # use jobkit::policy::Rate;
    /// # async fn f(pool: sqlx::PgPool) -> Result<(), jobkit::error::StartError> {
    /// let stripe = Rate::per_minute(100).burst(10);
    /// let worker = Worker::new(pool).queue("billing", 20).limiter("stripe", stripe);
    /// # worker.start().await?; Ok(()) }
    /// ```
    ///
    /// If workers declare different rates, the one that started last decides; an operator's rate
    /// overrides it. A limiter must not have the name of a concurrency group.
    pub fn limiter(mut self, name: impl Into<String>, rate: Rate) -> Self {
        self.limiters.push(limiter::Declaration { name: name.into(), rate });
        self
    }

    /// Runs only jobs of these types (one, or up to twelve in parentheses), instead of all that are
    /// linked into the binary. Use it for a worker that serves some queues and has only the state
    /// of their jobs.
    ///
    /// ```no_run
    /// # use jobkit::{Job, JobContext, Worker, job};
    /// # #[derive(serde::Serialize, serde::Deserialize)] #[job] struct Receipt;
    /// # impl Job for Receipt { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
    /// # #[derive(serde::Serialize, serde::Deserialize)] #[job] struct Welcome;
    /// # impl Job for Welcome { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
    /// # async fn f(pool: sqlx::PgPool) -> Result<(), jobkit::error::StartError> {
    /// let worker = Worker::new(pool).only::<(Receipt, Welcome)>().queue("mail", 20);
    /// # worker.start().await?; Ok(()) }
    /// ```
    pub fn only<J: JobTypes>(mut self) -> Self {
        let (registry, problems) = Registry::only(&J::list());
        self.registry = Some(registry);
        self.problems.extend(problems);
        self
    }

    /// Runs only these jobs, instead of all that are linked into the binary: for tests, and for
    /// jobs declared without `#[job]`.
    ///
    /// ```ignore
    /// worker.jobs([Registration::of::<SendReceipt, _>(), Registration::of::<Welcome, _>()])
    /// ```
    pub fn jobs(mut self, registrations: impl IntoIterator<Item = Registration>) -> Self {
        self.registry = Some(Registry::of(registrations));
        self
    }

    /// The name of this process in lists of workers, 1 to 128 bytes; by default host and process
    /// id.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// Decodes a sample of the stored payloads as this worker would, without running any job: for
    /// each kind that it knows, the oldest and the newest 20 payloads of live jobs and of open dead
    /// letters. Run it before a deploy to find payloads that the new binary could not read:
    ///
    /// ```no_run
    /// # use jobkit::Worker;
    /// # async fn f(pool: sqlx::PgPool) -> Result<(), jobkit::error::StartError> {
    /// let worker = Worker::new(pool).queue("mail", 20);
    /// let found = worker.preflight().await?;
    /// println!("{found}");
    /// worker.start().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// It needs neither states nor queues. It looks at the oldest and the newest 10,000 jobs and
    /// open dead letters, and changes nothing.
    ///
    /// # Errors
    /// [`StartError::Unreadable`] lists what does not decode; otherwise as [`start`](Self::start),
    /// except for [`StartError::Problems`].
    pub async fn preflight(&self) -> Result<Preflight, StartError> {
        preflight::preflight(self).await
    }

    /// Checks everything, registers the worker and starts it.
    ///
    /// # Errors
    /// [`StartError::Problems`] lists all problems at once: missing state types, conflicting kinds
    /// or limits, settings out of range. [`StartError::TransactionPooler`];
    /// [`StartError::RowSecurity`]; [`StartError::Database`], which includes every
    /// [`SchemaError`](crate::error::SchemaError).
    pub async fn start(self) -> Result<WorkerHandle, StartError> {
        start::start(self).await
    }
}
