//! Values as texts: for people, for programs, and with what is hidden or invisible in them.

pub(crate) mod errors;
pub(crate) mod invisible;
pub(crate) mod json;
pub(crate) mod overview;
pub(crate) mod payload;
pub(crate) mod recurring;
pub(crate) mod reports;
pub(crate) mod show;
pub(crate) mod topics;
pub(crate) mod values;
