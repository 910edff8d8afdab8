//! Behaviour of jobkit against a real PostgreSQL.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod badinput;
mod enqueue;
mod examples;
mod jobs;
mod lifecycle;
mod migrations;
mod mutants;
mod plans;
mod producers;
mod prune;
mod races;
mod startup;
mod statements;
