//! The house rules. Each test reads the sources and names the file, the line and the rule.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod circles;
mod dependencies;
mod docs;
mod floors;
mod habits;
mod layers;
mod names;
mod races;
mod sizes;
mod sources;
mod sql;
mod surface;
mod words;

/// Fails with one line for each breach of a rule.
#[track_caller]
fn forbid(rule: &str, breaches: impl IntoIterator<Item = String>) {
    let breaches: Vec<String> = breaches.into_iter().collect();
    assert!(breaches.is_empty(), "{rule}:\n  {}", breaches.join("\n  "));
}
