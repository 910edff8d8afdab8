use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::payload::{Hides, Payload};

/// What a row says of what is not shown: null for a kind that nobody has announced.
pub(super) fn hides(row: &PgRow) -> sqlx::Result<Hides> {
    let redact: Option<Vec<String>> = row.try_get("redact")?;
    Ok(redact.map_or(Hides::All, Hides::Paths))
}

/// The payload of a row.
pub(super) fn payload(row: &PgRow) -> sqlx::Result<Payload> {
    Ok(Payload::new(row.try_get("args")?, hides(row)?))
}

/// The metadata of a row: a known kind hides none of it.
pub(super) fn metadata(row: &PgRow) -> sqlx::Result<Option<Payload>> {
    let hides = match hides(row)? {
        Hides::All => Hides::All,
        Hides::Paths(_) => Hides::Paths(Vec::new()),
    };
    let metadata: Option<String> = row.try_get("metadata")?;
    Ok(metadata.map(|json| Payload::new(json, hides)))
}
