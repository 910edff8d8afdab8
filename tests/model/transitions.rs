use super::state::Early;
use super::{Claim, Mistake, Model, Outcome, Place, Scope, State, Step, Waiting, grant};

impl Model {
    /// Makes a step, which must be one of [`steps`](Self::steps).
    pub fn apply(&self, state: &mut State, step: &Step) {
        match step {
            Step::Enqueue { job } | Step::Promote { job } => {
                state.job_mut(*job).place = Place::Ready { permit: false };
            }
            Step::Wait { worker, jobs, park } => {
                let jobs = self.let_through(jobs, self.running(state));
                if !jobs.is_empty() {
                    self.wait(state, *worker, &jobs, *park, None);
                }
            }
            Step::Settle { claim, job, outcome } => {
                self.settle(state, *claim, *job, *outcome, None);
            }
            Step::Cancel { job } => self.cancel(state, *job),
            Step::SetLimit { limit } => self.set_limit(state, *limit),
            Step::Pause { scope } => self.pause(state, *scope),
            Step::Resume { scope } => {
                state.paused.retain(|paused| paused != scope);
                state.due = true;
            }
            Step::Start { role } => {
                state.add_worker(*role);
                state.due = true;
            }
            Step::Stop { worker } => {
                state.worker_mut(*worker).expect("a worker stops by itself").stopping = true;
            }
            Step::Crash { worker } => {
                state.worker_mut(*worker).expect("it was there").crashed = true;
            }
            Step::Leave { worker } | Step::ReapWorker { worker } => {
                state.workers.retain(|row| row.id != *worker);
            }
            Step::ReapClaim { claim } => self.reap_claim(state, *claim),
            Step::Sweep => self.sweep(state),
            Step::Tick => {
                for left in
                    [&mut state.ahead, &mut state.begun].into_iter().chain(&mut state.look_in)
                {
                    *left = left.saturating_sub(1);
                }
            }
            Step::GrantDue => self.fill(state, None),
            Step::Forget => state.taken = 0,
            Step::Look(step) => state.early = Some(self.look(state, step)),
            Step::Act => self.act(state),
        }
    }

    /// What a step reads before it has the lock.
    fn look(&self, state: &State, step: &Step) -> Early {
        Early {
            step: Box::new(step.clone()),
            limit: state.limit,
            taken: state.taken,
            blocked: state.ids(|place| place == Place::Blocked),
            room: self.room(state),
            running: self.running(state),
            paused: state.paused.clone(),
        }
    }

    /// The jobs get their permits or are blocked, in one order with those that wait already.
    fn wait(
        &self,
        state: &mut State,
        worker: u32,
        jobs: &[i64],
        park: bool,
        early: Option<(u32, u32, u32)>,
    ) {
        let row = state.worker_mut(worker).expect("a claim locks its worker's row");
        row.claims += 1;
        let claim = Claim { worker, n: row.claims };
        let mut candidates = false;
        for id in jobs {
            let job = state.job_mut(*id);
            // Without a permit it is a candidate: one of those that wait.
            let held = job.place == Place::Ready { permit: true };
            job.place = if held { Place::Running(claim) } else { Place::Blocked };
            candidates |= !held;
        }
        self.begin(state, jobs);
        // Where a rate holds, a claim that brings no candidate does not look.
        if candidates || self.burst.is_none() {
            let (limit, taken, room) =
                early.unwrap_or((state.limit, state.taken, self.room(state)));
            for id in grant(limit.min(taken.saturating_add(room)), taken, &state.waiting(self)) {
                self.take(state, id);
                if jobs.contains(&id) {
                    state.job_mut(id).place = Place::Running(claim);
                }
            }
            self.pace(state, false);
            self.begin(state, jobs);
        }
        let denied = jobs.iter().any(|id| state.job(*id).place == Place::Blocked);
        let full = state.taken >= state.limit || denied && self.room(state) == 0;
        if park && full && (denied || self.burst.is_none()) {
            let holders = self.makes(Mistake::ParkHolders);
            for id in
                state.ids(|place| matches!(place, Place::Ready { permit } if !permit || holders))
            {
                state.job_mut(id).place = Place::Blocked;
            }
        }
    }

