use std::sync::Arc;
use std::time::Duration;

use crate::error::DatabaseError;
use crate::store::{
    ClaimId, Link, claim_jobs, crashed, orphaned_claims, reap_claim, reap_look, reap_workers,
};
use crate::worker::counters::Counters;
use crate::worker::halves;
use crate::worker::lease::Lease;
use crate::worker::shared::ledger::Ledger;
use crate::worker::shared::wake::Wake;
use crate::worker::ticker::Duty;

/// Claims taken back in one round: a stopping worker waits for at most that.
const AT_ONCE: usize = 100;

/// Takes back the jobs of dead workers.
///
/// It does nothing until this worker has held its own lease for one whole lease, since during an
/// outage no worker could renew its lease. Any number of reapers may run at once. If none ran for
/// an hour, the jobs of dead workers would wait that long.
pub(crate) struct Reaper {
    pub(crate) link: Link,
    pub(crate) every: Duration,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) lease: Arc<Lease>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) counters: Arc<Counters>,
}

impl Duty for Reaper {
    const NAME: &'static str = "reap";

    async fn step(&mut self) -> Result<Duration, DatabaseError> {
        if !self.lease.is_steady() {
            return Ok(self.every.min(Duration::from_secs(1)));
        }
        let (lapsed, orphaned, since) = self.link.call(&reap_look()).await?;
        if lapsed {
            for worker in self.link.call(&reap_workers(self.ledger.worker())).await? {
                tracing::warn!(worker = format!("{worker:x}"), "jobkit.reap: a worker died");
            }
        }
        if !lapsed && !orphaned {
            return Ok(self.every);
        }
        let (mut reaped, mut failed) = (0, None);
        let orphaned = self.link.call(&orphaned_claims()).await?;
        let more = orphaned.len() > AT_ONCE;
        let workers: Vec<i64> = orphaned.iter().map(|claim| claim.worker).collect();
        for claim in orphaned.into_iter().take(AT_ONCE) {
            // One bad claim must not delay others.
            if let Err(error) = self.reap(claim, &mut reaped).await {
                let worker = format!("{:x}", claim.worker);
                tracing::warn!(worker, n = claim.n, %error, "jobkit.reap failed");
                let answered = error.is_answer();
                failed = Some(error);
                if !answered {
                    break;
                }
            }
        }
        if reaped > 0 {
            tracing::warn!(jobs = reaped, "jobkit.reap: took back jobs");
            self.counters.reaped.add(usize::try_from(reaped).unwrap_or(0));
            self.wake.ring();
            for (job, kind, queue, attempt) in self.link.call(&crashed(since, &workers)).await? {
                tracing::error!(
                    job.id = job,
                    job.kind = kind,
                    queue,
                    attempt,
                    reason = "crashed",
                    "jobkit.bury: a dead letter"
                );
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(if more { Duration::ZERO } else { self.every }),
        }
    }

    async fn close(self) {
        self.link.close().await;
    }
}

impl Reaper {
    /// Takes back a claim, or if that fails as a whole, as many of its jobs as possible.
    async fn reap(&mut self, claim: ClaimId, reaped: &mut i32) -> Result<(), DatabaseError> {
        let ClaimId { worker, n } = claim;
        match self.link.call(&reap_claim(worker, n, None)).await {
            Err(error) if error.may_be_one_job() => {
                let jobs = self.link.call(&claim_jobs(worker, n)).await?;
                let part = |jobs| reap_claim(worker, n, Some(jobs));
                let stuck = halves::by_halves(&mut self.link, &jobs, reaped, part).await?;
                halves::report(&mut self.link, "reap", self.ledger.worker(), &stuck).await;
            }
            answer => *reaped += answer?,
        }
        Ok(())
    }
}
