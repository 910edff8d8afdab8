//! Claiming: how ready jobs come into the process, and when it looks for them.

mod ahead;
pub(crate) mod claimer;
pub(crate) mod low_water;
mod sleep;
