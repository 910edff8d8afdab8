//! What may go wrong: an error for each thing that you do, and what these have in common.
//!
//! | you | the error |
//! |---|---|
//! | enqueue, publish | [`EnqueueError`] |
//! | wait for the end of a job | [`WaitError`](crate::enqueue::wait::WaitError) |
//! | write a handler | [`ContextError`], [`Denied`](crate::limiter::Denied) |
//! | connect | [`ConnectError`], [`InvalidAddress`] |
//! | migrate | [`MigrateError`] |
//! | start a worker, or one on demand | [`StartError`], [`RunError`] |
//! | announce jobs | [`AnnounceError`] |
//! | look and act as an operator | [`AdminError`](crate::admin::AdminError) |
//!
//! Most have the same two variants: `Invalid`, an [`InvalidValue`] that was refused before anything
//! was sent, and `Database`, a [`DatabaseError`]. Each text is a sentence that says what is wrong,
//! and what to do about it.
//!
//! A function that does several of these things returns `Box<dyn std::error::Error>`, or whatever
//! holds any error where you work; a handler returns [`jobkit::Result`](crate::Result).

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

/// What is said where somebody else's open transaction has held something for a second.
pub(crate) const BUSY: &str = "another transaction has this locked; try again later";
