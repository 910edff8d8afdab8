use std::sync::Arc;
use std::time::Duration;

use super::counters::Counters;
use super::lease::Lease;
use super::ledger::Ledger;
use super::ticker::Duty;
use super::wake::Wake;
use crate::Error;
use crate::store::{Link, OrphanedClaims, ReapClaim, ReapLook, ReapWorkers};

/// Claims taken back in one round: a worker that stops waits for no more than that.
const AT_ONCE: usize = 100;

/// Takes back the jobs of dead workers.
///
/// It does nothing until this worker has held its own lease for one whole lease: after an outage
/// nobody could renew, and nobody is to blame. Any number of reapers may run at once. If none ran
/// for an hour, the jobs of dead workers would wait that long.
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

    async fn step(&mut self) -> Result<Duration, Error> {
        if !self.lease.is_steady() {
            return Ok(self.every.min(Duration::from_secs(1)));
        }
        let (lapsed, orphaned) = self.link.call(&ReapLook(self.ledger.worker())).await?;
        if lapsed {
            for worker in self.link.call(&ReapWorkers(self.ledger.worker())).await? {
                tracing::warn!(worker = format!("{worker:x}"), "jobkit.reap: a worker died");
            }
        }
        if !lapsed && !orphaned {
            return Ok(self.every);
        }
        let mut reaped = 0;
        let orphaned = self.link.call(&OrphanedClaims).await?;
        let more = orphaned.len() > AT_ONCE;
        for (worker, n) in orphaned.into_iter().take(AT_ONCE) {
            match self.link.call(&ReapClaim(worker, n)).await {
                Ok(jobs) => reaped += usize::try_from(jobs).unwrap_or(0),
                // One bad claim holds back no other.
                Err(error) if error.is_final() => {
                    let worker = format!("{worker:x}");
                    tracing::error!(worker, n, %error, "jobkit.reap failed");
                }
                Err(error) => return Err(error),
            }
        }
        if reaped > 0 {
            tracing::warn!(jobs = reaped, "jobkit.reap: took back jobs");
            self.counters.reaped.add(reaped);
            self.wake.ring();
        }
        Ok(if more { Duration::ZERO } else { self.every })
    }

    async fn close(self) {
        self.link.close().await;
    }
}
