mod columns;
mod form;

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::error::BoxDynError;
use sqlx::postgres::PgArguments;

use self::form::Form;
use crate::terms::Terms;

/// A job to be stored; everything in it has been checked.
#[derive(Debug)]
pub(crate) struct NewJob {
    pub(crate) kind: &'static str,
    /// Of the payload; `None` is 1.
    pub(crate) version: Option<i16>,
    pub(crate) queue: String,
    pub(crate) priority: i16,
    pub(crate) max_attempts: u16,
    pub(crate) after: Option<Duration>,
    pub(crate) at: Option<DateTime<Utc>>,
    pub(crate) group: Option<&'static str>,
    pub(crate) key: Option<String>,
    pub(crate) dead_letter_key: Option<String>,
    pub(crate) args: Box<RawValue>,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Option<Box<RawValue>>,
    pub(crate) terms: Terms,
    pub(crate) unique: Option<UniqueKey>,
}

/// A unique key, and what goes with it; or the key of a job that coalesces.
#[derive(Debug)]
pub(crate) struct UniqueKey {
    /// The kind, or a group.
    pub(crate) scope: String,
    pub(crate) key: String,
    pub(crate) holds: &'static str,
    pub(crate) at_least: Option<Duration>,
    /// `None` for a job that coalesces.
    pub(crate) on_duplicate: Option<&'static str>,
}

impl NewJob {
    /// Size of the payload and the metadata.
    pub(crate) fn bytes(&self) -> usize {
        self.args.get().len() + self.metadata.as_ref().map_or(0, |json| json.get().len())
    }
}

/// Jobs as the statement that stores them, and its parameters.
pub(super) fn sent(jobs: &[NewJob]) -> (&'static str, Result<PgArguments, BoxDynError>) {
    let form = Form::of(jobs, false);
    let mut parameters = PgArguments::default();
    let added = form.add(jobs, &mut parameters);
    (form.sql(), added.map(|()| parameters))
}

/// The same as text, for any driver.
pub(super) fn written(jobs: &[NewJob]) -> (&'static str, Vec<Option<String>>) {
    let form = Form::of(jobs, true);
    (form.sql(), form.texts(jobs))
}
