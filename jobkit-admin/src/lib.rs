//! The dashboard of [jobkit](https://docs.rs/jobkit): what is queued, what runs, what waits for
//! whom, what failed, and what to do about it. [`Dashboard`] is all there is to begin with.
//!
//! Pages come from the server; nothing is built with Node, and nothing is fetched from elsewhere.
//! Everything but the shortcuts works without JavaScript.
//!
//! With the feature `cli` there is the same for a shell: the module `cli`, and the binary `jobkit`,
//! which also migrates a database and serves a dashboard by itself.

mod access;
mod api;
mod assets;
mod cached;
mod charts;
#[cfg(feature = "cli")]
pub mod cli;
mod compressed;
mod dashboard;
mod events;
mod failure;
mod frame;
mod gate;
mod metrics;
mod pages;
mod payload;
mod router;
mod show;
mod spark;
mod unseen;
mod visit;
mod wanted;

pub use crate::access::{Access, Permission, Permissions, Redaction};
pub use crate::dashboard::{Accent, Dashboard, Decided, Undecided};
pub use crate::router::{Route, routes};

/// Requests that one dashboard serves at a time; others wait for up to two seconds.
pub const REQUESTS: usize = 8;

/// The actor where nobody is authenticated.
const ANYBODY: &str = "unauthenticated";
