//! The operator's view: [`Admin`], and a module for each noun with the types of its methods.
//!
//! Nothing in the runtime depends on this module. Each folder has the types of its noun, the
//! methods of [`Admin`], what acts on one of them in `reference.rs`, and their statements in
//! `statements.rs` and `sql/`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sqlx::PgPool;

use crate::enqueue::wait::hub::Hub;
use crate::error::DatabaseError;
use crate::store::{Call, Deadlines, IdleConnections, Link, Plans, Source};

mod columns;
mod connect;
mod count;
mod error;
mod payload;
mod severity;

pub mod audit;
pub mod batches;
pub mod dead_letters;
pub mod doctor;
pub mod encryption;
pub mod explain;
pub mod jobs;
pub mod kinds;
pub mod limits;
pub mod measures;
pub mod operations;
pub mod overview;
pub mod queues;
pub mod roles;
pub mod schedules;
pub mod semaphores;
pub mod stuck;
pub mod topics;
pub mod workers;

pub use self::count::Count;
pub use self::error::AdminError;
pub use self::payload::Payload;
pub use self::severity::Severity;

/// The operator's view of the queue, for scripts, tests and dashboards.
///
/// It lists, counts and searches. Methods on one job, one schedule and so on are those of a
/// reference to it, which is created without a query:
///
/// | reference | methods |
/// |---|---|
/// | [`job`](Self::job) | [`get`, `explain`, `await_end`](jobs::JobRef) |
/// | | [`cancel`, `discard`, `reschedule`](jobs::JobRef) |
/// | [`dead_letter`](Self::dead_letter) | [`get`, `discard`](dead_letters::DeadLetterRef) |
/// | | [`replay`](dead_letters::DeadLetterRef::replay) |
/// | [`cause`](Self::cause) of dead letters | [`note`, `mute`, `unmute`](dead_letters::CauseRef) |
/// | [`batch`](Self::batch) | [`get`, `members`, `cancel`](batches::BatchRef) |
/// | [`operation`](Self::operation) | [`get`, `results`](operations::OperationRef) |
/// | | [`run`, `cancel`](operations::OperationRef) |
/// | [`schedule`](Self::schedule) | [`get`, `runs`, `run`](schedules::ScheduleRef) |
/// | | [`create`, `edit`, `pause`, `resume`, `delete`](schedules::ScheduleRef) |
/// | [`worker`](Self::worker) | [`get`, `gone`, `stop`](workers::WorkerRef) |
/// | [`topic`](Self::topic) | [`publish`, `unsubscribe`](topics::TopicRef) |
/// | [`attention`](Self::attention) | [`acknowledge`, `unacknowledge`](overview::AttentionRef) |
///
/// Methods on many of them, and on the whole system:
///
/// | about | method | what it does |
/// |---|---|---|
/// | connecting | [`new`](Self::new) | through a pool |
/// | | [`connect`](Self::connect) | at an address |
/// | | [`connect_lazy`](Self::connect_lazy) | at an address, connecting later |
/// | | [`pool`](Self::pool) | the pool that it was created with |
/// | | [`migrate`](Self::migrate) | installs or upgrades the schema |
/// | [jobs] | [`jobs`](Self::jobs) | a page of a search |
/// | | [`count_jobs`](Self::count_jobs) | how many a search finds |
/// | | [`count_listings`](Self::count_listings) | the numbers on a row of tabs |
/// | | [`enqueue`](Self::enqueue) | enqueues one, by the name of its kind |
/// | [dead_letters] | [`dead_letters`](Self::dead_letters) | a page of jobs that failed for good |
/// | | [`count_dead_letters`](Self::count_dead_letters) | how many there are |
/// | | [`dead_letter_groups`](Self::dead_letter_groups) | the open ones, by cause |
/// | | [`whole_dead_letters`](Self::whole_dead_letters) | several, with everything stored |
/// | [batches] | [`batches`](Self::batches) | sets of jobs with callbacks |
/// | [operations] | [`preview`](Self::preview) | what a bulk operation would act on |
/// | | [`begin_operation`](Self::begin_operation) | begins a bulk operation; workers carry it out |
/// | | [`operations`](Self::operations) | the latest, with their progress |
/// | [queues] | [`queues`](Self::queues) | backlogs and workers |
/// | [limits] | [`limits`](Self::limits) | what is limited or paused |
/// | | [`limit`](Self::limit) | one limit, to show, set, pause or resume it |
/// | | [`queue`](Self::queue) | the limit of a queue |
/// | | [`kind`](Self::kind) | the limit of a kind |
/// | | [`group`](Self::group) | the limit of the keys of a group |
/// | | [`limiter`](Self::limiter) | the limit of the keys of a limiter |
/// | | [`key`](Self::key) | the limit of one key |
/// | | [`everything`](Self::everything) | the pause of everything |
/// | [schedules] | [`schedules`](Self::schedules) | jobs that recur |
/// | [semaphores] | [`semaphores`](Self::semaphores) | a page of keys and their permits |
/// | | [`semaphore`](Self::semaphore) | one key: its holders and its waiting jobs |
/// | | [`paused_keys`](Self::paused_keys) | how many keys are paused |
/// | [workers] | [`workers`](Self::workers) | what each serves |
/// | | [`worker_names`](Self::worker_names) | their names |
/// | [kinds] | [`kinds`](Self::kinds) | the kinds that workers know |
/// | [topics] | [`topics`](Self::topics) | topics and their subscribers |
/// | [measures] | [`measures`](Self::measures) | run times, waits, outcomes over time |
/// | [overview] | [`overview`](Self::overview) | the status, and what needs attention |
/// | | [`late_after`](Self::late_after) | after how long a wait needs attention |
/// | | [`standby_awaited`](Self::standby_awaited) | whether commits wait for a standby |
/// | [doctor] | [`doctor`](Self::doctor) | problems of the database |
/// | | [`violations`](Self::violations) | rows that should not exist |
/// | | [`server_settings`](Self::server_settings) | settings of the server |
/// | [encryption] | [`sealed`](Self::sealed) | which keys payloads are sealed with |
/// | | [`reseal`](Self::reseal) | seals them with another key |
/// | [audit] | [`acting_as`](Self::acting_as) | sets the name of the actor |
/// | | [`audit`](Self::audit) | who did what |
///
/// It opens its own connections, with the pool's options. It uses its own isolation level and
/// deadlines, not those of the pool. Connections may go through a transaction pooler: each call is
/// a transaction and leaves no state in the session. Clones share connections. A few are kept for a
/// minute after their last call, except those whose call failed or was dropped early.
///
/// On a read-only server (a standby, or with `default_transaction_read_only`) it can read, and
/// every change fails with [`DatabaseError::ReadOnly`].
///
/// # Errors
/// Every method that queries the database may fail with [`AdminError::Database`], of any kind: a
/// statement may take 5 s ([`DatabaseError::Deadline`]), and each connection checks the schema once
/// ([`DatabaseError::Schema`]). A method's own section lists only further errors.
#[derive(Debug, Clone)]
pub struct Admin {
    source: Source,
    idle: Arc<IdleConnections>,
    waits: Arc<Hub>,
    /// The actor, for the audit.
    actor: Option<Arc<str>>,
    /// After how long a wait is mentioned.
    late: Duration,
}

