//! Changes of limits, built from their parts.

use jobkit::admin::limits::{Change, Rate, To};

/// The parts to set; a part that is `None` is left unchanged.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) running: Option<To<u32>>,
    pub(crate) rate: Option<To<Rate>>,
    /// The burst of the rate, if other than one second's worth.
    pub(crate) burst: Option<u32>,
    pub(crate) waiting: Option<To<u32>>,
}

impl Parts {
    /// # Errors
    /// If nothing is set, or a burst without a rate; the message is a sentence.
    pub(crate) fn change(&self) -> Result<Change, &'static str> {
        let rate = match (self.rate, self.burst) {
            (Some(To::Value(rate)), Some(burst)) => Some(To::Value(rate.burst(burst))),
            (rate, None) => rate,
            _ => return Err("A burst needs a rate."),
        };
        if self.running.is_none() && rate.is_none() && self.waiting.is_none() {
            return Err("Set at least one of running, rate and waiting.");
        }
        let change = Change::new();
        let change = self.running.into_iter().fold(change, Change::running);
        let change = rate.into_iter().fold(change, Change::rate);
        Ok(self.waiting.into_iter().fold(change, Change::waiting))
    }
}
