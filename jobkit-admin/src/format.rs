//! Values as text, for people and programs, with redaction and escaping.

pub(crate) mod batches;
pub(crate) mod change;
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
