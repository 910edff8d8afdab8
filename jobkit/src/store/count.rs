//! PostgreSQL has no types for numbers that are not negative.

use std::time::Duration;

use crate::dead_letter::Count;

/// What ends a count.
pub(super) const MOST: i64 = 10_000;

pub(super) fn number(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(0)
}

pub(super) fn count(counted: i64, more: bool) -> Count {
    if more { Count::AtLeast(number(counted)) } else { Count::Exactly(number(counted)) }
}

/// A count that went one further than [`MOST`] where there was more.
pub(super) fn capped(counted: i64) -> Count {
    count(counted.min(MOST), counted > MOST)
}

/// A time in microseconds; negative when a transaction began before what it sees.
pub(super) fn duration(microseconds: i64) -> Duration {
    Duration::from_micros(microseconds.try_into().unwrap_or(0))
}
