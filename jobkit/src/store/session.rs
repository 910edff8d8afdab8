//! The session settings that the engine's statements rely on, whatever the defaults of the role and
//! the database are.
//!
//! A worker owns its sessions and sets them up once. An operator may share sessions with other
//! clients, through a transaction pooler: each call is a transaction that sets up its own settings
//! and leaves none behind.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection, Row};

use super::{Call, One, Statement};
use crate::error::{DatabaseError, StartError};

/// How long the engine waits for the database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadlines {
    /// For a call, with everything it waits for; also the server's `statement_timeout`.
    pub(crate) call: Duration,
    /// For one lock.
    pub(crate) lock: Duration,
}

/// How the server plans what it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plans {
    /// By its statistics.
    Free,
    /// Once for all calls, by indexes, whatever the statistics are then: what `claim` and `settle`
    /// need. In a session without these settings they set them at each call.
    Standing,
    /// By indexes if there are any, whatever the statistics are: for bounded reads of tables of any
    /// size.
    ByIndex,
    /// By indexes in whose order rows are wanted: a page must not sort the whole table.
    InOrder,
}

/// How long an operator's transaction may be idle before it is rolled back, so that a client that
/// freezes before its commit does not block others for longer than a pause may.
const IDLE: Duration = Duration::from_secs(2);

/// How often two connections are asked for their backend.
const LOOKS: usize = 6;

/// Refuses an address at which a connection does not keep a session, before anything is set there.
///
/// Two connections are asked which process serves them, without preparing anything. The same
/// process for both, or a different one than before, means a transaction pooler. They are asked in
/// the order 0, 1, 1, 0, 0, …, so that a pooler that assigns its sessions round robin is found,
/// too.
///
/// # Errors
/// [`StartError::TransactionPooler`], and errors of the check itself.
pub(super) async fn require_own(options: &PgConnectOptions) -> Result<(), StartError> {
    match has_own(options).await.map_err(DatabaseError::from)? {
        true => Ok(()),
        false => Err(StartError::TransactionPooler),
    }
}

async fn has_own(options: &PgConnectOptions) -> sqlx::Result<bool> {
    let options = options.clone().extra_float_digits(None);
    let mut connections = [options.connect().await?, options.connect().await?];
    let mut pids = [None, None];
    for look in 0..LOOKS {
        for at in [look % 2, 1 - look % 2] {
            let (connection, pid) = (&mut connections[at], &mut pids[at]);
            let ask = sqlx::raw_sql("select pg_catalog.pg_backend_pid() as pid");
            let now: i32 = ask.fetch_one(connection).await?.try_get("pid")?;
            if pid.replace(now).is_some_and(|before| before != now) {
                return Ok(false);
            }
        }
        if pids[0] == pids[1] {
            return Ok(false);
        }
    }
    for connection in connections {
        connection.close().await?;
    }
    Ok(true)
}

/// Sets up a worker's session.
///
/// # Errors
/// [`DatabaseError::ReadOnly`] on a server that only reads: a standby, after fail-over.
pub(super) async fn own(
    connection: &mut PgConnection,
    deadlines: Deadlines,
    plans: Plans,
) -> Result<(), DatabaseError> {
    let idle = deadlines.call;
    let reads_only = set(connection, Scope::Session, deadlines, idle, plans).await?;
    if reads_only { Err(DatabaseError::ReadOnly) } else { Ok(()) }
}

/// Sets how long a worker's session waits for a lock, until this is set again.
pub(super) async fn wait_for_locks(
    connection: &mut PgConnection,
    lock: Duration,
) -> sqlx::Result<()> {
    Statement::<()>::new("select pg_catalog.set_config('lock_timeout', $1, false)")
        .bind(milliseconds(lock))
        .call(connection)
        .await
}

fn milliseconds(time: Duration) -> String {
    time.as_millis().max(1).to_string()
}

/// Makes an operator's call, in a transaction of its own.
pub(super) async fn for_operator<C: Call>(
    connection: &mut PgConnection,
    deadlines: Deadlines,
    plans: Plans,
    call: &C,
) -> sqlx::Result<C::Answer> {
    let mut tx = connection.begin_with("begin isolation level read committed").await?;
    let answer = match set(&mut tx, Scope::Transaction, deadlines, IDLE, plans).await {
        Ok(_) => call.call(&mut tx).await,
        Err(error) => Err(error),
    };
    // Sent now in either case: if only queued, it would wait for the next call.
    let ended = if answer.is_ok() { tx.commit().await } else { tx.rollback().await };
    let answer = answer?;
    ended.map(|()| answer)
}

/// How long a setting lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Session,
    Transaction,
}

/// Sets everything, and returns whether this server is read-only.
async fn set(
    connection: &mut PgConnection,
    scope: Scope,
    deadlines: Deadlines,
    idle: Duration,
    plans: Plans,
) -> sqlx::Result<bool> {
    let on = |on| if on { "on" } else { "off" };
    let mode = match (scope, plans) {
        (Scope::Transaction, _) => "force_custom_plan",
        (Scope::Session, Plans::Standing) => "force_generic_plan",
        (Scope::Session, _) => "auto",
    };
    let set = Statement::<One<bool>>::new(include_str!("sql/session_set.sql"))
        .bind(scope == Scope::Transaction)
        .bind(milliseconds(deadlines.call))
        .bind(milliseconds(deadlines.lock))
        .bind(milliseconds(idle))
        .bind(on(plans == Plans::Free))
        .bind(on(matches!(plans, Plans::Free | Plans::ByIndex)))
        .bind(on(plans != Plans::InOrder))
        .bind(mode);
    set.call(connection).await
}
