use std::collections::{HashMap, HashSet};
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::postgres::PgRow;
use sqlx::types::Json;
use sqlx::{Column, ColumnIndex, PgConnection, Row};
use tracing::Span;

use super::Call;
use super::count::duration;
use super::lane::Lane;
use super::read::{FromColumn, ReadColumn, from_column};

/// A claim: the worker that made it, and the number of its call. The fencing token of its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClaimId {
    pub(crate) worker: i64,
    pub(crate) n: i64,
}

/// Where a claim's answer has what: the queue, lane, and what makes up a job.
const QUEUE: usize = 0;
const LANE: usize = 7;
const JOB: [usize; 3] = [5, 6, 8];

/// Takes ready jobs.
pub(crate) struct Claim<'a> {
    pub(crate) id: ClaimId,
    pub(crate) kinds: &'a [String],
    pub(crate) queues: Vec<&'a str>,
    /// Free slots of each queue.
    pub(crate) slots: Vec<i32>,
    /// [`Lane::COUNT`] marks for each queue; none, and the scan begins at the start.
    pub(crate) marks: Vec<i64>,
    /// Between which lanes of each queue there are marks.
    pub(crate) between: (Vec<i32>, Vec<i32>),
    /// How many slots of each queue are not free yet; none, and all are.
    pub(crate) ahead: Vec<i32>,
    /// The pool of each queue that shares its slots, from 1, and the free slots of each pool: taken
    /// from its queues in their order. None, and none shares any.
    pub(crate) pools: (Vec<Option<i32>>, Vec<i32>),
}

/// The answer to a [`Claim`].
#[derive(Debug, Default)]
pub(crate) struct Claimed {
    pub(crate) jobs: Vec<ClaimedJob>,
    /// How long the scan of all queues took, by the server.
    pub(crate) scan: Duration,
    /// (Index of the queue, jobs of it that got no permit and are blocked now), if there were any.
    pub(crate) waiting: Vec<(usize, usize)>,
    /// The jobs that are claimed ahead, under the number after that of the call.
    pub(crate) ahead: HashSet<i64>,
    /// Some that were picked to be claimed ahead may not be.
    pub(crate) cut: bool,
    /// Ready rows that had no job.
    pub(crate) gone: usize,
    /// In how long to look again for what went back since others had it in hand.
    pub(crate) put_back_for: Option<Duration>,
    /// What a limit or a rate of a queue or kind holds back, if one does.
    pub(crate) held: Option<Held>,
    /// (Index of the queue, lane, id) of the first job picked, where some held or needed a permit.
    /// When empty, the jobs themselves tell.
    pub(crate) lowest: Vec<(usize, Lane, i64)>,
}

impl Claimed {
    /// In how long to look again, where nobody will tell that there is something to be had.
    pub(crate) fn again_in(&self) -> Option<Duration> {
        let fits_in = self.held.as_ref().and_then(|held| held.fits_in);
        fits_in.into_iter().chain(self.put_back_for).min()
    }
}

/// What a limit or a rate has held a claim back by.
#[derive(Debug)]
pub(crate) struct Held {
    /// Kinds of which no more was looked for than there is room, and that from the start.
    pub(crate) few: Vec<String>,
    /// In how long a rate allows the next job.
    pub(crate) fits_in: Option<Duration>,
}

/// A job that now belongs to this worker.
#[derive(Debug, Default)]
pub(crate) struct ClaimedJob {
    pub(crate) id: i64,
    /// Index into the queues asked for.
    pub(crate) queue: usize,
    /// The lane of its priority without a permit.
    pub(crate) lane: Lane,
    /// From the second version of the payload on with that: a name of the registry.
    pub(crate) kind: String,
    /// Number of the attempt that begins, from 1.
    pub(crate) attempt: u32,
    pub(crate) max_attempts: u32,
    /// How many attempts in a row ended with the worker's death.
    pub(crate) crashes: u32,
    pub(crate) snoozes: u32,
    pub(crate) created_at: DateTime<Utc>,
    /// Only to be settled as cancelled.
    pub(crate) cancelled: bool,
    /// Whether it has a concurrency key.
    pub(crate) keyed: bool,
    pub(crate) payload: Box<[u8]>,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: Option<Box<RawValue>>,
    /// How long it had been due.
    pub(crate) waited: Duration,
    /// What of it could not be read, and why: it cannot run.
    pub(crate) unreadable: Option<String>,
}

