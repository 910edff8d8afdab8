//! Behaviour of jobkit against a real PostgreSQL.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod jobs;
mod lifecycle;
mod mutants;
mod plans;
mod producers;
mod queues;
mod races;
mod statements;
