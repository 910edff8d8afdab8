//! Columns that the statements of several nouns share.

use sqlx::postgres::PgRow;

use super::payload::{Hides, Payload};
use crate::admin::Count;
use crate::admin::count::capped;
use crate::admin::jobs::Progress;
use crate::store::{ReadColumn, from_column};
use crate::{BatchId, JobId};

from_column! {
    JobId: i64 => JobId;
    BatchId: i64 => BatchId;
    // Counts up to the limit, and one more.
    Count: i64 => capped;
}

/// What is hidden of the payload; null for a kind that nobody has announced.
fn hides(row: &PgRow) -> sqlx::Result<Hides> {
    let redact: Option<Vec<String>> = row.read("redact")?;
    Ok(redact.map_or(Hides::All, Hides::Paths))
}

/// The payload, as jsonb writes it; null if jsonb cannot hold it.
pub(super) fn payload(row: &PgRow) -> sqlx::Result<Payload> {
    let hides = hides(row)?;
    let args: Option<String> = row.read("args")?;
    Ok(args.map_or_else(Payload::unreadable, |json| Payload::new(json, hides)))
}

/// The metadata, which a known kind never hides.
pub(super) fn metadata(row: &PgRow) -> sqlx::Result<Option<Payload>> {
    let hides = match hides(row)? {
        Hides::All => Hides::All,
        Hides::Paths(_) | Hides::Result(_) => Hides::Paths(Vec::new()),
    };
    let metadata: Option<String> = row.read("metadata")?;
    Ok(metadata.map(|json| Payload::new(json, hides)))
}

/// The result of the job, which hides what its payload hides.
pub(super) fn result(row: &PgRow) -> sqlx::Result<Option<Payload>> {
    let hides = match hides(row)? {
        Hides::Paths(paths) => Hides::Result(paths),
        hides => hides,
    };
    let result: Option<String> = row.read("result")?;
    Ok(result.map(|json| Payload::new(json, hides)))
}

/// The tags. A null tag was not written by `enqueue`, and must not hide the others.
pub(super) fn tags(row: &PgRow) -> sqlx::Result<Vec<String>> {
    let tags: Option<Vec<Option<String>>> = row.read("tags")?;
    Ok(tags.into_iter().flatten().flatten().collect())
}

/// The concurrency group and key.
pub(super) fn concurrency(row: &PgRow) -> sqlx::Result<Option<(String, String)>> {
    let group: Option<_> = row.read("concurrency_group")?;
    Ok(group.zip(row.read("concurrency_key")?))
}

/// The progress that an attempt reported.
pub(super) fn progress(row: &PgRow) -> sqlx::Result<Option<Progress>> {
    let (done, total, note) = (row.read("done")?, row.read("total")?, row.read("note")?);
    Ok(Progress::of(done, total, note, row.read("progressed_at")?))
}
