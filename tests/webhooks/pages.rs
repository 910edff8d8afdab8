//! The code blocks of the page on webhooks, as tests of documentation:
//! `cargo test -p jobkit-webhook-tests --doc`.

#[cfg(doctest)]
#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/webhooks.md"))]
mod webhooks {}