/// After how long a wait is mentioned, by default.
const LATE: Duration = Duration::from_secs(5 * 60);

/// How long a statement may take.
const PATIENCE: Duration = Duration::from_secs(5);

impl Admin {
    /// How often a call looks for jobs that are just moving.
    const TRIES: u32 = 3;

    /// The view of the database behind this pool.
    #[must_use]
    pub fn new(pool: &PgPool) -> Self {
        Self::of(pool.clone().into())
    }

    fn of(source: Source) -> Self {
        let waits = Arc::new(Hub::new(source.clone()));
        Self { source, idle: Arc::default(), waits, actor: None, late: LATE }
    }

    fn link(&self) -> Link {
        self.link_for(PATIENCE).reusing(&self.idle, Plans::ByIndex)
    }

    /// A connection for lists.
    fn list_link(&self) -> Link {
        self.link_for(PATIENCE).reusing(&self.idle, Plans::InOrder)
    }

    /// A connection that is not kept, on which a statement may take this long.
    fn link_for(&self, call: Duration) -> Link {
        let deadlines = Deadlines { call, lock: call.mul_f64(0.8) };
        Link::new("admin", self.source.clone(), deadlines).of_operator()
    }

    /// Makes one call.
    async fn ask<C: Call>(&self, call: &C) -> Result<C::Answer, AdminError> {
        let mut link = self.link();
        let answer = link.call(call).await?;
        link.close().await;
        Ok(answer)
    }
}

/// The text of our function that refused a call.
fn refusal(error: &DatabaseError) -> String {
    let text = error.to_string();
    let text = text.strip_prefix("database error: ").unwrap_or(&text);
    text.strip_prefix("jobkit: ").unwrap_or(text).to_owned()
}

/// The JSON of a filter, with only the fields that are set.
fn without_nulls(mut filter: Value) -> Value {
    if let Some(fields) = filter.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    filter
}

/// Waits for a transaction that holds a job, before another attempt: 5 ms, then 10, 20, ….
async fn let_hands_change(attempt: u32) {
    if attempt > 0 {
        tokio::time::sleep(Duration::from_millis(5 << (attempt - 1).min(5))).await;
    }
}
