use std::fmt;

use crate::admin::batches::{BatchSummary, CallbackRole};
use crate::{BatchId, JobId};

/// The batch that a callback waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchAwaited {
    /// Its id.
    pub batch: BatchId,
    /// When the callback runs.
    pub role: CallbackRole,
    /// How many members there are.
    pub members: u64,
    /// How many of them have not ended.
    pub open: u64,
    /// How many ended without success.
    pub failed: u64,
}

impl BatchAwaited {
    pub(super) fn of(callback: JobId, batch: &BatchSummary) -> Self {
        let role = match Some(callback) {
            job if job == batch.then_if_all => CallbackRole::ThenIfAll,
            job if job == batch.or_else => CallbackRole::OrElse,
            _ => CallbackRole::Then,
        };
        let (counts, open) = (&batch.counts, batch.counts.open());
        let failed = counts.members.saturating_sub(open + counts.finished);
        Self { batch: batch.id, role, members: counts.members, open, failed }
    }
}

impl fmt::Display for BatchAwaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batch, role, members, open, failed } = self;
        match role {
            CallbackRole::OrElse => write!(f, "Runs if a member of batch {batch} fails for good")?,
            _ => write!(f, "Waits for batch {batch}")?,
        }
        match (members, open) {
            (0, _) => write!(f, ": it has no members yet")?,
            (_, 0) => write!(f, ": all {} members have ended", Grouped(*members))?,
            (_, 1) => write!(f, ": 1 of {} members has not ended", Grouped(*members))?,
            _ => write!(f, ": {} of {} members have not ended", Grouped(*open), Grouped(*members))?,
        }
        match (role, failed) {
            (CallbackRole::ThenIfAll, 1..) => {
                let failed = Grouped(*failed);
                write!(f, "; it will be discarded, since {failed} of them did not succeed")
            }
            _ => Ok(()),
        }
    }
}

/// That nobody has closed it.
pub(super) fn unclosed(batch: BatchId, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(
        f,
        "Nobody has closed batch {batch}, so it cannot end: close it once all members are added, \
         or cancel it"
    )
}

/// That dead letters keep it open.
pub(super) fn held_by_dead(batch: BatchId, dead: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match dead {
        1 => write!(f, "A dead letter keeps batch {batch} open: replay or discard it"),
        _ => write!(
            f,
            "{} dead letters keep batch {batch} open: replay or discard them",
            Grouped(dead)
        ),
    }
}

/// `1,000,000`.
struct Grouped(u64);

impl fmt::Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                write!(f, ",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}
