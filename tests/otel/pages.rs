//! The code blocks of the page on observability, as tests of documentation:
//! `cargo test -p jobkit-otel-tests --doc`.

#[cfg(doctest)]
#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/observability.md"))]
mod observability {}
