//! Errors: one type for each task, built from a few shared ones.
//!
//! | task | error |
//! |---|---|
//! | enqueue or publish | [`EnqueueError`] |
//! | wait for the end of a job | [`WaitError`](crate::enqueue::wait::WaitError) |
//! | call the context in a handler | [`ContextError`], [`Denied`](crate::limiter::Denied) |
//! | connect | [`ConnectError`], [`InvalidAddress`] |
//! | migrate | [`MigrateError`] |
//! | start a worker, or run one on demand | [`StartError`], [`RunError`] |
//! | announce jobs | [`AnnounceError`] |
//! | inspect and operate | [`AdminError`](crate::admin::AdminError) |
//!
//! Most of them share two variants: `Invalid` is an [`InvalidValue`] that was refused before
//! anything was sent, and `Database` is a [`DatabaseError`]. The text of an error says what is
//! wrong and what to do about it.
//!
//! A function that does several of these tasks can return `Box<dyn std::error::Error>`, or any type
//! that holds every error. A handler returns [`jobkit::Result`](crate::Result).

mod answer;
mod context;
mod database;
mod driver;
pub(crate) mod enqueue;
mod invalid;
mod migrate;
mod problems;
mod start;
mod text;

pub(crate) use self::answer::QUEUE_FULL;
pub use self::context::ContextError;
pub use self::database::{DatabaseError, SchemaError};
pub(crate) use self::enqueue::EnqueueError;
pub use self::enqueue::{EncryptError, QueueFull};
pub use self::invalid::InvalidValue;
pub use self::migrate::MigrateError;
pub use self::problems::StartProblems;
pub use self::start::{AnnounceError, ConnectError, InvalidAddress, RunError, StartError};

/// The text of errors about a lock that another transaction held for a second.
pub(crate) const BUSY: &str = "another transaction has this locked; try again later";