    /// The permit goes back, the job to where its outcome sends it.
    fn settle(
        &self,
        state: &mut State,
        claim: Claim,
        id: i64,
        outcome: Outcome,
        early: Option<&[i64]>,
    ) {
        let listed = state.job(id).place == Place::Running(claim);
        if !listed && !self.makes(Mistake::SettleUnfenced) {
            return;
        }
        if listed && state.worker(claim.worker).is_none_or(|worker| worker.crashed) {
            // Its answer may be lost, and then it is sent again.
            state.late.push((claim, id));
        }
        let retry = outcome == Outcome::Retry;
        if !(retry && self.makes(Mistake::RetryKeepsPermit)) {
            self.signal(state, id);
        }
        let ended = retry && self.charge(state, id);
        state.job_mut(id).place = match outcome {
            _ if ended || state.job(id).marked => Place::Finished,
            Outcome::Finish => Place::Finished,
            Outcome::Retry | Outcome::Snooze => Place::Scheduled,
            Outcome::Release => Place::Blocked,
        };
        self.fill(state, early);
    }

    /// Takes back a claim, unless there is a row of its worker.
    fn reap_claim(&self, state: &mut State, claim: Claim) {
        for id in state.listed(claim) {
            if !self.makes(Mistake::ReapKeepsPermit) {
                self.signal(state, id);
            }
            let ended = self.charge(state, id) || state.job(id).marked;
            state.job_mut(id).place = if ended { Place::Finished } else { Place::Blocked };
            state.late.push((claim, id));
        }
        self.fill(state, None);
    }

    fn cancel(&self, state: &mut State, id: i64) {
        let place = state.job(id).place;
        if matches!(place, Place::Running(_)) {
            state.job_mut(id).marked = true;
            return;
        }
        let ready = matches!(place, Place::Ready { .. });
        if !(ready && self.makes(Mistake::CancelKeepsPermit)) {
            self.signal(state, id);
        }
        state.job_mut(id).place = Place::Finished;
        self.fill(state, None);
    }

    fn set_limit(&self, state: &mut State, limit: u32) {
        state.due |= limit > state.limit && !self.makes(Mistake::RaiseUnswept);
        state.limit = limit;
    }

    /// Nobody will claim what is paused: the permits that wait with it go to others.
    fn pause(&self, state: &mut State, scope: Scope) {
        state.paused.push(scope);
        for id in state.ids(|place| place == Place::Ready { permit: true }) {
            if scope.has(self.spec(id)) {
                self.block(state, id);
            }
        }
        self.fill(state, None);
    }

    /// What a start, a resume or a raise made possible; and what became impossible without a step
    /// of ours, like a permit for a job whose last worker was reaped.
    fn sweep(&self, state: &mut State) {
        for id in state.ids(|place| place == Place::Ready { permit: true }) {
            if !self.served(state, id) && !self.makes(Mistake::SweepFillsOnly) {
                self.block(state, id);
            }
        }
        self.fill(state, None);
        state.due = false;
    }

    /// Does what was decided too early, as far as it is still possible under the locks.
    fn act(&self, state: &mut State) {
        let Some(early) = state.early.take() else { return };
        match &*early.step {
            Step::Wait { worker, jobs, park } => {
                let paused = state.paused.clone();
                if self.makes(Mistake::PauseReadEarly) {
                    state.paused.clone_from(&early.paused);
                }
                self.wait_by(&early, state, *worker, jobs, *park);
                state.paused = paused;
            }
            Step::Settle { claim, job, outcome } => {
                self.settle(state, *claim, *job, *outcome, Some(&early.blocked));
            }
            _ => {}
        }
    }

    /// A claim that decides by what it has read too early.
    fn wait_by(&self, early: &Early, state: &mut State, worker: u32, jobs: &[i64], park: bool) {
        let Some(row) = state.worker(worker).copied() else { return };
        if row.crashed || row.stopping {
            return;
        }
        let claimable = self.claimable(state, &row);
        let jobs: Vec<_> = jobs.iter().copied().filter(|id| claimable.contains(id)).collect();
        let (limit, taken, room) = (state.limit, state.taken, self.room(state));
        let (running, read) = match self.mistake {
            Some(Mistake::SlotsReadEarly) => (self.running(state), (limit, taken, early.room)),
            Some(Mistake::KindLimitReadsEarly) => (early.running, (limit, taken, room)),
            Some(Mistake::PauseReadEarly) => (self.running(state), (limit, taken, room)),
            _ => (self.running(state), (early.limit, early.taken, room)),
        };
        let jobs = self.let_through(&jobs, running);
        if !jobs.is_empty() {
            self.wait(state, worker, &jobs, park, Some(read));
        }
    }

