//! Pages made of templates: their frame, their charts, and the pages for failures.

pub(crate) mod charts;
pub(crate) mod frame;
pub(crate) mod names;
mod problem;
pub(crate) mod spark;
mod template;

pub(crate) use self::problem::failure;
pub(crate) use self::template::html;
