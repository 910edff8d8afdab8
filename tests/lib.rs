//! What the test binaries share: a fresh database for each test, ways to watch it, a network that
//! can be spoiled, and examples to run.

pub mod batches;
mod built;
mod crowd;
mod databases;
mod ended;
pub mod incidents;
mod lab;
mod log;
pub mod model;
#[cfg(doctest)]
mod pages;
mod proxy;
mod roles;
mod said;
pub mod tables;
mod vacuum;
mod watch;

pub use crate::built::built;
pub use crate::crowd::{Crowd, Page};
pub use crate::ended::ended;
pub use crate::lab::{Lab, Session, behind_pooler, counted, wait};
pub use crate::log::Log;
pub use crate::proxy::{Held, Network, Proxy};
pub use crate::roles::Roles;
pub use crate::said::{announce_group, announce_limiter};
pub use crate::watch::{Seen, Watch};
