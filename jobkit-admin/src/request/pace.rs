//! Rates, as somebody writes them.

use jobkit::admin::semaphores::Rate;

use crate::failure::Failure;

/// A rate such as `100/min`, with a burst of its own if that is said; nothing or `none` is no rate.
pub(crate) fn plain(text: Option<&str>, burst: Option<u32>) -> Result<Option<Rate>, Failure> {
    let rate = rate(text)?.flatten();
    Ok(rate.map(|rate| burst.map_or(rate, |burst| rate.burst(burst))))
}

/// A rate such as `100/min`; `none` lifts it (`Some(None)`), nothing gives it back (`None`).
pub(crate) fn rate(text: Option<&str>) -> Result<Option<Option<Rate>>, Failure> {
    match text.map(str::trim).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some("none") => Ok(Some(None)),
        Some(text) => match text.parse() {
            Ok(rate) => Ok(Some(Some(rate))),
            Err(_) => {
                Err(Failure::Invalid("A rate is like 5/s, 100/min or 1000/h, or none.".to_owned()))
            }
        },
    }
}
