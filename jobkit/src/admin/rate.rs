//! Rates as they are stored.

use sqlx::postgres::types::PgInterval;

use crate::Error;
use crate::limits;
use crate::policy::Rate;
use crate::store::interval;

/// Checks a rate and returns the time from one slot to the next, and the burst.
pub(super) fn stored(rate: Rate) -> Result<(PgInterval, i32), Error> {
    limits::rate(rate)?;
    Ok((interval(rate.every), i32::try_from(rate.burst).unwrap_or(i32::MAX)))
}
