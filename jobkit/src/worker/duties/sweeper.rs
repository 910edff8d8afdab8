use std::sync::Arc;
use std::time::Duration;

use crate::error::DatabaseError;
use crate::store::{
    Link, interval, sweep_all, sweep_begin, sweep_cancelled, sweep_note, sweep_start,
    sweep_unserved,
};
use crate::worker::counters::Counters;
use crate::worker::shared::ledger::Ledger;
use crate::worker::shared::wake::Wake;
use crate::worker::ticker::Duty;

/// Jobs handled by one call.
const PAGE: i32 = 500;

/// The maximum number of pages in one sweep that take permits back.
const MOST_PAGES: usize = 100;

/// How long the sweep at a start waits for a lock behind which everybody else waits: at first, and
/// at most. It grows with the rest between two tries, as a fixed part of it.
const PATIENCE: Duration = Duration::from_millis(50);
const MOST_PATIENCE: Duration = Duration::from_secs(2);
const PATIENCE_PER_REST: u32 = 20;

/// The safety net for permits: gives free ones to blocked jobs, and takes them back from ready jobs
/// that no worker serves.
///
/// It sweeps when this worker starts, since jobs of its kinds may have been blocked because no
/// worker knew them, and then in turn with all other workers. Unexplained finds of a periodic sweep
/// are counted, and should be none. If none ran for an hour, a worker's start, a resumed queue and
/// a raised limit would only take effect with the next job that ends.
pub(crate) struct Sweeper {
    pub(crate) link: Link,
    pub(crate) every: Duration,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) counters: Arc<Counters>,
    /// The worker id that every transaction that decides about permits knows by now.
    pub(crate) known: Option<i64>,
    /// The worker id for which the sweep at a start is done.
    pub(crate) started: Option<i64>,
    /// How often an open transaction prevented that.
    pub(crate) put_off: u32,
}

impl Duty for Sweeper {
    const NAME: &'static str = "sweep";

    async fn step(&mut self) -> Result<Duration, DatabaseError> {
        let worker = self.ledger.worker();
        if self.started != Some(worker) {
            if self.known != Some(worker) {
                let patience = PATIENCE * 2_u32.saturating_pow(self.put_off.min(8));
                let patience = patience.min(MOST_PATIENCE);
                match self.link.call(&sweep_start(patience)).await {
                    Err(error) if error.code().as_deref() == Some("55P03") => {
                        self.put_off += 1;
                        return Ok(patience * PATIENCE_PER_REST);
                    }
                    known => known?,
                }
                self.known = Some(worker);
                self.put_off = 0;
            }
            self.sweep().await?;
            self.started = Some(worker);
            return Ok(self.every);
        }
        let (due, explained) = self.link.call(&sweep_begin(interval(self.every))).await?;
        if due {
            let unblocked = self.sweep().await?;
            if unblocked > 0 && !explained {
                tracing::warn!(
                    jobs = unblocked,
                    "jobkit.sweep: found blocked jobs and free permits"
                );
                self.counters.swept.add(usize::try_from(unblocked).unwrap_or(0));
                self.link.call(&sweep_note(unblocked)).await?;
            }
        }
        Ok(self.every)
    }

    async fn close(self) {
        self.link.close().await;
    }
}

impl Sweeper {
    /// One sweep of everything; returns how many jobs became ready.
    async fn sweep(&mut self) -> Result<i32, DatabaseError> {
        self.link.call(&sweep_cancelled(PAGE)).await?;
        let mut unserved = 0;
        for _ in 0..MOST_PAGES {
            let taken_back = self.link.call(&sweep_unserved(PAGE)).await?;
            unserved += taken_back;
            if taken_back < PAGE {
                break;
            }
        }
        let unblocked = sweep_all(&mut self.link).await?;
        if unserved > 0 || unblocked > 0 {
            tracing::debug!(unserved, unblocked, "jobkit.sweep");
            self.wake.ring();
        }
        Ok(unblocked)
    }
}
