//! A reference model of concurrency keys.
//!
//! [`grant`] alone decides who gets a free permit, and needs no state.

mod grant;

pub use grant::{Waiting, grant};
