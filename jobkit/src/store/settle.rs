use std::time::Duration;

use sqlx::{PgConnection, Row};
use tracing::Span;

use super::worker::{interval, sparse};
use super::{Call, ClaimedJob};

/// Where a settle's answer has what makes up a job that it claimed.
const JOB: [usize; 3] = [0, 4, 5];

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Finish,
    Retry,
    Snooze,
    Bury,
    Discard,
    Cancel,
    Release,
}

impl Outcome {
    /// The verb, as the SQL functions and the spans have it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Finish => "finish",
            Self::Retry => "retry",
            Self::Snooze => "snooze",
            Self::Bury => "bury",
            Self::Discard => "discard",
            Self::Cancel => "cancel",
            Self::Release => "release",
        }
    }
}

/// The outcome of one attempt, on its way into the database.
#[derive(Debug, Clone)]
pub(crate) struct Settlement {
    /// The claim the job ran under: its worker and number.
    pub(crate) claim: (i64, i64),
    pub(crate) job: i64,
    pub(crate) outcome: Outcome,
    pub(crate) error: Option<String>,
    /// The Rust type of the error, if it tells anything.
    pub(crate) error_type: Option<&'static str>,
    /// Why it is buried, or would be after its last attempt: `exhausted`, `dead` or `undecodable`.
    pub(crate) reason: Option<&'static str>,
    pub(crate) delay: Option<Duration>,
    pub(crate) keep: Option<Duration>,
    pub(crate) took: Duration,
    /// The queue, by its place among those served, of a job with a concurrency key: the one that
    /// has its permit next may run in its slot.
    pub(crate) keyed_in: Option<usize>,
    /// Set when the handler ran.
    pub(crate) ran: Option<Ran>,
    /// It stands in for an outcome that the database refused.
    pub(crate) stand_in: bool,
    /// It was refused by itself, and noted as stuck.
    pub(crate) stuck: bool,
}

/// What a handler's run is measured as.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ran {
    /// Index into the worker's queues.
    pub(crate) queue: usize,
    /// The name that the kind has now.
    pub(crate) kind: &'static str,
    /// The number of the attempt, from 1.
    pub(crate) attempt: u32,
    /// How long the job had been due when its handler began.
    pub(crate) waited: Duration,
}

impl Settlement {
    /// A job given back at once, uncharged; the start of every other outcome.
    pub(crate) fn blank(claim: (i64, i64), job: i64) -> Self {
        Self {
            claim,
            job,
            outcome: Outcome::Release,
            error: None,
            error_type: None,
            reason: None,
            delay: None,
            keep: None,
            took: Duration::ZERO,
            keyed_in: None,
            ran: None,
            stand_in: false,
            stuck: false,
        }
    }
}

/// What became of a job instead of what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The claim does not hold the job any more; nothing was written.
    Lost,
    /// A retry found no attempt left.
    Buried,
    /// The job was marked as cancelled.
    Cancelled,
}

/// What a settle answers.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// The jobs that did not go as asked.
    pub(crate) endings: Vec<(i64, Ending)>,
    /// The jobs that got a permit and belong to this worker now.
    pub(crate) claimed: Vec<ClaimedJob>,
    /// The jobs that got a permit and are ready now: the first of each queue and priority.
    pub(crate) unblocked: Vec<Unblocked>,
}

/// The first ready job of a queue and lane that got its permit just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unblocked {
    pub(crate) queue: String,
    pub(crate) lane: usize,
    pub(crate) job: i64,
}

/// Records outcomes of one worker's jobs.
pub(crate) struct Settle<'a> {
    pub(crate) worker: i64,
    pub(crate) settlements: &'a [Settlement],
    pub(crate) next: Option<Next<'a>>,
}

/// A claim, by its number, of what a settle unblocks.
pub(crate) struct Next<'a> {
    pub(crate) n: i64,
    pub(crate) queues: Vec<&'a str>,
    /// Slots kept for it in each queue.
    pub(crate) room: Vec<i32>,
}

impl Call for Settle<'_> {
    type Answer = Settled;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.settle", worker = self.worker, jobs = self.settlements.len())
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let column = self.settlements.iter();
        let time = |time: Option<Duration>| time.map(interval);
        let took = |s: &Settlement| (s.keep.is_some() || s.error.is_some()).then_some(s.took);
        let (queues, room) = match &self.next {
            Some(next) => (&*next.queues, &*next.room),
            None => Default::default(),
        };
        let rows = sqlx::query(include_str!("sql/jobs_settle.sql"))
            .bind(self.worker)
            .bind(column.clone().map(|s| s.claim.1).collect::<Vec<_>>())
            .bind(column.clone().map(|s| s.job).collect::<Vec<_>>())
            .bind(column.clone().map(|s| s.outcome.as_str()).collect::<Vec<_>>())
            .bind(sparse(column.clone().map(|s| s.error.as_deref())))
            .bind(sparse(column.clone().map(|s| s.reason)))
            .bind(sparse(column.clone().map(|s| time(s.delay))))
            .bind(sparse(column.clone().map(|s| time(s.keep))))
            .bind(sparse(column.clone().map(|s| time(took(s)))))
            .bind(sparse(column.map(|s| s.error_type)))
            .bind(self.next.as_ref().map(|next| next.n))
            .bind(queues)
            .bind(room)
            .fetch_all(connection)
            .await?;
        let mut settled = Settled::default();
        for row in &rows {
            let (job, ending) = (row.try_get("job_id")?, row.try_get("ending")?);
            if !matches!(ending, "claim" | "unblock") {
                settled.endings.push((job, self::ending(ending)));
                continue;
            }
            let queue: &str = row.try_get("queue")?;
            let lane = lane_with_permit(row.try_get("priority")?);
            if ending == "unblock" {
                settled.unblocked.push(Unblocked { queue: queue.to_owned(), lane, job });
            } else if let Some(queue) = queues.iter().position(|served| *served == queue) {
                settled.claimed.push(ClaimedJob::read(row, JOB, queue, lane)?);
            }
        }
        Ok(settled)
    }
}

fn ending(text: &str) -> Ending {
    match text {
        "bury" => Ending::Buried,
        "cancel" => Ending::Cancelled,
        _ => Ending::Lost,
    }
}

/// The lane of ready jobs of this priority that hold a permit.
fn lane_with_permit(priority: i16) -> usize {
    usize::try_from((priority.clamp(-3, 3) + 3) * 2).unwrap_or(0)
}
