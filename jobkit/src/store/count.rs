//! PostgreSQL has no unsigned types.

use std::time::Duration;

pub(crate) fn number(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(0)
}

/// A time in microseconds; it is negative if a transaction began before what it sees.
pub(crate) fn duration(microseconds: i64) -> Duration {
    Duration::from_micros(microseconds.try_into().unwrap_or(0))
}

pub(super) fn index(value: i32) -> usize {
    usize::try_from(value).unwrap_or(0)
}
