//! The JSON API for programs, below `/api/v1`. Ids are strings, since many programs parse numbers
//! as floats; `next` of a page is the URL of the next page.

pub(crate) mod act;
pub(crate) mod attention;
pub(crate) mod batches;
pub(crate) mod enqueue;
mod json;
pub(crate) mod limits;
pub(crate) mod operations;
pub(crate) mod read;
pub(crate) mod schedules;
pub(crate) mod topics;
