//! The shop against a real PostgreSQL: each test has a database of its own.

mod jobs;
mod orders;
mod processes;
mod stage;
