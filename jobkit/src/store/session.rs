//! What the engine's statements rely on in a session, whatever the defaults of the role and the
//! database are.
//!
//! A worker owns its sessions and sets them up once. An operator may share them with strangers,
//! through a transaction pooler: each of his calls is a transaction that sets up itself, and leaves
//! nothing behind.

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
    /// As its statistics say.
    Free,
    /// Once for every call, by indexes, whatever the statistics said then: what `claim` and
    /// `settle` need. Where a session has no such settings they make them at each call.
    Standing,
    /// By indexes where there are any, whatever the statistics say: for bounded looks at tables of
    /// any size.
    ByIndex,
    /// By indexes alone, in whose order rows are wanted: a page must not cost a sort of everything
    /// there is.
    InOrder,
}

/// How long an operator's transaction may wait for its client before it is rolled back: whoever
/// freezes between a call and its commit keeps others waiting no longer than a pause may.
const IDLE: Duration = Duration::from_secs(2);

/// How often two connections are asked whose session they have.
const LOOKS: usize = 6;

/// Refuses an address where a connection has no session of its own, before anything is set there.
///
/// Two connections are asked which process serves them, without preparing anything. The same one
/// for both, or another one than before, is a transaction pooler. They are asked in the order 0, 1,
/// 1, 0, 0, …, so that one which deals its sessions out in turn is found, too.
///
/// # Errors
/// [`StartError::TransactionPooler`], and whatever keeps it from asking.
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
    // In either case now: what is only queued would wait for the next call.
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

/// Sets all; and says whether this server only reads.
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
