//! Limits, as people and programs write them.

use std::str::FromStr;

use jobkit::admin::limits::{Change, Limited, Rate, Scope, To};

use crate::failure::Failure;
use crate::format::change::Parts;

/// A scope by its word, its name, and the key of a group or a limiter.
pub(crate) fn scope(word: &str, name: &str, key: Option<&str>) -> Result<Scope, Failure> {
    let key = key.filter(|_| word == "key");
    let scope = Scope::of(word, name, key);
    let wrong = || "A scope is all, queue, kind, group, limiter, or key with a key.".into();
    scope.ok_or_else(|| Failure::Invalid(wrong()))
}

/// A value, `none` or `reset`.
fn read<T: FromStr>(text: &str, looks: &str) -> Result<To<T>, Failure> {
    match text.trim() {
        "none" => Ok(To::NoLimit),
        "reset" => Ok(To::Reset),
        text => text.parse().map(To::Value).map_err(|_| Failure::Invalid(looks.to_owned())),
    }
}

/// A number of jobs.
pub(crate) fn number(text: &str) -> Result<To<u32>, Failure> {
    read(text, "A limit is a number, none or reset.")
}

/// A rate.
pub(crate) fn rate(text: &str) -> Result<To<Rate>, Failure> {
    read(text, "A rate is none, reset, or written like 5/s or 100/min.")
}

/// What these parts change.
pub(crate) fn change(parts: &Parts) -> Result<Change, Failure> {
    parts.change().map_err(|wrong| Failure::Invalid(wrong.to_owned()))
}

/// Refuses a group or a limiter that no worker has announced.
pub(crate) fn known(limited: Limited, scope: &Scope) -> Result<(), Failure> {
    if limited != Limited::Unknown {
        return Ok(());
    }
    let what = if matches!(scope, Scope::Limiter(_)) { "limiter" } else { "group" };
    Err(Failure::Invalid(format!("No worker has announced this {what}.")))
}
