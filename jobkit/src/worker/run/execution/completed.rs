//! What happens after a handler that completed its job in its own transaction, or tried to.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::Execution;
use super::ending::Run;
use crate::JobError;
use crate::context::{Attempt, Completed};
use crate::reach::Completion;
use crate::returned::Returned;
use crate::store::{ClaimId, Outcome, Seen, Written};
use crate::worker::shared::running::Handler;

/// The first interval between checks whether the transaction is over: a dropped one is soon rolled
/// back.
const SOON: Duration = Duration::from_millis(2);
/// The longest interval.
const LATE: Duration = Duration::from_secs(1);
/// After how long this is logged.
const LONG: Duration = Duration::from_secs(5);
/// How long to keep checking once the worker drops its handlers.
const LAST: Duration = Duration::from_millis(200);

/// What is recorded of an attempt that succeeded although its transaction did not.
const MISSING: &str = "the handler succeeded, but the transaction in which it completed the job \
                       was not committed";

impl Execution {
    /// What became of the job, if its handler completed it, or tried to; and the claim that it has
    /// if it was given one of its own.
    pub(super) async fn seen(
        &self,
        claim: ClaimId,
        attempt: &Attempt,
        handler: &Handler,
    ) -> (Option<Seen>, ClaimId) {
        // Boxed, so that it is only created for such a handler.
        let look = || Box::pin(self.look(claim, attempt, handler));
        match attempt.completing.end() {
            Completed::No { moved: Some(false) } => (None, claim),
            Completed::No { moved: Some(true) } => {
                (None, ClaimId { n: attempt.report.claim().1, ..claim })
            }
            Completed::No { moved: None } => (None, look().await.claim),
            Completed::Perhaps => (Some(look().await), claim),
        }
    }

    /// Waits until it is known what became of the job: a transaction may outlive its handler, which
    /// may have lost the answer to its commit, or passed the transaction on. Nothing may be written
    /// before.
    ///
    /// It does not wait for a lock, since others use the same connection, and does not block the
    /// settler.
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
                    "jobkit: the transaction that completes the job is open; leaving the job to \
                     the lease"
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
                    "jobkit: the handler has ended, but the transaction that completes its job is \
                     still open"
                );
            }
            rest = (rest * 2).min(LATE);
        }
    }

    /// One check. A failed call counts as no answer.
    async fn completion(&self, claim: ClaimId, attempt: &Attempt) -> Completion {
        let claims = self.ledger.claims(claim, attempt.id.0);
        let Some(reach) = &self.reach else { return Completion::Lost };
        reach.completion(claim.worker, &claims, attempt.id).await.unwrap_or_else(|error| {
            tracing::debug!(job.id = attempt.id.0, %error, "jobkit: cannot check how a job ended");
            Completion::Open
        })
    }
}

/// How the run ended: a success whose completion was not committed counts as a failure.
pub(super) fn missing(run: Run, seen: Option<Seen>) -> Run {
    match (run, seen) {
        (Run::Returned(Ok(_)), Some(Seen { written: Written::No, .. })) => {
            Run::Returned(Err(JobError::from(MISSING)))
        }
        (run, _) => run,
    }
}

/// The outcome. If the job has already ended, what its handler returned after that is only logged.
pub(super) fn told(outcome: Outcome, seen: Option<Seen>) -> Outcome {
    if !matches!(seen, Some(Seen { written: Written::Yes, .. })) {
        return outcome;
    }
    match &outcome {
        Outcome::Finish(Returned::Nothing) => return outcome,
        Outcome::Finish(_) => tracing::debug!(
            "jobkit: the job was completed in a transaction; what it returned after that is not \
             kept"
        ),
        outcome => tracing::warn!(
            outcome = outcome.as_str(),
            error = outcome.failure().map(|failure| &*failure.error),
            "jobkit: the job was completed in a transaction; a later outcome is ignored"
        ),
    }
    Outcome::Finish(Returned::Nothing)
}
