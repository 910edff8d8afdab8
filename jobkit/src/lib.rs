//! Background jobs on PostgreSQL.
#![allow(dead_code, reason = "skeleton")]

mod backoff;
mod context;
mod declared;
mod id;
mod job;
mod outcome;
mod policy;
#[doc(hidden)]
pub mod private;
mod registration;
mod states;

pub use jobkit_macros::job;

pub use crate::backoff::Backoff;
pub use crate::context::JobContext;
pub use crate::declared::{Declared, IntoKey};
pub use crate::id::JobId;
pub use crate::job::Job;
pub use crate::outcome::{JobError, Result};
pub use crate::policy::{Concurrency, Policy};
pub use crate::registration::Registration;
