mod columns;
mod ending;
mod outcome;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use sqlx::postgres::PgArguments;
use sqlx::{Arguments, PgConnection, Row};
use tracing::Span;

use self::columns::COLUMNS;
pub(crate) use self::ending::Ending;
pub(crate) use self::outcome::{EXHAUSTED, Failure, Outcome};
use super::job::{ClaimedJob, Places};
use super::lane::Lane;
use super::record::{Sent, record};
use super::{Call, ClaimId};
use crate::context::Attempt;
use crate::returned::Returned;

/// The outcome of one attempt, on its way into the database.
#[derive(Debug, Clone)]
pub(crate) struct Settlement {
    /// The claim the job ran under.
    pub(crate) claim: ClaimId,
    pub(crate) job: i64,
    pub(crate) outcome: Outcome,
    pub(crate) keep: Option<Duration>,
    pub(crate) took: Duration,
    /// The queue of a job with a concurrency key: the next job with its permit may run in its slot.
    pub(crate) keyed_in: Option<usize>,
    /// Whether the job is a member of a batch, which may end with it.
    pub(crate) in_batch: bool,
    /// Set if the handler ran, or was too late to run.
    pub(crate) ran: Option<Ran>,
    /// It stands in for an outcome that the database refused.
    pub(crate) stand_in: bool,
    /// It was refused on its own, and recorded as stuck.
    pub(crate) stuck: bool,
    pub(crate) written: Written,
    /// The attempt, if it failed: the failure is logged in its span.
    pub(crate) failed: Option<Arc<Attempt>>,
}

/// Whether an outcome has already been written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Written {
    #[default]
    No,
    /// The handler completed its job: at most its permit must still be freed.
    Yes,
    /// The worker ended or was reaped before the handler's transaction ended.
    Unknown,
}

/// What is known about a job whose handler completed it, or tried to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// The claim that has or had it.
    pub(crate) claim: ClaimId,
    pub(crate) written: Written,
}

/// The measurements of a handler's run.
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
    /// The settlement of a job whose handler did not run.
    pub(crate) fn of(claim: ClaimId, job: i64, outcome: Outcome) -> Self {
        Self {
            claim,
            job,
            outcome,
            keep: None,
            took: Duration::ZERO,
            keyed_in: None,
            in_batch: false,
            ran: None,
            stand_in: false,
            stuck: false,
            written: Written::No,
            failed: None,
        }
    }

    /// Adds what is known about a completion.
    pub(crate) fn seen(self, seen: Option<Seen>) -> Self {
        let Some(Seen { claim, written }) = seen else { return self };
        let outcome = match written {
            Written::Yes if !matches!(self.outcome, Outcome::Finish(_)) => {
                Outcome::Finish(Returned::Nothing)
            }
            _ => self.outcome.clone(),
        };
        Self { claim, written, outcome, ..self }
    }

    /// How long it took, if that is recorded.
    fn kept_time(&self) -> Option<Duration> {
        (self.keep.is_some() || self.outcome.failure().is_some()).then_some(self.took)
    }

    /// Whether there is nothing left to write.
    pub(crate) fn is_over(&self) -> bool {
        match self.written {
            Written::No => false,
            Written::Yes => self.keyed_in.is_none(),
            Written::Unknown => true,
        }
    }

    /// What became of it, according to a settle.
    pub(crate) fn ending(&self, answered: Option<Ending>) -> Option<Ending> {
        match self.written {
            Written::No => answered,
            Written::Yes => None,
            Written::Unknown => Some(Ending::Lost),
        }
    }
}

/// The answer of a settle.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    /// The jobs that did not end as requested.
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
    pub(crate) lane: Lane,
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

/// Records the outcomes of claimed jobs. Returns the jobs that ended differently than requested,
/// those that got a permit, and those that the worker claimed. Its parameters: the worker, the
/// number of the claim of what it unblocks, the queues and the room of each, and the columns of the
/// outcomes.
fn sql() -> &'static str {
    static SQL: LazyLock<String> = LazyLock::new(|| {
        let outcomes = record("outcomes", COLUMNS.iter(), 5, Sent::Many);
        let select = "select s.job_id as ended, s.ending, s.queue as of_queue, s.priority, \
            (jobkit.for_worker(s.job)).* from jobkit.settle($1, ";
        [select, &outcomes, ", $2, $3, $4) s"].concat()
    });
    &SQL
}

impl Call for Settle<'_> {
    type Answer = Settled;

    fn span(&self) -> Span {
        tracing::debug_span!("jobkit.settle", worker = self.worker, jobs = self.settlements.len())
    }

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let (queues, room) = match &self.next {
            Some(next) => (&*next.queues, &*next.room),
            None => Default::default(),
        };
        let mut parameters = PgArguments::default();
        parameters.add(self.worker).map_err(sqlx::Error::Encode)?;
        parameters.add(self.next.as_ref().map(|next| next.n)).map_err(sqlx::Error::Encode)?;
        parameters.add(queues).map_err(sqlx::Error::Encode)?;
        parameters.add(room).map_err(sqlx::Error::Encode)?;
        for column in COLUMNS {
            (column.all)(self.settlements, &mut parameters).map_err(sqlx::Error::Encode)?;
        }
        let rows = sqlx::query_with(sql(), parameters).fetch_all(connection).await?;
        let mut settled = Settled::default();
        let Some(places) = rows.first().map(Places::of).transpose()? else { return Ok(settled) };
        let served: HashMap<_, _> = queues.iter().zip(0..).collect();
        for row in &rows {
            let (job, ending) = (row.try_get("ended")?, row.try_get("ending")?);
            if !matches!(ending, "claim" | "unblock") {
                settled.endings.push((job, Ending::of(ending)));
                continue;
            }
            let queue: &str = row.try_get("of_queue")?;
            if ending == "unblock" {
                let lane = Lane::with_permit(row.try_get("priority")?);
                settled.unblocked.push(Unblocked { queue: queue.to_owned(), lane, job });
            } else if let Some(place) = served.get(&queue) {
                settled.claimed.push(ClaimedJob::read(row, &places, |_| *place)?);
            }
        }
        Ok(settled)
    }
}