impl Call for Claim<'_> {
    type Answer = Claimed;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.claim", worker = self.id.worker, n = self.id.n)
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Claimed> {
        let rows = sqlx::query(include_str!("sql/jobs_claim.sql"))
            .bind(self.id.worker)
            .bind(self.id.n)
            .bind(self.kinds)
            .bind(&self.queues)
            .bind(&self.slots)
            .bind(&self.marks)
            .bind(&self.between.0)
            .bind(&self.between.1)
            .bind(&self.ahead)
            .bind(&self.pools.0)
            .bind(&self.pools.1)
            .fetch_all(connection)
            .await?;
        let places: HashMap<_, _> = self.queues.iter().zip(0..).collect();
        // One that was moved since it was picked runs all the same.
        let place = |queue: &str| places.get(&queue).copied().unwrap_or(0);
        let mut claimed = Claimed::default();
        for row in &rows {
            let queue = || row.try_get(QUEUE).map(place);
            // A priority out of range costs its job the place, not its worker the claim.
            let lane = || Ok::<_, sqlx::Error>(Lane::at(index(row.try_get(LANE)?)));
            if row.try_get::<Option<i64>, _>(JOB[0])?.is_some() {
                claimed.jobs.push(ClaimedJob::read(row, JOB, queue()?, lane()?)?);
            } else if let Some(lowest) = row.try_get("lowest")? {
                claimed.lowest.push((queue()?, lane()?, lowest));
            } else if let Some(waiting) = row.try_get("waiting")? {
                claimed.waiting.push((queue()?, index(waiting)));
            } else if let Some(scan) = row.try_get("scan_us")? {
                claimed.scan = duration(scan);
            } else if let Some(few) = row.try_get("tags")? {
                claimed.held = Some(Held { few, fits_in: row.read("waited")? });
                claimed.cut |= row.try_get::<Option<i32>, _>("gone")?.is_some();
            } else if let Some(ahead) = row.try_get::<Option<Vec<i64>>, _>("ahead")? {
                claimed.ahead = ahead.into_iter().collect();
                claimed.cut = row.try_get::<Option<i32>, _>("gone")?.is_some();
            } else if let Some(gone) = row.try_get("gone")? {
                claimed.gone += index(gone);
                claimed.put_back_for = claimed.put_back_for.or(row.read("waited")?);
            }
        }
        claimed.jobs.sort_by_key(|job| (job.queue, job.lane, job.id));
        Ok(claimed)
    }
}

impl ClaimedJob {
    /// How large it is, as its answer was.
    pub(crate) fn bytes(&self) -> usize {
        self.payload.len() + self.metadata.as_ref().map_or(0, |json| json.get().len())
    }

    /// Of the row that a claim or a settle answers: where its id is, its kind, and its attempt with
    /// all that follows. By place, since to look up a name costs more than to read what it names.
    /// What cannot be read costs this job its run, and no other one the answer.
    pub(super) fn read(
        row: &PgRow,
        [id, kind, attempt]: [usize; 3],
        queue: usize,
        lane: Lane,
    ) -> sqlx::Result<Self> {
        let mut of = Reader { row, unreadable: None };
        let mut job = Self {
            id: row.try_get(id)?,
            queue,
            lane,
            kind: of.read(kind),
            attempt: of.read(attempt),
            max_attempts: of.read(attempt + 1),
            crashes: of.read(attempt + 2),
            snoozes: of.read(attempt + 3),
            created_at: of.read(attempt + 4),
            cancelled: of.read(attempt + 5),
            keyed: of.read(attempt + 6),
            payload: of.read(attempt + 7),
            tags: of.read::<Option<_>>(attempt + 8).unwrap_or_default(),
            metadata: of.read(attempt + 9),
            waited: of.read(attempt + 10),
            unreadable: None,
        };
        job.unreadable = of.unreadable;
        Ok(job)
    }
}

/// Reads a row whatever is wrong with it.
struct Reader<'a> {
    row: &'a PgRow,
    /// The first column that could not be read, and why.
    unreadable: Option<String>,
}

impl Reader<'_> {
    /// What is in a column; where it cannot be read, nothing.
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

fn index(value: i32) -> usize {
    usize::try_from(value).unwrap_or(0)
}
