//! Statements of the testing kit.

use std::pin::Pin;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgConnection;
use sqlx::postgres::types::PgInterval;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::Call;
use super::announce::{SaidLimit, json};
use super::ask::Ask;
use super::call::{Statement, column, statements};
use super::read::{One, from_row};
use crate::error::DatabaseError;
use crate::policy::Policy;

statements! {
    /// The live jobs of these kinds, by their ids.
    fn stored_jobs(kinds: &[&str]) -> Vec<StoredJob> = include_str!("sql/jobs_stored.sql");

    /// The kinds of live jobs, and how many there are of each.
    fn kinds_stored() -> Vec<(String, i64)>
        = "select kind, count(*) from jobkit.jobs group by kind order by kind";

    /// The queues with ready jobs, that of the oldest first.
    fn queues_ready() -> Vec<String>
        = "select queue from jobkit.ready group by queue order by min(job_id)";

    /// How long ago the transaction began.
    fn transaction_age() -> One<Duration> = "select clock_timestamp() - now()";

    /// Reaps a worker, lapsed or not.
    fn lose_lease(worker: i64) -> Option<i64> = include_str!("sql/tests_lose_lease.sql");

    /// Ends the sessions of the database that listen; returns how many.
    fn drop_listeners() -> One<u32>
        = "select count(*) from pg_catalog.pg_stat_activity a, pg_terminate_backend(a.pid)
            where a.datname = current_database() and a.application_name = 'jobkit listen'";

    /// Lets time pass: moves everything that has a time into the past.
    fn shift_times(by: PgInterval) -> () = include_str!("sql/tests_advance.sql");
}

/// The state of a database for a drain.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// All kinds are announced.
    pub(crate) announced: bool,
    /// Their limits and rates are as declared.
    pub(crate) limited: bool,
    /// The history has partitions for the days to come.
    pub(crate) has_days: bool,
    /// A job or a concurrency key waits for a time.
    pub(crate) waits: bool,
    /// The queues of live jobs, whatever their state.
    pub(crate) queues: Vec<String>,
    /// The queues with ready jobs, that of the oldest first.
    pub(crate) ready: Vec<String>,
}

from_row! { Prepared { announced, limited, has_days, waits, queues, ready } }

/// How far the database is prepared for these kinds, and for this many days of history.
pub(crate) fn prepared(policies: &[Policy], days: i32) -> Statement<One<Prepared>> {
    Statement::new(include_str!("sql/tests_prepared.sql"))
        .bind(column(policies, |policy| policy.kind))
        .bind(days)
        .bind(json(&SaidLimit::groups(policies)))
}

/// A live job, wherever it is.
#[derive(Debug)]
pub(crate) struct StoredJob {
    pub(crate) id: i64,
    pub(crate) kind: String,
    pub(crate) version: u16,
    pub(crate) queue: String,
    pub(crate) priority: i16,
    pub(crate) attempt: u32,
    pub(crate) max_attempts: u16,
    pub(crate) run_at: DateTime<Utc>,
    pub(crate) created_at: DateTime<Utc>,
    /// After how long it is due, unless it is due now.
    pub(crate) due_in: Option<Duration>,
    pub(crate) concurrency_key: Option<String>,
    pub(crate) dead_letter_key: Option<String>,
    pub(crate) unique_key: Option<String>,
    pub(crate) args: String,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Option<Value>,
    pub(crate) expires: Option<Duration>,
    pub(crate) retry_for: Option<Duration>,
    pub(crate) state: String,
}

from_row! {
    StoredJob { id, kind, version, queue, priority, attempt, max_attempts, run_at, created_at,
        due_in, concurrency_key, dead_letter_key, unique_key, args, tags, metadata, expires,
        retry_for, state }
}

/// Calls of handlers, on their way to the owner of the connection.
pub(crate) type Mailbox = UnboundedReceiver<Asked>;

type Made<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A call of a handler, with the channel for its answer.
pub(crate) struct Asked(Box<dyn FnOnce(&mut PgConnection) -> Made<'_> + Send>);

impl Asked {
    pub(crate) async fn make(self, connection: &mut PgConnection) {
        (self.0)(connection).await;
    }
}

/// The two ends of a channel for the calls of handlers.
pub(crate) fn mailbox() -> (UnboundedSender<Asked>, Mailbox) {
    unbounded_channel()
}

impl Ask for UnboundedSender<Asked> {
    async fn ask<C: Call + Send + 'static>(&self, call: C) -> Result<C::Answer, DatabaseError> {
        let (answers, answer) = oneshot::channel();
        let asked = Asked(Box::new(move |connection| {
            Box::pin(async move {
                // A dropped handler does not wait for an answer.
                let _waits = answers.send(call.call(connection).await);
            })
        }));
        let gone = |()| DatabaseError::Unreachable(sqlx::Error::WorkerCrashed);
        self.send(asked).map_err(|_| gone(()))?;
        Ok(answer.await.map_err(|_| gone(()))??)
    }
}
