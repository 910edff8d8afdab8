//! Claiming: how ready jobs get into the process, and when it looks for them.

mod ahead;
pub(crate) mod claimer;
pub(crate) mod low_water;
mod sleep;
