//! Running: from a claimed job to the outcome of its attempt.

pub(crate) mod dispatch;
pub(crate) mod execution;
pub(crate) mod reach;
