//! Limits, as people and programs write them.

use std::str::FromStr;

use jobkit::admin::limits::{Change, Limited, Rate, Scope};

use crate::failure::Failure;

/// A scope by its word, its name, and the key of a group or a limiter.
pub(crate) fn scope(word: &str, name: &str, key: Option<&str>) -> Result<Scope, Failure> {
    let key = key.filter(|_| word == "key");
    let scope = Scope::of(word, name, key);
    let wrong = || "A scope is all, queue, kind, group or limiter; or key, with a key.".into();
    scope.ok_or_else(|| Failure::Invalid(wrong()))
}

/// To what a part of a limit is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum To<T> {
    /// What the code says.
    Reset,
    /// No limit.
    None,
    /// This.
    Value(T),
}

impl<T: FromStr> To<T> {
    /// Reads a value, `none` or `reset`.
    pub(crate) fn read(text: &str, looks: &str) -> Result<Self, Failure> {
        match text.trim() {
            "none" => Ok(Self::None),
            "reset" => Ok(Self::Reset),
            text => text.parse().map(Self::Value).map_err(|_| Failure::Invalid(looks.to_owned())),
        }
    }
}

/// What a number looks like.
pub(crate) const NUMBER: &str = "A limit is a number, or none, or reset.";
/// What a rate looks like.
pub(crate) const RATE: &str = "A rate looks like 5/s or 100/min, or is none, or reset.";

/// What is set; a part that is `None` stays as it is.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) running: Option<To<u32>>,
    pub(crate) rate: Option<To<Rate>>,
    /// The burst of the rate, if not a second's worth.
    pub(crate) burst: Option<u32>,
    pub(crate) waiting: Option<To<u32>>,
}

impl Parts {
    /// # Errors
    /// If nothing is set, or a burst without its rate.
    pub(crate) fn change(&self) -> Result<Change, Failure> {
        let invalid = |text: &str| Err(Failure::Invalid(text.to_owned()));
        let rate = match (self.rate, self.burst) {
            (Some(To::Value(rate)), Some(burst)) => Some(To::Value(rate.burst(burst))),
            (rate, None) => rate,
            _ => return invalid("A burst needs its rate."),
        };
        if self.running.is_none() && rate.is_none() && self.waiting.is_none() {
            return invalid("Say what to set: running, rate or waiting.");
        }
        let mut change = Change::new();
        change = match self.running {
            Some(To::Reset) => change.reset_running(),
            Some(To::None) => change.no_running(),
            Some(To::Value(most)) => change.running(most),
            None => change,
        };
        change = match rate {
            Some(To::Reset) => change.reset_rate(),
            Some(To::None) => change.no_rate(),
            Some(To::Value(rate)) => change.rate(rate),
            None => change,
        };
        Ok(match self.waiting {
            Some(To::Reset) => change.reset_waiting(),
            Some(To::None) => change.no_waiting(),
            Some(To::Value(most)) => change.waiting(most),
            None => change,
        })
    }
}

/// What was achieved: the group or the limiter must be known.
pub(crate) fn known(limited: Limited, scope: &Scope) -> Result<bool, Failure> {
    match limited {
        Limited::Unknown => {
            let what = if matches!(scope, Scope::Limiter(_)) { "limiter" } else { "group" };
            Err(Failure::Invalid(format!("No worker has announced this {what}.")))
        }
        limited => Ok(limited == Limited::Changed),
    }
}
