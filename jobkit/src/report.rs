//! What a worker and its handlers report. Methods return these types; you need their names only to
//! store a value.

pub use crate::error::StartProblems;
pub use crate::outcome::Verdict;
#[cfg(feature = "logs")]
pub use crate::reports::AttemptLog;
pub use crate::worker::on_demand::{Caller, OnDemand};
pub use crate::worker::{Counts, Preflight};
