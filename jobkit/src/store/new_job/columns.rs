//! The columns of a job to be stored: one list, for every statement and whoever sends it.

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::postgres::types::PgInterval;
use sqlx::types::Json;

use super::NewJob;
use crate::store::record::{Column, columns};
use crate::store::time::interval;
use crate::terms::Terms;

/// What every job has.
pub(super) const COLUMNS: &[Column<NewJob>] = columns! { job:
    kind: &str = Some(job.kind);
    queue: &str = Some(&*job.queue);
    priority: i16 = Some(job.priority);
    max_attempts: i16 = Some(job.max_attempts.cast_signed());
    args: &str = Some(job.args.get());
    delay: PgInterval = job.after.map(interval);
    run_at: DateTime<Utc> = job.at;
    concurrency_group: &str = job.group.filter(|_| job.key.is_some());
    concurrency_key: &str = job.key.as_deref();
    dead_letter_key: &str = job.dead_letter_key.as_deref();
    tags: &[String] = Some(&*job.tags).filter(|tags| !tags.is_empty());
    metadata: Json<&RawValue> = job.metadata.as_deref().map(Json);
    version: i16 = job.version;
    terms: Json<&Terms> = job.terms.some().map(Json);
};

/// What jobs with a unique key have besides.
pub(super) const UNIQUE: &[Column<NewJob>] = columns! { job:
    unique_scope: &str = job.unique.as_ref().map(|unique| &*unique.scope);
    unique_key: &str = job.unique.as_ref().map(|unique| &*unique.key);
    unique_while: &str = job.unique.as_ref().map(|unique| unique.holds);
    unique_for: PgInterval = job.unique.as_ref().and_then(|unique| unique.at_least).map(interval);
    on_duplicate: &str = job.unique.as_ref().and_then(|unique| unique.on_duplicate);
};
