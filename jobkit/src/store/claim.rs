use std::collections::{HashMap, HashSet};
use std::time::Duration;

use serde::Deserialize;
use sqlx::types::Json;
use sqlx::{PgConnection, Row};
use tracing::Span;

use super::Call;
use super::count::{duration, index};
use super::job::{ClaimedJob, Places};
use super::lane::Lane;

/// A claim: the worker that made it, and the number of its call. The fencing token of its jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClaimId {
    pub(crate) worker: i64,
    pub(crate) n: i64,
}

/// Takes ready jobs.
pub(crate) struct Claim<'a> {
    pub(crate) id: ClaimId,
    pub(crate) kinds: &'a [String],
    pub(crate) queues: Vec<&'a str>,
    /// Free slots of each queue.
    pub(crate) slots: Vec<i32>,
    /// [`Lane::COUNT`] marks for each queue; if empty, the scan begins at the start.
    pub(crate) marks: Vec<i64>,
    /// Between which lanes of each queue there are marks.
    pub(crate) between: (Vec<i32>, Vec<i32>),
    /// How many slots of each queue are not free yet; if empty, all are free.
    pub(crate) ahead: Vec<i32>,
    /// The pool of each queue that shares its slots, from 1, and the free slots of each pool, which
    /// its queues take in order. If empty, no queue shares slots.
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
    /// After how long to look again for jobs that went back because other transactions held them.
    pub(crate) put_back_for: Option<Duration>,
    /// What a limit or a rate of a queue or kind held back, if anything.
    pub(crate) held: Option<Held>,
    /// (Index of the queue, lane, id) of the first job picked, if some held or needed a permit. If
    /// empty, the jobs themselves show it.
    pub(crate) lowest: Vec<(usize, Lane, i64)>,
}

/// What a claim returns besides its jobs (docs/decisions/0002-claims.md).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Note {
    scan_us: Option<i64>,
    waiting: Option<(String, i32)>,
    lowest: Option<(String, i32, i64)>,
    ahead: Option<Vec<i64>>,
    cut: Option<bool>,
    gone: Option<i32>,
    again_in: Option<f64>,
    few: Option<Vec<String>>,
    fits_in: Option<f64>,
}

impl Claimed {
    /// Adds a note; `place` is where a queue is among those asked for.
    fn add(&mut self, note: Note, place: impl Fn(&str) -> usize) {
        let seconds = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or_default();
        if let Some(scan) = note.scan_us {
            self.scan = duration(scan);
        }
        self.waiting.extend(note.waiting.map(|(queue, jobs)| (place(&queue), index(jobs))));
        let lowest =
            note.lowest.map(|(queue, lane, id)| (place(&queue), Lane::at(index(lane)), id));
        self.lowest.extend(lowest);
        self.ahead.extend(note.ahead.unwrap_or_default());
        self.cut |= note.cut == Some(true);
        self.gone += note.gone.map_or(0, index);
        self.put_back_for = self.put_back_for.or(note.again_in.map(seconds));
        if let Some(few) = note.few {
            self.held = Some(Held { few, fits_in: None });
        }
        if let (Some(held), Some(fits_in)) = (&mut self.held, note.fits_in) {
            held.fits_in = Some(seconds(fits_in));
        }
    }

    /// After how long to look again, if no notification will tell that there is work.
    pub(crate) fn again_in(&self) -> Option<Duration> {
        let fits_in = self.held.as_ref().and_then(|held| held.fits_in);
        fits_in.into_iter().chain(self.put_back_for).min()
    }
}

/// How a limit or a rate held a claim back.
#[derive(Debug)]
pub(crate) struct Held {
    /// Kinds for which the claim looked only for as many jobs as they have room, from the start.
    pub(crate) few: Vec<String>,
    /// In how long a rate allows the next job.
    pub(crate) fits_in: Option<Duration>,
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
        // A job that was moved since it was picked runs nevertheless.
        let place = |queue: &str| places.get(&queue).copied().unwrap_or(0);
        let mut claimed = Claimed::default();
        let Some(places) = rows.first().map(Places::of).transpose()? else { return Ok(claimed) };
        for row in &rows {
            match row.try_get::<Option<Json<Note>>, _>(places.note)? {
                Some(Json(note)) => claimed.add(note, place),
                None => claimed.jobs.push(ClaimedJob::read(row, &places, place)?),
            }
        }
        claimed.jobs.sort_by_key(|job| (job.queue, job.lane, job.id));
        Ok(claimed)
    }
}
