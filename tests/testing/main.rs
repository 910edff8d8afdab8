//! The testing kit against a real PostgreSQL.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod contexts;
mod enqueued;
