//! Pages out of templates: what surrounds them, what is drawn in them, and what stands in their
//! place when something cannot be done.

pub(crate) mod charts;
pub(crate) mod frame;
pub(crate) mod names;
mod problem;
pub(crate) mod spark;
mod template;

pub(crate) use self::problem::failure;
pub(crate) use self::template::html;