    /// Takes back the permit of a ready job, which is blocked from then on.
    fn block(&self, state: &mut State, id: i64) {
        self.signal(state, id);
        state.job_mut(id).place = Place::Blocked;
    }

    /// Gives back the permit of a job, if it has one.
    fn signal(&self, state: &mut State, id: i64) {
        if !self.makes(Mistake::CancelKeepsSlot) {
            state.job_mut(id).reserved = false;
        }
        let had = std::mem::take(&mut state.job_mut(id).permit);
        if had || self.makes(Mistake::SignalUnchecked) {
            state.taken = state.taken.saturating_sub(1);
        }
    }

    /// Counts an attempt, and says whether it was the last.
    fn charge(&self, state: &mut State, id: i64) -> bool {
        let Some(attempts) = self.attempts else { return false };
        let job = state.job_mut(id);
        job.charged = (job.charged + 1).min(attempts);
        job.charged == attempts
    }

    /// Gives all free permits to blocked jobs, which become ready with them.
    fn fill(&self, state: &mut State, early: Option<&[i64]>) {
        let mut waiting = state.waiting(self);
        if let Some(seen) = early {
            waiting.retain(|job| seen.contains(&job.id));
        }
        let limit = state.limit.min(state.taken.saturating_add(self.room(state)));
        for id in self.filled(limit, state.taken, &waiting) {
            self.take(state, id);
        }
        self.pace(state, false);
    }

    /// Writes a permit for a job, and reserves a slot of the rate with it.
    fn take(&self, state: &mut State, id: i64) {
        state.taken += 1;
        let job = state.job_mut(id);
        job.permit = true;
        job.place = Place::Ready { permit: true };
        job.reserved = self.burst.is_some();
        if job.reserved && self.makes(Mistake::DatedByGrant) {
            job.reserved = false;
            state.ahead += 1;
        }
    }

    /// Those of the jobs that run by now have taken their slots.
    fn begin(&self, state: &mut State, jobs: &[i64]) {
        let mut any = false;
        for id in jobs {
            let job = state.job_mut(*id);
            let begins = matches!(job.place, Place::Running(_))
                && (job.reserved || self.makes(Mistake::DatedByGrant) && self.burst.is_some());
            if begins {
                job.reserved = false;
                any = true;
                state.begun += 1;
                let dated =
                    matches!(self.mistake, Some(Mistake::DatedByGrant | Mistake::ClaimUndated));
                state.ahead += u32::from(!dated);
            }
        }
        if any {
            self.pace(state, !self.makes(Mistake::ClaimForgetsLook));
        }
    }

    /// When somebody is to look at the key: when the next slot is free that is not reserved, or, if
    /// nothing is left of it, to forget it. A grant has looked at what is free now, a claim has
    /// not.
    fn pace(&self, state: &mut State, unseen: bool) {
        let Some(burst) = self.burst else { return };
        let blocked = state.jobs.iter().any(|job| job.place == Place::Blocked);
        state.look_in = if blocked && state.taken < state.limit {
            state.next_slot(burst).filter(|next| *next > 0 || unseen)
        } else {
            (!blocked && state.taken == 0 && state.ahead > 0).then_some(state.ahead)
        };
    }

    /// [`grant`], with what is done wrong.
    fn filled(&self, limit: u32, taken: u32, waiting: &[Waiting]) -> Vec<i64> {
        let all = |served| waiting.iter().map(move |job| Waiting { served, ..*job });
        match self.mistake {
            Some(Mistake::FillOne) => grant(limit.min(taken + 1), taken, waiting),
            Some(Mistake::FillUnserved) => grant(limit, taken, &all(true).collect::<Vec<_>>()),
            Some(Mistake::FillNewestFirst) => {
                let turned = |job: &Waiting| Waiting { id: -job.id, ..*job };
                let turned: Vec<_> = waiting.iter().map(turned).collect();
                grant(limit, taken, &turned).into_iter().map(|id| -id).collect()
            }
            _ => grant(limit, taken, waiting),
        }
    }
}
