//! Tools to test jobs, and the code that enqueues them; the feature `testing`.
//!
//! | to | take |
//! |---|---|
//! | call a handler as its first attempt or its last, or while it is stopped | [`context`] |
//! | see what a handler asks for | [`JobError::verdict`](crate::JobError::verdict) |
//! | see what was enqueued, and was not | [`assert_enqueued`], [`refute_enqueued`], [`enqueued`] |
//! | run what is ready, and see what became of it | [`Drain`] |
//! | make what is delayed, snoozed or scheduled due | [`advance`] |
//! | take away a worker's lease or its wake-ups | [`lose_lease`], [`drop_listeners`] |
//! | … or the answer to its writes of outcomes | `WorkerHandle::fail_next_settle` |
//! | see that what old releases stored can be read | [`assert_decodes`] |
//!
//! Everything but the tools for workers happens in a transaction of the test, which is rolled back
//! at its end, so a test needs no database of its own. [`begin`] begins one, on a database that it
//! makes ready.

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
pub use self::report::{Outcome, Report, Run};
pub use self::session::Session;
pub use self::time::advance;
#[doc(hidden)]
pub use crate::migrate::migrate_further;
pub use crate::worker::SettleFault;
