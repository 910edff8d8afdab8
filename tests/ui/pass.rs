//! What `#[job]` accepts, and what it makes of it.
#![cfg(test)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(missing_docs, reason = "each is named after what it shows")]

#[path = "pass/all_arguments.rs"]
pub mod all_arguments;
#[path = "pass/backoffs.rs"]
pub mod backoffs;
#[path = "pass/batch.rs"]
pub mod batch;
#[path = "pass/encrypt.rs"]
pub mod encrypt;
#[path = "pass/inside_macro_rules.rs"]
pub mod inside_macro_rules;
#[path = "pass/keys.rs"]
pub mod keys;
#[path = "pass/no_arguments.rs"]
pub mod no_arguments;
#[path = "pass/raw_identifiers.rs"]
pub mod raw_identifiers;
#[path = "pass/redact.rs"]
pub mod redact;
#[path = "pass/results.rs"]
pub mod results;
#[path = "pass/schedule.rs"]
pub mod schedule;
#[path = "pass/shadowed_names.rs"]
pub mod shadowed_names;
#[path = "pass/strict_lints.rs"]
pub mod strict_lints;
#[path = "pass/subscribes.rs"]
pub mod subscribes;
#[path = "pass/upcast.rs"]
pub mod upcast;
