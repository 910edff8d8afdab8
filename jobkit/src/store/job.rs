//! The columns of a job: as it is stored, and as a worker gets it.

mod form;

use std::mem::take;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::PgInterval;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::types::Json;
use sqlx::{Column as _, ColumnIndex, Row};

use self::form::Form;
use super::count::index;
use super::lane::Lane;
use super::read::{FromColumn, from_column};
use super::record::{Column, Sent, columns, record};
use super::time::interval;
use crate::BatchId;
use crate::context::Facts;
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

/// What every job has.
const COLUMNS: &[Column<NewJob>] = columns! { job:
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

/// The additional columns of jobs with a unique key.
const UNIQUE: &[Column<NewJob>] = columns! { job:
    unique_scope: &str = job.unique.as_ref().map(|unique| &*unique.scope);
    unique_key: &str = job.unique.as_ref().map(|unique| &*unique.key);
    unique_while: &str = job.unique.as_ref().map(|unique| unique.holds);
    unique_for: PgInterval = job.unique.as_ref().and_then(|unique| unique.at_least).map(interval);
    on_duplicate: &str = job.unique.as_ref().and_then(|unique| unique.on_duplicate);
};

/// Jobs as the statement that stores them, and its parameters.
pub(super) fn sent(jobs: &[NewJob]) -> (&'static str, Result<PgArguments, BoxDynError>) {
    let form = Form::of(jobs, false);
    let mut parameters = PgArguments::default();
    let added = form.add(jobs, &mut parameters);
    (form.sql(), added.map(|()| parameters))
}

/// The record of any number of jobs, with all columns, from parameters of which the first has this
/// number …
pub(super) fn record_of_many(first: usize) -> String {
    record("new_jobs", COLUMNS.iter().chain(UNIQUE), first, Sent::Many)
}

/// … and these parameters.
pub(super) fn add_many(jobs: &[NewJob], to: &mut PgArguments) -> Result<(), BoxDynError> {
    COLUMNS.iter().chain(UNIQUE).try_for_each(|column| (column.all)(jobs, to))
}

/// The same as text, for any driver.
pub(super) fn written(jobs: &[NewJob]) -> (&'static str, Vec<Option<String>>) {
    let form = Form::of(jobs, true);
    (form.sql(), form.texts(jobs))
}

/// A job that now belongs to this worker.
#[derive(Debug, Default)]
pub(crate) struct ClaimedJob {
    pub(crate) id: i64,
    /// Index into the queues asked for.
    pub(crate) queue: usize,
    /// The lane of its priority without a permit.
    pub(crate) lane: Lane,
    /// The facts for its handler. The kind is a name of the registry: with the version of the
    /// payload from the second on.
    pub(crate) facts: Facts,
    /// How many attempts in a row ended with the worker's death.
    pub(crate) crashes: u32,
    /// Only to be settled as cancelled.
    pub(crate) cancelled: bool,
    /// Whether it has a concurrency key.
    pub(crate) keyed: bool,
    pub(crate) payload: Box<[u8]>,
    /// Without the carried values, which are in the facts.
    pub(crate) terms: Terms,
    /// How long it had been due.
    pub(crate) waited: Duration,
    /// What could not be read, and why. Then it cannot run.
    pub(crate) unreadable: Option<String>,
}

impl ClaimedJob {
    /// Its size in the server's answer.
    pub(crate) fn bytes(&self) -> usize {
        self.payload.len() + self.facts.metadata.as_ref().map_or(0, |json| json.get().len())
    }

    /// Reads a row of `jobkit.claimed`; `place` is the index of a queue among those asked for. An
    /// unreadable column only affects this job, not the whole answer.
    pub(super) fn read(
        row: &PgRow,
        at: &Places,
        place: impl Fn(&str) -> usize,
    ) -> sqlx::Result<Self> {
        let mut of = Reader { row, unreadable: None };
        let terms = of.read::<Option<Box<RawValue>>>(at.terms);
        let mut terms = Terms::read(terms.as_deref());
        let facts = Facts {
            kind: of.read(at.kind),
            attempt: of.read(at.attempt),
            max_attempts: of.read(at.max_attempts),
            snoozes: of.read(at.snoozes),
            created_at: of.read(at.created_at),
            tags: of.read::<Option<_>>(at.tags).unwrap_or_default(),
            metadata: of.read(at.metadata),
            carried: take(&mut terms.carried),
            batch: of.read::<Option<i64>>(at.batch_id).map(BatchId),
        };
        let mut job = Self {
            id: row.try_get(at.job_id)?,
            queue: place(row.try_get(at.queue)?),
            // A priority out of range must not fail the claim.
            lane: Lane::at(index(row.try_get(at.lane)?)),
            facts,
            crashes: of.read(at.crashes),
            cancelled: of.read(at.cancelled),
            keyed: of.read(at.keyed),
            payload: of.read(at.args),
            terms,
            waited: of.read(at.waited),
            unreadable: None,
        };
        job.unreadable = of.unreadable;
        Ok(job)
    }
}

/// Columns by name, looked up once per answer: doing so for each row costs more than reading it.
macro_rules! places {
    ($($name:ident)*) => {
        /// Where an answer has the columns of `jobkit.claimed`.
        pub(super) struct Places {
            $(pub(super) $name: usize,)*
        }

        impl Places {
            pub(super) fn of(row: &PgRow) -> sqlx::Result<Self> {
                Ok(Self { $($name: row.try_column(stringify!($name))?.ordinal(),)* })
            }
        }
    };
}

places! {
    job_id kind queue lane attempt max_attempts crashes snoozes created_at cancelled keyed args tags
    metadata terms waited batch_id note
}

/// Reads a row even if something is wrong with it.
struct Reader<'a> {
    row: &'a PgRow,
    /// The first column that could not be read, and why.
    unreadable: Option<String>,
}

impl Reader<'_> {
    /// The value of a column; the default if it cannot be read.
    fn read<T: FromColumn + Default>(&mut self, place: usize) -> T {
        T::from_column(self.row, place).unwrap_or_else(|error| {
            let cause = match error {
                sqlx::Error::ColumnDecode { source, .. } => source.to_string(),
                error => error.to_string(),
            };
            let name = self.row.column(place).name();
            self.unreadable.get_or_insert_with(|| ["`", name, "`: ", &cause].concat());
            T::default()
        })
    }
}

from_column! { Box<RawValue>: Json<Box<RawValue>> => |Json(raw)| raw; }

/// The JSON text of a payload, not parsed: its type is known only once the kind is looked up.
impl FromColumn for Box<[u8]> {
    fn from_column<I: ColumnIndex<PgRow> + Copy>(row: &PgRow, column: I) -> sqlx::Result<Self> {
        let value = row.try_get_raw(column)?;
        let bytes = value.as_bytes().map_err(sqlx::Error::Decode)?;
        Ok(bytes.into())
    }
}
