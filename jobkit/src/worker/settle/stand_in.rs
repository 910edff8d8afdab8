use std::time::Duration;

use crate::error::DatabaseError;
use crate::limits::clean;
use crate::store::{EXHAUSTED, Failure, Outcome, Settlement};

/// The failed attempt that is recorded for an outcome that the database refuses.
pub(super) fn stand_in(settlement: Settlement, error: &DatabaseError) -> Settlement {
    let requested = settlement.outcome.as_str();
    let text = format!("the outcome `{requested}` could not be recorded: {error}");
    let failure = Failure::from(clean(&text));
    let delay = Duration::from_secs(60);
    Settlement {
        outcome: Outcome::Retry { failure, delay, reason: EXHAUSTED },
        stand_in: true,
        ..settlement
    }
}
