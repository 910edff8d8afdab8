//! The fields of a request, and what they request.

pub(crate) mod audit;
pub(crate) mod batches;
pub(crate) mod bulk;
pub(crate) mod dead_letters;
pub(crate) mod fields;
pub(crate) mod jobs;
pub(crate) mod limits;
pub(crate) mod preferences;
pub(crate) mod schedules;
pub(crate) mod time;
