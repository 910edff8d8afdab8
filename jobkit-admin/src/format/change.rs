//! Changes of limits, put together from their parts.

use jobkit::admin::limits::{Change, Rate};

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
    /// If nothing is set, or a burst without its rate, in a sentence.
    pub(crate) fn change(&self) -> Result<Change, &'static str> {
        let rate = match (self.rate, self.burst) {
            (Some(To::Value(rate)), Some(burst)) => Some(To::Value(rate.burst(burst))),
            (rate, None) => rate,
            _ => return Err("A burst needs its rate."),
        };
        if self.running.is_none() && rate.is_none() && self.waiting.is_none() {
            return Err("Say what to set: running, rate or waiting.");
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
