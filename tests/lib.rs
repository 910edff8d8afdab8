//! What the test binaries share: a fresh database for each test, and ways to watch it.

mod lab;

pub use crate::lab::{Lab, Session, wait};
