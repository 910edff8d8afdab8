//! The same for programs: JSON below `/api/v1`. Ids are strings, since many programs take numbers
//! for floats; a page says under `next` where the next one is.

pub(crate) mod act;
pub(crate) mod attention;
pub(crate) mod brakes;
pub(crate) mod enqueue;
mod json;
pub(crate) mod operations;
pub(crate) mod pace;
pub(crate) mod read;
pub(crate) mod schedules;
pub(crate) mod topics;
