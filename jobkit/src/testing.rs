//! For tests of jobs, and of what enqueues them; the feature `testing`.
//!
//! | to | take |
//! |---|---|
//! | call a handler as its first attempt or its last, or while it is stopped | [`context`] |
//! | see what a handler asks for | [`JobError::verdict`](crate::JobError::verdict) |
//! | see what was enqueued, and was not | [`assert_enqueued`], [`refute_enqueued`], [`enqueued`] |
//! | see that what old releases stored can be read | [`assert_decodes`] |
//!
//! All of it works in a transaction of the test, which is rolled back at its end: a test needs no
//! database of its own.

mod context;
mod decodes;
mod enqueued;
mod expect;
mod session;

pub use self::context::{ContextBuilder, Stops, context};
pub use self::decodes::assert_decodes;
pub use self::enqueued::{Enqueued, enqueued};
pub use self::expect::{AssertEnqueued, RefuteEnqueued, assert_enqueued, refute_enqueued};
pub use self::session::Session;
