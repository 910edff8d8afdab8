use std::fmt;
use std::time::Duration;

use crate::hooks::Outcome as Became;
use crate::store::{Ending, Outcome as Requested};
use crate::worker::trial::Ended;
use crate::{JobId, JobType};

/// What a [`Drain`](super::Drain) did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The attempts, in the order in which they ended.
    pub runs: Vec<Run>,
    pub(super) done: bool,
}

impl Default for Report {
    fn default() -> Self {
        Self { runs: Vec::new(), done: true }
    }
}

/// An attempt that ended, or a job that did not start because it had expired or could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Run {
    /// The job.
    pub id: JobId,
    /// Its kind; from version 2 on with the version, as in `send_receipt@2`.
    pub kind: String,
    /// Its queue.
    pub queue: String,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// Its outcome.
    pub outcome: RunOutcome,
    /// The recorded reason for its failure.
    pub error: Option<String>,
}

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunOutcome {
    /// The job succeeded.
    Finished,
    /// It failed, and is retried after this wait.
    Retried(Duration),
    /// It was snoozed, or told to wait, for this long.
    Snoozed(Duration),
    /// It was given back, uncharged.
    Released,
    /// The job was discarded or had expired, or another one has taken its place.
    Discarded,
    /// The job was cancelled.
    Cancelled,
    /// The job is a dead letter, for this reason: `exhausted`, `dead` or `undecodable`.
    Buried(&'static str),
    /// The claim was no longer held: nothing was written.
    Lost,
}

impl Report {
    /// Whether everything has run, without reaching the [limit](super::Drain::at_most) of attempts.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// The attempts of jobs of this type.
    pub fn of<J: JobType>(&self) -> impl Iterator<Item = &Run> {
        let policy = J::POLICY;
        self.runs.iter().filter(move |run| {
            let kind = crate::version::split(&run.kind).0;
            kind == policy.kind || policy.aliases.contains(&kind)
        })
    }

    /// The outcomes of all attempts, in order.
    #[must_use]
    pub fn outcomes(&self) -> Vec<RunOutcome> {
        self.runs.iter().map(|run| run.outcome).collect()
    }

    /// Panics unless everything has run and every attempt finished its job; lists those that did
    /// not.
    #[track_caller]
    pub fn assert_finished(&self) -> &Self {
        let failed = self.runs.iter().filter(|run| run.outcome != RunOutcome::Finished);
        let failed: Vec<String> = failed.map(|run| format!("\n  {run}")).collect();
        assert!(failed.is_empty(), "{} attempts did not finish:{}", failed.len(), failed.concat());
        assert!(self.done, "more is ready after {} attempts", self.runs.len());
        self
    }
}

impl Run {
    pub(super) fn new((taken, settlement, ending): Ended) -> Self {
        let error = settlement.outcome.failure().map(|failure| failure.error.clone());
        Self {
            id: JobId(settlement.job),
            kind: taken.kind,
            queue: taken.queue.to_string(),
            attempt: taken.attempt,
            outcome: outcome(&settlement.outcome, ending),
            error,
        }
    }
}

fn outcome(requested: &Requested, ending: Option<Ending>) -> RunOutcome {
    let wait = requested.delay().unwrap_or_default();
    match requested.became(ending) {
        None => RunOutcome::Lost,
        Some(Became::Finish) => RunOutcome::Finished,
        Some(Became::Retry) => RunOutcome::Retried(wait),
        Some(Became::Snooze) => RunOutcome::Snoozed(wait),
        Some(Became::Release) => RunOutcome::Released,
        Some(Became::Discard | Became::Expire | Became::Supersede) => RunOutcome::Discarded,
        Some(Became::Cancel) => RunOutcome::Cancelled,
        Some(Became::Bury) => {
            RunOutcome::Buried(requested.reason().unwrap_or(crate::store::EXHAUSTED))
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, kind, queue, attempt, outcome, error } = self;
        write!(f, "job {id} ({kind} in {queue}), attempt {attempt}: {outcome:?}")?;
        error.as_ref().map_or(Ok(()), |error| write!(f, ", {error}"))
    }
}
