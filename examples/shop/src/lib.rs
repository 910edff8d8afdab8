//! A shop whose slow work is done by jobs: what the web server and the worker have in common.
//!
//! Begin with [`orders`], where a job comes into being, then read the job types in [`jobs`]: each
//! shows one thing. [`web`] mounts the dashboard. [`partners`] plays the outside world. To try it,
//! with `DATABASE_URL` set:
//!
//! ```text
//! cargo run --package jobkit-shop --bin shop-worker &
//! cargo run --package jobkit-shop --bin shop-web &
//! curl localhost:3000/orders --json '{"email": "a@b.c", "sku": "1", "cents": 9, "card": "tok"}'
//! ```

#![allow(missing_docs, reason = "an application: what its name explains needs no more words")]

use std::sync::Arc;

use anyhow::Context;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tracing_subscriber::EnvFilter;

use crate::partners::Partners;

pub mod jobs;
pub mod orders;
pub mod partners;
pub mod web;

/// What every handler gets from `cx.state()`.
#[derive(Debug, Clone)]
pub struct Shop {
    /// The application's pool. The worker has connections of its own, so handlers that use this one
    /// up wait for each other and never for the queue.
    pub pool: PgPool,
    /// The mail server, the card provider, and so on.
    pub partners: Arc<Partners>,
}

/// Connects to the database in `DATABASE_URL` and brings its tables up to date.
pub async fn open() -> anyhow::Result<PgPool> {
    // The filter may be `warn`: events about an attempt say themselves which job it was.
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let url = std::env::var("DATABASE_URL").context("set DATABASE_URL")?;
    let pool = PgPoolOptions::new().max_connections(20).connect(&url).await?;
    migrate(&pool).await?;
    Ok(pool)
}

/// Makes the tables of jobkit and those of the shop. Both binaries call it, and either may be the
/// first: it does nothing when there is nothing to do.
pub async fn migrate(pool: &PgPool) -> anyhow::Result<()> {
    jobkit::migrate(pool).await?;
    // Several statements in one message are one transaction, which holds the lock in there.
    sqlx::raw_sql(include_str!("tables.sql")).execute(pool).await?;
    Ok(())
}
