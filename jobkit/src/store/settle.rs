mod columns;
mod ending;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use sqlx::postgres::PgArguments;
use sqlx::{Arguments, PgConnection, Row};
use tracing::Span;

use self::columns::COLUMNS;
pub(crate) use self::ending::Ending;
use super::claim::Places;
use super::lane::Lane;
use super::record::{Sent, record};
use super::{Call, ClaimId, ClaimedJob};
use crate::context::Attempt;
use crate::error_type::ErrorType;
use crate::returned::Returned;

/// Why a job is buried whose attempts are used up.
pub(crate) const EXHAUSTED: &str = "exhausted";

/// What became of an attempt, with what is recorded of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Finish(Returned),
    /// Tried again after `delay`; buried for `reason` when no attempt is left.
    Retry {
        failure: Failure,
        delay: Duration,
        reason: &'static str,
    },
    /// Runs later; the attempt does not count.
    Snooze(Duration),
    /// The same for a while, since somebody else says that it is too soon; then it is tried again,
    /// as after a failure.
    Wait {
        failure: Failure,
        delay: Duration,
    },
    /// A dead letter now, for `reason`: `dead` or `undecodable`.
    Bury {
        failure: Failure,
        reason: &'static str,
    },
    Discard(Failure),
    /// It had not begun in time.
    Expire(Failure),
    Cancel(Failure),
    /// Given back, uncharged: at once, or after a while; buried when it has no attempt left.
    Release(Option<Duration>),
    /// Given back, uncharged, for a worker that can open it: after `delay`, which the database
    /// makes longer each time. It notes `why`: that is no fault of the job.
    Withhold {
        why: String,
        delay: Duration,
    },
}

/// Why an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: String,
    /// The Rust type of the error, if it tells anything.
    pub(crate) error_type: Option<ErrorType>,
}

impl From<String> for Failure {
    fn from(error: String) -> Self {
        Self { error, error_type: None }
    }
}

impl Outcome {
    /// The verb, as the SQL functions and the spans have it.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Finish(_) => "finish",
            Self::Retry { .. } => "retry",
            Self::Snooze(_) => "snooze",
            Self::Wait { .. } => "wait",
            Self::Bury { .. } => "bury",
            Self::Discard(_) => "discard",
            Self::Expire(_) => "expire",
            Self::Cancel(_) => "cancel",
            Self::Release(_) | Self::Withhold { .. } => "release",
        }
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Retry { failure, .. }
            | Self::Wait { failure, .. }
            | Self::Bury { failure, .. }
            | Self::Discard(failure)
            | Self::Expire(failure)
            | Self::Cancel(failure) => Some(failure),
            Self::Finish(_) | Self::Snooze(_) | Self::Release(_) | Self::Withhold { .. } => None,
        }
    }

    /// Whether the attempt never began, or is not charged: no failed attempt may stand in for that.
    pub(crate) fn is_given_back(&self) -> bool {
        matches!(self, Self::Release(_) | Self::Withhold { .. })
    }

    /// What is recorded of a failure, or noted of a job that is given back.
    fn error(&self) -> Option<&str> {
        match self {
            Self::Withhold { why, .. } => Some(why),
            _ => Some(&*self.failure()?.error),
        }
    }

    /// What it returned, as JSON.
    fn result(&self) -> Option<&str> {
        match self {
            Self::Finish(Returned::Value(json)) => Some(json),
            _ => None,
        }
    }

    /// Why the job is buried, or would be, or why what it returned is not kept.
    fn why(&self) -> Option<&str> {
        match self {
            Self::Finish(Returned::Unfit(why)) => Some(why),
            _ => self.reason(),
        }
    }

    /// Why the job is buried, or would be after its last attempt.
    pub(crate) fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Retry { reason, .. } | Self::Bury { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// When it is to run again.
    pub(crate) fn delay(&self) -> Option<Duration> {
        match self {
            Self::Retry { delay, .. }
            | Self::Wait { delay, .. }
            | Self::Snooze(delay)
            | Self::Withhold { delay, .. } => Some(*delay),
            Self::Release(delay) => *delay,
            _ => None,
        }
    }
}

/// The outcome of one attempt, on its way into the database.
#[derive(Debug, Clone)]
pub(crate) struct Settlement {
    /// The claim the job ran under.
    pub(crate) claim: ClaimId,
    pub(crate) job: i64,
    pub(crate) outcome: Outcome,
    pub(crate) keep: Option<Duration>,
    pub(crate) took: Duration,
    /// The queue of a job with a concurrency key: who has its permit next may run in its slot.
    pub(crate) keyed_in: Option<usize>,
    /// Set when the handler ran, or came too late to.
    pub(crate) ran: Option<Ran>,
    /// It stands in for an outcome that the database refused.
    pub(crate) stand_in: bool,
    /// It was refused on its own, and noted as stuck.
    pub(crate) stuck: bool,
    pub(crate) written: Written,
    /// The attempt, if it failed: what is recorded of that is said in its span.
    pub(crate) failed: Option<Arc<Attempt>>,
}

/// Whether an outcome is written already.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Written {
    #[default]
    No,
    /// The handler completed its job: at most a permit is left to be freed.
    Yes,
    /// The worker ends, or was reaped, before the handler's transaction was over.
    Unknown,
}

/// What was seen of a job that its handler completed, or meant to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// The claim that has it, or had.
    pub(crate) claim: ClaimId,
    pub(crate) written: Written,
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
    /// Of a job whose handler did not run.
    pub(crate) fn of(claim: ClaimId, job: i64, outcome: Outcome) -> Self {
        Self {
            claim,
            job,
            outcome,
            keep: None,
            took: Duration::ZERO,
            keyed_in: None,
            ran: None,
            stand_in: false,
            stuck: false,
            written: Written::No,
            failed: None,
        }
    }

    /// The same, as far as that was seen of its job.
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

    /// How long it took, where that is written down.
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

    /// What became of it, where a settle has answered that.
    pub(crate) fn ending(&self, answered: Option<Ending>) -> Option<Ending> {
        match self.written {
            Written::No => answered,
            Written::Yes => None,
            Written::Unknown => Some(Ending::Lost),
        }
    }
}

/// What a settle answers.
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

/// Records the outcomes of claimed jobs. Returns the jobs that ended otherwise than requested,
/// those that got a permit, and those that the worker claimed. Its parameters: the worker, the
/// number of the claim of what it unblocks, the queues and the room of each, and the columns of
/// the outcomes.
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
