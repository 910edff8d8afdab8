use std::sync::Arc;
use std::time::Instant;

use tokio::time::sleep_until;

use super::Heartbeat;
use crate::StopReason;
use crate::error::DatabaseError;
use crate::store::renew_lease;
use crate::worker::ticker::backoff;

impl Heartbeat {
    /// Keeps the lease for work that still runs although the worker has ended: it cannot be
    /// stopped, and its jobs must not start elsewhere meanwhile. It continues until all of that or
    /// the process has ended. The jobs of a gracefully stopped worker are then given back,
    /// uncharged.
    pub(super) async fn keep(&mut self) {
        let (running, kept) = (Arc::clone(&self.running), self.running.jobs());
        tokio::select! {
            () = running.idle() => {}
            () = self.beat_on() => return,
        }
        if self.in_order.is_cancelled() && !kept.is_empty() {
            tracing::info!(jobs = kept.len(), "jobkit: work that outlasted the worker has ended");
            self.ledger.forget(&kept);
        }
    }

    /// Renews the lease repeatedly, until it is lost.
    async fn beat_on(&mut self) {
        let (mut failures, mut next) = (0, self.next_beat());
        loop {
            sleep_until(next.into()).await;
            match self.renew().await {
                Ok(true) => (failures, next) = (0, self.next_beat()),
                Ok(false) => {
                    return tracing::warn!("jobkit: reaped; jobs that still run may run twice");
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!(failures, %error, "jobkit: heartbeat failed");
                    next = Instant::now() + backoff(failures).min(self.settings.heartbeat());
                }
            }
        }
    }

    /// The time of the next heartbeat.
    fn next_beat(&self) -> Instant {
        let (lease, beat) = (self.settings.lease, self.settings.heartbeat());
        self.lease.ends().1.checked_sub(lease - beat).unwrap_or_else(Instant::now)
    }

    /// Renews the lease; false when it is lost.
    async fn renew(&mut self) -> Result<bool, DatabaseError> {
        let (sent, snapshot) = (Instant::now(), self.ledger.snapshot());
        let beat = renew_lease(snapshot.worker, true, snapshot.begun);
        let pulse = self.link.call(&beat).await?;
        if pulse.alive {
            self.lease.renew(sent, pulse.lapsed);
            self.running.ask_jobs(&pulse.cancel, StopReason::Cancelled);
        }
        Ok(pulse.alive)
    }
}
