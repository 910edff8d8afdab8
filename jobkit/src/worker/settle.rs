//! Settling: how outcomes are written.

pub(crate) mod company;
pub(crate) mod settler;
mod stand_in;
pub(crate) mod told;
