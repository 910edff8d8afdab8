#![doc = include_str!("docs/crate.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

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
mod totals;

pub use crate::access::{Access, Permission, Permissions, Redaction};
pub use crate::dashboard::{Dashboard, Decided, Undecided};
pub use crate::guard::REQUESTS;
pub use crate::routes::{Route, routes};
pub use crate::shared::Accent;
