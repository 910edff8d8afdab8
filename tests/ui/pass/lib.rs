//! What `#[job]` accepts, and what it makes of it.
#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(missing_docs, reason = "each is named after what it shows")]

pub mod all_arguments;
pub mod backoffs;
pub mod chunk;
pub mod encrypt;
pub mod inside_macro_rules;
pub mod keys;
pub mod no_arguments;
pub mod raw_identifiers;
pub mod redact;
pub mod results;
pub mod schedule;
pub mod shadowed_names;
pub mod strict_lints;
pub mod subscribes;
pub mod upcast;
