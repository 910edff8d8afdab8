//! What the test binaries share: a fresh database for each test, ways to watch it, and a network
//! that can be spoiled.

mod lab;
pub mod model;
mod proxy;

pub use crate::lab::{Lab, Session, wait};
pub use crate::proxy::{Held, Network, Proxy};
