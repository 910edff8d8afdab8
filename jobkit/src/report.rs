//! What a worker and its handlers report. You meet these as answers, and name them where you keep
//! one.

pub use crate::error::StartProblems;
pub use crate::outcome::Verdict;
pub use crate::worker::{Counts, Preflight};
