//! Rates, as people write them.

use jobkit::admin::semaphores::Rate;

use crate::failure::Failure;

/// A rate such as `100/min`, with its own burst if given; nothing or `none` is no rate.
pub(crate) fn plain(text: Option<&str>, burst: Option<u32>) -> Result<Option<Rate>, Failure> {
    let rate = rate(text)?.flatten();
    Ok(rate.map(|rate| burst.map_or(rate, |burst| rate.burst(burst))))
}

/// A rate such as `100/min`; `none` removes it (`Some(None)`), nothing restores the default
/// (`None`).
pub(crate) fn rate(text: Option<&str>) -> Result<Option<Option<Rate>>, Failure> {
    match text.map(str::trim).filter(|text| !text.is_empty()) {
        None => Ok(None),
        Some("none") => Ok(Some(None)),
        Some(text) => match text.parse() {
            Ok(rate) => Ok(Some(Some(rate))),
            Err(_) => {
                Err(Failure::Invalid("A rate looks like 5/s or 100/min, or is none.".to_owned()))
            }
        },
    }
}
