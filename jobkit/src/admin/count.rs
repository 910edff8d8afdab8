//! Counts that may be incomplete.

use std::fmt;

use crate::store::number;

/// A count that may have stopped early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Exactly this many.
    Exactly(u32),
    /// At least this many: counting would have taken too long.
    AtLeast(u32),
}

impl Count {
    /// The number counted.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::Exactly(number) | Self::AtLeast(number) => number,
        }
    }

    /// The sum of both; `AtLeast` if one of them is.
    pub(crate) fn plus(self, other: Self) -> Self {
        let sum = self.number().saturating_add(other.number());
        match (self, other) {
            (Self::Exactly(_), Self::Exactly(_)) => Self::Exactly(sum),
            _ => Self::AtLeast(sum),
        }
    }
}

/// `17`, or `17+` if there may be more.
impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(number) => write!(f, "{number}"),
            Self::AtLeast(number) => write!(f, "{number}+"),
        }
    }
}

/// The limit of a count.
const MOST: i64 = 10_000;

pub(super) fn count(counted: i64, more: bool) -> Count {
    if more { Count::AtLeast(number(counted)) } else { Count::Exactly(number(counted)) }
}

/// A count of a query that reads one more than [`MOST`].
pub(super) fn capped(counted: i64) -> Count {
    count(counted.min(MOST), counted > MOST)
}
