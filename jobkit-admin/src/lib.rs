//! The dashboard of [jobkit](https://docs.rs/jobkit): what is queued, what runs, what waits for
//! whom, what failed, and what to do about it. [`Dashboard`] is all there is to begin with.
//!
//! Pages come from the server; nothing is built with Node, and nothing is fetched from elsewhere.
//! Everything but the shortcuts works without JavaScript.
//!
//! With the feature `cli` there is the same for a shell: the module `cli`, and the binary `jobkit`,
//! which also migrates a database and serves a dashboard on its own.

mod access;
mod api;
mod assets;
mod cached;
#[cfg(feature = "cli")]
pub mod cli;
mod compression;
mod context;
mod dashboard;
mod endpoint;
mod events;
mod failure;
mod format;
mod guard;
mod metrics;
mod pages;
mod render;
mod request;
mod routes;
mod shared;
mod signals;

pub use crate::access::{Access, Permission, Permissions, Redaction};
pub use crate::dashboard::{Dashboard, Decided, Undecided};
pub use crate::guard::REQUESTS;
pub use crate::routes::{Route, routes};
pub use crate::shared::Accent;
