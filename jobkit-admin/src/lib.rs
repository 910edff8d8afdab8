#![doc = include_str!("docs/crate.md")]

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
