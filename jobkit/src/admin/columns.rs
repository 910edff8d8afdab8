//! Columns that the statements of several nouns have.

use sqlx::postgres::PgRow;

use super::payload::{Hides, Payload};
use crate::JobId;
use crate::admin::Count;
use crate::admin::count::capped;
use crate::admin::jobs::Progress;
use crate::store::{ReadColumn, from_column};

from_column! {
    JobId: i64 => JobId;
    // Of as many as a look may count, and one more.
    Count: i64 => capped;
}

/// What is not shown of the payload: null for a kind that nobody has announced.
fn hides(row: &PgRow) -> sqlx::Result<Hides> {
    let redact: Option<Vec<String>> = row.read("redact")?;
    Ok(redact.map_or(Hides::All, Hides::Paths))
}

/// The payload, as jsonb writes it: null where that has no room for it.
pub(super) fn payload(row: &PgRow) -> sqlx::Result<Payload> {
    let hides = hides(row)?;
    let args: Option<String> = row.read("args")?;
    Ok(args.map_or_else(Payload::unreadable, |json| Payload::new(json, hides)))
}

/// The metadata: a known kind hides none of it.
pub(super) fn metadata(row: &PgRow) -> sqlx::Result<Option<Payload>> {
    let hides = match hides(row)? {
        Hides::All => Hides::All,
        Hides::Paths(_) | Hides::Result(_) => Hides::Paths(Vec::new()),
    };
    let metadata: Option<String> = row.read("metadata")?;
    Ok(metadata.map(|json| Payload::new(json, hides)))
}

/// What the job returned. It hides what its payload hides.
pub(super) fn result(row: &PgRow) -> sqlx::Result<Option<Payload>> {
    let hides = match hides(row)? {
        Hides::Paths(paths) => Hides::Result(paths),
        hides => hides,
    };
    let result: Option<String> = row.read("result")?;
    Ok(result.map(|json| Payload::new(json, hides)))
}

/// The tags. One that is null was put there past `enqueue`; it must not hide the others.
pub(super) fn tags(row: &PgRow) -> sqlx::Result<Vec<String>> {
    let tags: Option<Vec<Option<String>>> = row.read("tags")?;
    Ok(tags.into_iter().flatten().flatten().collect())
}

/// The concurrency group and key.
pub(super) fn concurrency(row: &PgRow) -> sqlx::Result<Option<(String, String)>> {
    let group: Option<_> = row.read("concurrency_group")?;
    Ok(group.zip(row.read("concurrency_key")?))
}

/// How far an attempt says it is.
pub(super) fn progress(row: &PgRow) -> sqlx::Result<Option<Progress>> {
    let (done, total, note) = (row.read("done")?, row.read("total")?, row.read("note")?);
    Ok(Progress::of(done, total, note, row.read("progressed_at")?))
}
