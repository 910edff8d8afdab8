use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::execution::{Clear, Execution};
use crate::lock::Lock;
use crate::meter;
use crate::store::{ClaimId, ClaimedJob, Outcome, Settlement};
use crate::worker::counters::Counters;
use crate::worker::lease::Lease;
use crate::worker::shared::ledger::Ledger;
use crate::worker::shared::slots::{TakenSlots, Waiting};

/// Receives the jobs that a claim or a settle brings: each such call is a [`Reservation`].
pub(crate) struct Dispatch {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) lease: Arc<Lease>,
    pub(crate) execution: Arc<Execution>,
    pub(crate) counters: Arc<Counters>,
    /// Set when the worker claims no more.
    pub(crate) stopping: CancellationToken,
    /// Claim and job of crash suspects whose settle may not have been answered yet.
    pub(crate) suspects: Lock<Vec<(ClaimId, i64)>>,
}

/// A call in progress that may bring jobs: its number, and the slots kept for them.
pub(crate) struct Reservation {
    pub(crate) claim: ClaimId,
    /// The claim of the jobs that are claimed ahead.
    pub(crate) ahead: ClaimId,
    pub(crate) slots: TakenSlots,
}

impl Dispatch {
    /// Whether a call may claim.
    pub(crate) fn is_open(&self) -> bool {
        self.lease.is_valid() && !self.stopping.is_cancelled()
    }

    /// Announces a call; it ends with [`receive`](Self::receive) or [`give_up`](Self::give_up).
    pub(crate) fn reserve(&self, slots: TakenSlots) -> Reservation {
        let (claim, ahead) = self.ledger.begin();
        Reservation { claim, ahead, slots }
    }

    /// The call failed or was not answered, but may have committed. `alone`: it asked for a single
    /// job, which is suspected to be the cause.
    pub(crate) fn give_up(&self, reservation: Reservation, alone: bool) {
        self.ledger.give_up(reservation.claim, alone);
        self.ledger.give_up(reservation.ahead, false);
        self.done(reservation);
    }

    /// Everything that the call brought is processed: waiting jobs may have the remaining slots.
    pub(crate) fn done(&self, reservation: Reservation) {
        drop(reservation);
        self.execution.begin_waiting();
    }

    /// Starts the jobs that a call brought, except crash suspects, which it returns. Jobs claimed
    /// ahead wait for a slot, if none is free by now.
    pub(crate) fn receive(
        &self,
        reservation: &mut Reservation,
        jobs: Vec<ClaimedJob>,
        ahead: &HashSet<i64>,
    ) -> Vec<ClaimedJob> {
        let claim = reservation.claim;
        let count = jobs.len();
        let (waiting, jobs): (Vec<_>, Vec<_>) =
            jobs.into_iter().partition(|job| ahead.contains(&job.id));
        let ids = |jobs: &[ClaimedJob]| jobs.iter().map(|job| job.id).collect();
        if !self.ledger.hold(claim, ids(&jobs)) {
            return Vec::new();
        }
        self.ledger.hold_ahead(reservation.ahead, ids(&waiting));
        self.counters.claimed.add(count);
        meter::received(count);
        let since = Instant::now();
        for job in waiting {
            self.execution.wait(Waiting { claim: reservation.ahead, job, since });
        }
        let suspect = |job: &ClaimedJob| job.crashes >= 2 && !job.cancelled;
        let (suspects, others) = jobs.into_iter().partition(suspect);
        for job in others {
            self.start(reservation, job, false, None);
        }
        suspects
    }

    /// Only one job whose last two attempts crashed runs at a time; others are given back for a
    /// moment. It begins once that and the outcome of the one before it are written, since its
    /// death would be charged to every job that is still claimed.
    pub(crate) fn start_suspects(&self, mut reservation: Reservation, suspects: Vec<ClaimedJob>) {
        let claim = reservation.claim;
        let mut others = self.suspects.lock();
        others.retain(|(claim, job)| self.ledger.holds(*claim, *job));
        let mut chosen = None;
        for job in suspects {
            if chosen.is_none() && self.execution.slots.take_suspect() {
                chosen = Some(job);
                continue;
            }
            others.push((claim, job.id));
            let spread = Duration::from_secs(1) + Duration::from_secs(4).mul_f64(fastrand::f64());
            let release = Outcome::Release(Some(spread));
            self.execution.send(Settlement::of(claim, job.id, release));
        }
        let Some(job) = chosen else { return self.done(reservation) };
        let (ledger, waits_for) = (Arc::clone(&self.ledger), others.clone());
        others.push((claim, job.id));
        drop(others);
        let clear = async move {
            while waits_for.iter().any(|(claim, job)| ledger.holds(*claim, *job)) {
                sleep(Duration::from_millis(2)).await;
            }
        };
        self.start(&mut reservation, job, true, Some(Box::pin(clear)));
        self.done(reservation);
    }

    /// Starts a job in one of the slots kept for it, once `clear` completes.
    pub(crate) fn start(
        &self,
        reservation: &mut Reservation,
        job: ClaimedJob,
        suspect: bool,
        clear: Option<Clear>,
    ) {
        reservation.slots.pass_on(job.queue);
        self.execution.begin(reservation.claim, suspect, job, clear);
    }
}
