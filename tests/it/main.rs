//! Behaviour of jobkit against a real PostgreSQL.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod badinput;
mod enqueue;
mod jobs;
mod lifecycle;
mod mutants;
mod plans;
mod producers;
mod races;
mod statements;
