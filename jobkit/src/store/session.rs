//! What the engine's statements rely on in a session, whatever the defaults of the role and the
//! database are.
//!
//! A worker owns its sessions and sets them up once. An operator may share them with strangers,
//! through a transaction pooler: each of his calls is a transaction that sets up itself, and leaves
//! nothing behind.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, Row};

use super::Call;
use super::link::{Deadlines, Plans};
use crate::Error;

/// How long an operator's transaction may wait for its client before it is rolled back: whoever
/// freezes between a call and its commit keeps others waiting no longer than a pause may.
const IDLE: &str = "2s";

/// How often two connections are asked whose session they have.
const LOOKS: usize = 4;

/// Refuses an address where a connection has no session of its own, before anything is set there.
///
/// Two connections are asked in turn which process serves them, without preparing anything. The
/// same one for both, or another one than before, is a transaction pooler.
///
/// # Errors
/// [`Error::TransactionPooler`], and whatever keeps it from asking.
pub(super) async fn require_own(options: &PgConnectOptions) -> Result<(), Error> {
    let options = options.clone().extra_float_digits(None);
    let mut connections = [options.connect().await?, options.connect().await?];
    let mut pids = [None, None];
    for _ in 0..LOOKS {
        for (connection, pid) in connections.iter_mut().zip(&mut pids) {
            let ask = sqlx::raw_sql("select pg_catalog.pg_backend_pid() as pid");
            let now: i32 = ask.fetch_one(connection).await?.try_get("pid")?;
            if pid.replace(now).is_some_and(|before| before != now) {
                return Err(Error::TransactionPooler);
            }
        }
        if pids[0] == pids[1] {
            return Err(Error::TransactionPooler);
        }
    }
    for connection in connections {
        connection.close().await?;
    }
    Ok(())
}

/// Sets up a worker's session.
///
/// # Errors
/// [`Error::ReadOnly`] on a server that only reads: a standby, after fail-over.
pub(super) async fn own(connection: &mut PgConnection, deadlines: Deadlines) -> Result<(), Error> {
    let call = milliseconds(deadlines.call);
    let own = [
        ("default_transaction_isolation", "read committed"),
        ("default_transaction_read_only", "off"),
        ("idle_in_transaction_session_timeout", &*call),
        ("idle_session_timeout", "0"),
    ];
    let text = settings(Scope::Session, deadlines, Plans::Free, &own);
    let row = sqlx::raw_sql(AssertSqlSafe(text)).fetch_one(connection).await?;
    if row.try_get("reads_only")? { Err(Error::ReadOnly) } else { Ok(()) }
}

/// Makes an operator's call, in a transaction of its own.
pub(super) async fn visit<C: Call>(
    connection: &mut PgConnection,
    deadlines: Deadlines,
    plans: Plans,
    call: &C,
) -> sqlx::Result<C::Answer> {
    let own = [("idle_in_transaction_session_timeout", IDLE)];
    let text = settings(Scope::Transaction, deadlines, plans, &own);
    let begin = ["begin isolation level read committed; ", &text].concat();
    let answer = match sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut *connection).await {
        Ok(_) => call.call(connection).await,
        Err(error) => Err(error),
    };
    // What it has prepared has names, which a stranger would find taken.
    let forgotten = connection.clear_cached_statements().await;
    let end = if answer.is_ok() { "commit" } else { "rollback" };
    let ended = sqlx::raw_sql(end).execute(connection).await;
    let answer = answer?;
    forgotten.and(ended.map(|_| answer))
}

/// How long a setting lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Session,
    Transaction,
}

/// One statement that sets all, without parameters, so that it can go with a `begin`. Its text is
/// made of our own words and numbers. Every name in it is written out: until it has run, the
/// `search_path` is anything.
fn settings(scope: Scope, deadlines: Deadlines, plans: Plans, own: &[(&str, &str)]) -> String {
    let on = |on| if on { "on" } else { "off" };
    let (call, lock) = (milliseconds(deadlines.call), milliseconds(deadlines.lock));
    let (any, free) = (on(plans == Plans::Free), on(plans != Plans::InOrder));
    let all = [
        ("search_path", "pg_catalog, pg_temp"),
        ("statement_timeout", &*call),
        ("lock_timeout", &*lock),
        ("standard_conforming_strings", "on"),
        ("timezone", "UTC"),
        // None of our statements runs for so long that compiling it pays.
        ("jit", "off"),
        ("enable_seqscan", any),
        ("enable_bitmapscan", free),
        ("enable_sort", free),
        ("enable_hashjoin", free),
        ("enable_mergejoin", free),
    ];
    let local = scope == Scope::Transaction;
    let set =
        |name: &str, value: &str| format!("pg_catalog.set_config('{name}', '{value}', {local})");
    let mut columns: Vec<String> =
        all.iter().chain(own).map(|(name, value)| set(name, value)).collect();
    if plans != Plans::Free {
        // A plan for any filter would follow no filter's index.
        columns.push(set("plan_cache_mode", "force_custom_plan"));
    }
    let case = |when: &str, then: &str| format!("case when {when} then {then} end");
    columns.extend([
        // So that a statement which waits for a lock ends with its client; only Linux always can.
        case(
            "pg_catalog.strpos(pg_catalog.version(), 'linux') operator(pg_catalog.>) 0",
            &set("client_connection_check_interval", "1s"),
        ),
        // Of PostgreSQL 17 and later.
        case(
            "pg_catalog.current_setting('transaction_timeout', true) is not null",
            &set("transaction_timeout", "0"),
        ),
        // Triggers and foreign keys do their work. Only a superuser may say so, or need to.
        case(
            "pg_catalog.current_setting('session_replication_role') \
             operator(pg_catalog.<>) 'origin'",
            &set("session_replication_role", "origin"),
        ),
        "pg_catalog.pg_is_in_recovery() as reads_only".to_owned(),
    ]);
    format!("select {}", columns.join(", "))
}

fn milliseconds(time: Duration) -> String {
    time.as_millis().max(1).to_string()
}
