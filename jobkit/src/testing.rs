//! Tools for testing jobs and the code that enqueues them; the feature `testing`.
//!
//! | to | use |
//! |---|---|
//! | call a handler in its first or last attempt, or while it is being stopped | [`context`] |
//! | check what a handler requests | [`JobError::verdict`](crate::JobError::verdict) |
//! | check what was and was not enqueued | [`assert_enqueued`], [`refute_enqueued`], [`enqueued`] |
//! | run ready jobs, and check their outcomes | [`Drain`] |
//! | make delayed, snoozed or scheduled jobs due | [`advance`] |
//! | take away a worker's lease or its wake-ups | [`lose_lease`], [`drop_listeners`] |
//! | make its next write of outcomes fail | `WorkerHandle::fail_next_settle` |
//! | check that payloads of old releases can be read | [`assert_decodes`] |
//!
//! Everything except the tools for workers happens in a transaction of the test, which is rolled
//! back at the end, so a test needs no database of its own. [`begin`] prepares a database and
//! begins such a transaction.

mod context;
mod decodes;
mod drain;
mod draining;
mod enqueued;
mod expect;
mod faults;
mod prepare;
mod report;
mod session;
mod time;

pub use self::context::{ContextBuilder, Stops, context};
pub use self::decodes::assert_decodes;
pub use self::drain::Drain;
pub use self::enqueued::{Enqueued, enqueued};
pub use self::expect::{AssertEnqueued, RefuteEnqueued, assert_enqueued, refute_enqueued};
pub use self::faults::{drop_listeners, lose_lease};
pub use self::prepare::{BeginError, begin};
pub use self::report::{Report, Run, RunOutcome};
pub use self::session::Session;
pub use self::time::advance;
#[doc(hidden)]
pub use crate::migrate::migrate_further;
pub use crate::worker::SettleFault;
