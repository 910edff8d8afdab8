//! After a handler that completed its job in a transaction of its own, or meant to.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::Execution;
use super::ending::Run;
use crate::JobError;
use crate::context::Attempt;
use crate::reach::Completion;
use crate::returned::Returned;
use crate::store::{ClaimId, Outcome, Seen, Written};
use crate::worker::shared::running::Handler;

/// How soon it is looked again whether the transaction is over, at first: a dropped one is rolled
/// back in a moment.
const SOON: Duration = Duration::from_millis(2);
/// How soon at most.
const LATE: Duration = Duration::from_secs(1);
/// After how long that is worth a word.
const LONG: Duration = Duration::from_secs(5);
/// How long it is looked for once the worker drops its handlers.
const LAST: Duration = Duration::from_millis(200);

/// What is recorded of an attempt that succeeded although its transaction did not.
const MISSING: &str = "the handler succeeded, but the transaction in which it meant to complete \
                       the job was not committed";

impl Execution {
    /// What became of the job, if its handler completed it, or meant to.
    pub(super) async fn seen(
        &self,
        claim: ClaimId,
        attempt: &Attempt,
        handler: &Handler,
    ) -> Option<Seen> {
        if !attempt.completing.end() {
            return None;
        }
        // Boxed, and so made only for such a handler.
        Some(Box::pin(self.look(claim, attempt, handler)).await)
    }

    /// Waits until it is known what became of the job: a transaction may go on without its handler,
    /// which lost the answer to its commit, or gave it away. Nothing may be written before.
    ///
    /// It waits in no lock, since others ask through the same connection, and not in the settler's
    /// path.
    async fn look(&self, claim: ClaimId, attempt: &Attempt, handler: &Handler) -> Seen {
        let (began, mut rest, mut last) = (Instant::now(), SOON, None::<Instant>);
        let worker = claim.worker;
        let seen = |n, written| {
            attempt.report.moved(n);
            Seen { claim: ClaimId { worker, n }, written }
        };
        let n = || attempt.report.claim().1;
        loop {
            match self.completion(claim, attempt).await {
                Completion::Held(n) => return seen(n, Written::No),
                Completion::Finished(own) => return seen(own.unwrap_or_else(n), Written::Yes),
                Completion::Lost => return seen(n(), Written::Unknown),
                Completion::Open => {}
            }
            if self.ledger.worker() != worker || last.is_some_and(|last| last <= Instant::now()) {
                tracing::warn!(
                    job.id = attempt.id.0,
                    "jobkit: the transaction that completes the job is open; left to the lease"
                );
                return seen(n(), Written::Unknown);
            }
            tokio::select! {
                () = handler.abort.cancelled(), if last.is_none() => {
                    (last, rest) = (Some(Instant::now() + LAST), SOON);
                }
                () = sleep(rest) => {}
            }
            let waited = began.elapsed();
            if waited >= LONG && waited < LONG + rest {
                tracing::warn!(
                    job.id = attempt.id.0,
                    job.kind = attempt.facts.kind,
                    "jobkit: the handler has ended, and the transaction that completes its job is \
                     still open"
                );
            }
            rest = (rest * 2).min(LATE);
        }
    }

    /// One look. Who cannot be asked has not answered.
    async fn completion(&self, claim: ClaimId, attempt: &Attempt) -> Completion {
        let claims = self.ledger.claims(claim, attempt.id.0);
        let Some(reach) = &self.reach else { return Completion::Lost };
        reach.completion(claim.worker, &claims, attempt.id).await.unwrap_or_else(|error| {
            tracing::debug!(job.id = attempt.id.0, %error, "jobkit: cannot look how a job ended");
            Completion::Open
        })
    }
}

/// How the run ended, if its effect is to be there with it: a success without one is none.
pub(super) fn missing(run: Run, seen: Option<Seen>) -> Run {
    match (run, seen) {
        (Run::Returned(Ok(_)), Some(Seen { written: Written::No, .. })) => {
            Run::Returned(Err(JobError::from(MISSING)))
        }
        (run, _) => run,
    }
}

/// The outcome. Of a job that has ended already, what its handler says after that is only told.
pub(super) fn told(outcome: Outcome, seen: Option<Seen>) -> Outcome {
    if !matches!(seen, Some(Seen { written: Written::Yes, .. })) {
        return outcome;
    }
    match &outcome {
        Outcome::Finish(Returned::Nothing) => return outcome,
        Outcome::Finish(_) => tracing::debug!(
            "jobkit: the job was completed in a transaction, and what it returned after is not kept"
        ),
        outcome => tracing::warn!(
            outcome = outcome.as_str(),
            error = outcome.failure().map(|failure| &*failure.error),
            "jobkit: the job was completed in a transaction, and does not end otherwise"
        ),
    }
    Outcome::Finish(Returned::Nothing)
}
