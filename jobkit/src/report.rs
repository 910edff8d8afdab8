//! What a worker reports. You meet these as answers, and name them where you keep one.

pub use crate::error::StartProblems;
pub use crate::worker::{Counts, Preflight};
