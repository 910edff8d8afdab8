use std::time::{Duration, Instant};

use super::{Claimer, Next};
use crate::store::{self, interval};
use crate::worker::claim::sleep::{BREATH, Hint};
use crate::worker::shared::slots::Named;
use crate::worker::ticker::jitter;

/// What a claimer does when it has found everything, as `sleep` decides.
impl Claimer {
    /// How long it rests; `whole` if it got everything that was found, `from_start` if it scanned
    /// the queues it asked from the start.
    pub(super) async fn rest(&mut self, whole: bool, from_start: bool) -> Next {
        let poll = self.settings.poll();
        if self.settings.listen {
            if self.pace.sleep.is_rushing() {
                self.rise().await;
                return Next::Rest(BREATH.min(poll));
            }
            if self.hint().await {
                return Next::Again;
            }
        }
        let follow_in = match self.follow_before_rest().await {
            Ok((true, _)) => return Next::Again,
            Ok((false, follow_in)) => follow_in,
            Err(error) => {
                tracing::debug!(%error, "jobkit: cannot look for new queues");
                None
            }
        };
        let nap = jitter(self.pace.sleep.nap(whole, poll, Instant::now()), 0.2);
        // A scan above the marks misses older jobs; scan from the start as soon as that is due.
        let start = self.pace.water.until_start(Instant::now());
        let nap = if from_start { nap } else { nap.min(start) };
        Next::Nap([self.pace.again_in, follow_in].into_iter().flatten().fold(nap, Duration::min))
    }

    /// Tells enqueues that this worker is going to sleep, unless they know. Returns whether it has
    /// to look once more.
    async fn hint(&mut self) -> bool {
        let (now, poll, worker) = (Instant::now(), self.settings.poll(), self.ledger.worker());
        let pools = self.pools_with_room();
        let Some(hint) = self.pace.sleep.missing_hint(worker, pools, poll, now) else {
            return false;
        };
        let names = hint.pools.iter().flat_map(|pool| &self.slots.pools()[*pool].names);
        let prefixes: Vec<_> = names.clone().filter_map(Named::prefix).collect();
        let names = names.filter(|named| named.prefix().is_none());
        let queues: Vec<_> = names.map(|named| &*named.name).collect();
        let call = store::sleep(worker, &queues, interval(Hint::length(poll)), &prefixes);
        match self.link.call(&call).await {
            Ok(()) => self.pace.sleep.hinted(hint, now),
            Err(error) => {
                self.pace.sleep.forget_hint();
                tracing::debug!(%error, "jobkit: no sleep hint; polling makes up for it");
                false
            }
        }
    }

    /// The pools that it wants notifications for: all except those whose slots were taken before it
    /// looked, and still are. A slot that becomes free ends its nap anyway, and producers of a busy
    /// queue need not wait for each other.
    fn pools_with_room(&self) -> Vec<usize> {
        let free = self.slots.free();
        let is_full = |pool: &usize| free[*pool] == 0 && self.pace.full.contains(pool);
        (0..free.len()).filter(|pool| !is_full(pool)).collect()
    }

    /// Tells enqueues that this worker is awake, if they know that it slept.
    pub(super) async fn rise(&mut self) {
        let Some(worker) = self.pace.sleep.rise(Instant::now()) else { return };
        if let Err(error) = self.link.call(&store::rise(worker)).await {
            tracing::debug!(%error, "jobkit: enqueues continue to notify this worker");
        }
        // Nor does the promoter hear any more of everything that becomes due before its next look.
        self.due.after(Duration::ZERO);
    }
}
