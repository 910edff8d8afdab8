use std::time::Duration;

use sqlx::PgPool;

use crate::error::ConnectError;
use crate::store::{Deadlines, Link, Source};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Creates a pool of connections to the database at this address, such as
/// `postgres://user:password@host:5432/database`, for a program that has no pool yet. It has at
/// most 16 connections. What the address leaves out is taken from the environment, as libpq does
/// (`PGHOST`, `PGPASSWORD`, …).
///
/// Unlike sqlx's own constructors, it fails immediately if it cannot connect, and its error says in
/// a sentence what is wrong. Your own pool works as well. If the address has several hosts, the
/// pool is for the one that accepts writes now; [`Worker::connect`](crate::Worker::connect) follows
/// a fail-over.
///
/// ```no_run
/// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = jobkit::connect(&std::env::var("DATABASE_URL")?).await?;
/// jobkit::migrate(&pool).await?;
/// # Ok(()) }
/// ```
///
/// # Errors
/// Those of [`Admin::connect`](crate::Admin::connect).
pub async fn connect(url: &str) -> Result<PgPool, ConnectError> {
    Ok(reached(url).await?.pool().clone())
}

/// The database at this address, once it was connected to.
///
/// # Errors
/// Why it could not be connected to.
pub(crate) async fn reached(url: &str) -> Result<Source, ConnectError> {
    let source = Source::at(url)?;
    let deadlines = Deadlines { call: PATIENCE, lock: PATIENCE.mul_f64(0.8) };
    let link = Link::new("start", source.clone(), deadlines).of_operator();
    link.open_if_closed().await?;
    link.close().await;
    Ok(source)
}
