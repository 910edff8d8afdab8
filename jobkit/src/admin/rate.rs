//! Rates as they are stored.

use sqlx::postgres::types::PgInterval;

use crate::admin::AdminError;
use crate::limits;
use crate::policy::Rate;
use crate::store::interval;

/// Checks a rate and returns the time from one slot to the next, and the burst.
pub(super) fn stored(rate: Rate) -> Result<(PgInterval, i32), AdminError> {
    limits::rate(rate)?;
    Ok((interval(rate.every), i32::try_from(rate.burst).unwrap_or(i32::MAX)))
}
