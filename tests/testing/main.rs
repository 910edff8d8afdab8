//! The testing kit against a real PostgreSQL.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod completions;
mod conformance;
mod contexts;
mod drains;
mod enqueued;
mod faults;
mod jobs;
mod with_sqlx;
