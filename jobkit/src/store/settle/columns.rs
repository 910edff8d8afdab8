//! The columns of an outcome, as `settle` takes them.

use sqlx::postgres::types::PgInterval;

use super::Settlement;
use crate::store::record::{Column, columns};
use crate::store::time::interval;

pub(super) const COLUMNS: &[Column<Settlement>] = columns! { of:
    n: i64 = Some(of.claim.n);
    job: i64 = Some(of.job);
    outcome: &str = Some(of.outcome.as_str());
    error: &str = of.outcome.error();
    error_type: &str = of.outcome.failure().and_then(|failure| failure.error_type.as_deref());
    reason: &str = of.outcome.why();
    delay: PgInterval = of.outcome.delay().map(interval);
    keep: PgInterval = of.keep.map(interval);
    took: PgInterval = of.kept_time().map(interval);
    result: &str = of.outcome.result();
};
