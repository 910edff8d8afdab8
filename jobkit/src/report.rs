//! What a worker and its handlers report. You meet these as answers, and name them where you keep
//! one.

pub use crate::error::StartProblems;
pub use crate::outcome::Verdict;
#[cfg(feature = "logs")]
pub use crate::reports::AttemptLog;
pub use crate::worker::on_demand::{Caller, OnDemand};
pub use crate::worker::{Counts, Preflight};
