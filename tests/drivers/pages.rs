//! The code blocks of the page on drivers, as tests of documentation, and what it says a driver
//! that nobody knows needs: `cargo test -p jobkit-driver-tests --doc`.

#[cfg(doctest)]
#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/drivers.md"))]
mod drivers {}
