//! Changes of limits, put together from their parts.

use jobkit::admin::limits::{Change, Rate, To};

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
        let change = Change::new();
        let change = self.running.into_iter().fold(change, Change::running);
        let change = rate.into_iter().fold(change, Change::rate);
        Ok(self.waiting.into_iter().fold(change, Change::waiting))
    }
}
