//! Times in requests of programs.

use chrono::{DateTime, Utc};

use crate::failure::Failure;

/// A time in a request of a program.
pub(crate) fn time(at: &str) -> Result<DateTime<Utc>, Failure> {
    let parsed = DateTime::parse_from_rfc3339(at).map(|at| at.with_timezone(&Utc));
    parsed.map_err(|_| Failure::Invalid("“at” must be a time such as 2026-01-31T12:00:00Z.".into()))
}
