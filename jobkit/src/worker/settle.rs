//! Settling: how outcomes are written, and what is claimed and not settled yet.

pub(crate) mod company;
pub(crate) mod ledger;
pub(crate) mod measures;
pub(crate) mod settler;
mod stand_in;
pub(crate) mod told;
