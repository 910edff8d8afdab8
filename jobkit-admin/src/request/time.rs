//! Times that a program names.

use chrono::{DateTime, Utc};

use crate::failure::Failure;

/// A time that a program names.
pub(crate) fn time(at: &str) -> Result<DateTime<Utc>, Failure> {
    let parsed = DateTime::parse_from_rfc3339(at).map(|at| at.with_timezone(&Utc));
    parsed.map_err(|_| Failure::Invalid("“at” must be a time such as 2026-01-31T12:00:00Z.".into()))
}
