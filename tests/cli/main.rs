//! The command line, as a process, against a real PostgreSQL.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod act;
mod attention;
mod batches;
mod bench;
mod enqueue;
mod explained;
mod limits;
mod look;
#[path = "../admin/one_batch.rs"]
mod one_batch;
#[path = "../admin/one_kind.rs"]
mod one_kind;
mod refuse;
mod serve;
mod shell;
mod standby;
#[path = "../admin/world.rs"]
mod world;
