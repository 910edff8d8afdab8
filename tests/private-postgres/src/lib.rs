//! A private PostgreSQL for examples, tests and benchmarks.
//!
//! [`url`] is all that most callers need: it gives the URL of a server that is running. With
//! `DATABASE_URL` set it is that server; otherwise it is the project's own cluster, which lives in
//! `.postgres/` beside `Cargo.lock`, is made on first use and keeps its data for the next run.
//! [`Cluster::throwaway`] makes a cluster for one test, to be stopped and crashed at will.
//!
//! Nothing is downloaded: the server programs must be installed. Servers listen on 127.0.0.1 only
//! and trust every local user, so this is for development machines, not for data that matters.
//! A project's server goes on running when the process ends, since the next test binary wants it;
//! [`stop`] ends it.

mod account;
mod cluster;
mod host;
mod pooler;
mod port;
mod programs;
mod project;
mod server;

use std::path::PathBuf;

use anyhow::Result;

pub use crate::cluster::Cluster;
pub use crate::pooler::Pooler;

/// What a project's cluster is for; each purpose has a cluster of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Examples and benchmarks: the server's default settings, so commits are durable.
    Demo,
    /// Tests: nothing is flushed to disk, there is room for 300 connections, and statements are
    /// counted where the server has `pg_stat_statements`.
    Test,
}

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Open transactions are rolled back, connections closed, everything written to disk.
    Fast,
    /// As if it had crashed: the next start recovers from the log.
    Immediate,
}

/// The URL of a running server's maintenance database.
///
/// `DATABASE_URL` wins when it is set and not empty; otherwise the project's cluster is made and
/// started as needed. Any number of processes may ask at the same time.
///
/// # Errors
///
/// When the server programs are not installed (the message says what to install), or when the
/// cluster does not start (the message ends with the last lines of the server's log).
pub fn url(purpose: Purpose) -> Result<String> {
    match given_url() {
        Some(url) => Ok(url),
        None => project::Project::find()?.url(purpose),
    }
}

/// Stops the project's cluster; false when another process uses it, which leaves it running.
///
/// A server named by `DATABASE_URL` is never touched.
///
/// # Errors
///
/// When the server programs are not installed, or the server does not stop within a minute.
pub fn stop(purpose: Purpose) -> Result<bool> {
    match given_url() {
        Some(_) => Ok(true),
        None => project::Project::find()?.stop(purpose),
    }
}

/// The folder of the server programs that are used.
///
/// # Errors
///
/// When there is none; the message has three lines that say what to install.
pub fn programs() -> Result<PathBuf> {
    Ok(programs::Programs::find()?.path(""))
}

/// A program that most systems install with the server's, like `pg_dump`; `None` where it is not.
///
/// # Errors
///
/// As [`programs`].
pub fn program(name: &str) -> Result<Option<PathBuf>> {
    Ok(Some(programs::Programs::find()?.path(name)).filter(|path| path.is_file()))
}

fn given_url() -> Option<String> {
    std::env::var("DATABASE_URL").ok().filter(|url| !url.is_empty())
}
