//! Rates as they are stored.

use std::ops::RangeInclusive;

use sqlx::postgres::types::PgInterval;

use crate::Error;
use crate::limits::{self, LIMIT};
use crate::policy::Rate;
use crate::store::interval;

/// From one slot to the next, in microseconds: 30 days at most.
const SLOTS: RangeInclusive<u64> = 100..=30 * 24 * 60 * 60 * 1_000_000;

/// Checks a rate, and makes of it the time from one slot to the next, and the burst.
pub(super) fn stored(rate: Rate) -> Result<(PgInterval, i32), Error> {
    let micros = u64::try_from(rate.every.as_micros()).unwrap_or(u64::MAX);
    let what = "microseconds from one slot to the next";
    limits::range(what, micros, SLOTS, "100 to 2592000000000")?;
    limits::range("burst", rate.burst, 1..=LIMIT, "1 to 1000000")?;
    Ok((interval(rate.every), i32::try_from(rate.burst).unwrap_or(i32::MAX)))
}
