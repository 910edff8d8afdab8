use std::fmt;

use crate::JobId;

/// A concurrency key as seen by a job that waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyUse {
    /// Its group.
    pub group: String,
    /// The key.
    pub key: String,
    /// How many of its jobs may run at a time.
    pub limit: u32,
    /// Permits taken.
    pub taken: u32,
    /// Jobs that hold them, the ten with the smallest ids.
    pub holders: Vec<JobId>,
}

impl fmt::Display for KeyUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, key, limit, taken, .. } = self;
        write!(f, "{group}/{key} (limit {limit}, ")?;
        match (taken, taken == limit) {
            (0, _) => return write!(f, "no permit taken)"),
            (1, true) => write!(f, "its permit held")?,
            (2, true) => write!(f, "both permits held")?,
            (_, true) => write!(f, "all {taken} permits held")?,
            (1, false) => write!(f, "1 permit held")?,
            (_, false) => write!(f, "{taken} permits held")?,
        }
        match &*self.holders {
            [] => write!(f, ")"),
            [job] => write!(f, " by job {job})"),
            jobs => write!(f, " by jobs {})", Listed(jobs, *taken)),
        }
    }
}

/// Some jobs, out of this many.
struct Listed<'a>(&'a [JobId], u32);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        let others = self.1.saturating_sub(named);
        for (place, job) in (1..).zip(self.0) {
            match place {
                1 => {}
                _ if place == named && others == 0 => write!(f, " and ")?,
                _ => write!(f, ", ")?,
            }
            write!(f, "{job}")?;
        }
        match others {
            0 => Ok(()),
            1 => write!(f, " and 1 other"),
            _ => write!(f, " and {others} others"),
        }
    }
}
