//! Behaviour of jobkit against a real PostgreSQL.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod badinput;
mod enqueue;
mod examples;
mod jobs;
mod lifecycle;
mod migrations;
mod prune;
mod startup;
