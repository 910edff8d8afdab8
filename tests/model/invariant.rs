use super::{Job, Model, Outcome, Place, State, Step};

/// What holds in every state, or for every step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// No permit is granted above the limit: their number grows only while it stays within.
    WithinLimit,
    /// The semaphore counts its permits, and each belongs to a job that runs or is ready with it. A
    /// slot is reserved for jobs that are ready with a permit alone.
    Accounted,
    /// No permit is free while a served job is blocked, except before a sweep that is due.
    NoneIdle,
    /// No more jobs have begun than the burst, and those that the rate gave meanwhile.
    WithinRate,
    /// No job begins of a kind of which as many run as may.
    WithinKindLimit,
    /// No job begins that is paused.
    NonePaused,
    /// A grant goes to the first served jobs by priority and id.
    InOrder,
    /// Nobody but a worker itself ends what it runs, while its process and its row are there.
    Fenced,
    /// Left to itself, what is served ends, and no permit stays out. A matter of paths: see
    /// [`Model::at_rest`] and [`Model::goes_on`].
    Ends,
}

impl Model {
    /// The first invariant that a step broke. [`Ends`](Invariant::Ends) is not looked at.
    pub fn broken(&self, before: &State, step: &Step, after: &State) -> Option<Invariant> {
        let step =
            before.early.as_ref().filter(|_| *step == Step::Act).map_or(step, |early| &early.step);
        let grew = |then: u32, now: u32| now > then && now > after.limit;
        let above = grew(before.taken, after.taken) || grew(before.permits(), after.permits());
        let checks = [
            (Invariant::WithinLimit, above),
            (Invariant::WithinRate, self.burst.is_some_and(|burst| after.begun > burst)),
            (Invariant::WithinKindLimit, self.exceeds(after)),
            (Invariant::NonePaused, self.begins_paused(before, after)),
            (Invariant::Accounted, !accounted(after)),
            (Invariant::InOrder, !self.in_order(before, step, after)),
            (Invariant::NoneIdle, self.idle(after)),
            (Invariant::Fenced, !fenced(before, step, after)),
        ];
        checks.into_iter().find(|(_, broken)| *broken).map(|(invariant, _)| invariant)
    }

    /// Whether more run of a kind than may, those of the dead included.
    fn exceeds(&self, state: &State) -> bool {
        let Some((kind, most)) = self.kind_limit else { return false };
        let runs = |(id, job): &(i64, &Job)| {
            self.spec(*id).kind == kind && matches!(job.place, Place::Running(_))
        };
        state.jobs().filter(runs).count() > most as usize
    }

    fn begins_paused(&self, before: &State, after: &State) -> bool {
        let runs = |job: &Job| matches!(job.place, Place::Running(_));
        let mut begun = after.jobs().filter(|(id, job)| runs(job) && !runs(before.job(*id)));
        begun.any(|(id, _)| after.held_back(self.spec(id)))
    }

    fn idle(&self, state: &State) -> bool {
        let free = state.taken < state.limit && !state.due;
        if !free || state.waiting(self).iter().all(|job| !job.served) {
            return false;
        }
        // Where time alone makes room, somebody looks as soon as it has.
        let Some(burst) = self.burst else { return true };
        state.next_slot(burst).is_some_and(|next| state.look_in.is_none_or(|look| look > next))
    }

    /// Who got a permit is served, and comes before all that waited, are served and still wait.
    fn in_order(&self, before: &State, step: &Step, after: &State) -> bool {
        let key = |id| (self.spec(id).priority, id);
        let granted = |id| granted(before.job(id), after.job(id));
        let last = after.jobs().map(|(id, _)| id).filter(|id| granted(*id)).map(key).max();
        let Some(last) = last else { return true };
        // Parked rows were not looked at one by one, and did not wait before.
        let parked = |id| match step {
            Step::Wait { jobs, .. } => {
                before.job(id).place != Place::Blocked && !jobs.contains(&id)
            }
            _ => false,
        };
        let waiting = after.waiting(self);
        let mut left = waiting.iter().filter(|job| job.served && !parked(job.id));
        let served = |id| !granted(id) || self.served(after, id);
        after.jobs().all(|(id, _)| served(id)) && left.all(|job| key(job.id) > last)
    }

    /// Whether nothing is left to do but for workers that are not there, and no permit is out.
    ///
    /// When all jobs are served, they have all ended.
    pub fn at_rest(&self, state: &State) -> bool {
        let waits = |place| matches!(place, Place::Ready { .. } | Place::Blocked);
        let ended = |place| matches!(place, Place::Absent | Place::Finished);
        let mut jobs = state.jobs();
        let rests =
            jobs.all(|(id, job)| ended(job.place) || waits(job.place) && !self.served(state, id));
        rests && state.taken == 0 && state.reserved() == 0
    }

    /// Whether a step is what goes on when nobody interferes and nothing fails: from every state
    /// such steps lead to one [`at_rest`](Self::at_rest), if the limit allows one job at all.
    pub fn goes_on(&self, state: &State, step: &Step) -> bool {
        match step {
            Step::Settle { claim, job, outcome: Outcome::Finish } => {
                let listed = state.job(*job).place == Place::Running(*claim);
                listed && state.worker(claim.worker).is_some_and(|worker| !worker.crashed)
            }
            Step::Promote { .. } | Step::Wait { .. } | Step::Leave { .. } | Step::Sweep => true,
            Step::ReapWorker { .. } | Step::ReapClaim { .. } => true,
            Step::Tick | Step::GrantDue => true,
            _ => false,
        }
    }
}

fn accounted(state: &State) -> bool {
    let holds = |job: &Job| matches!(job.place, Place::Running(_) | Place::Ready { permit: true });
    let owned = state.jobs.iter().all(|job| job.permit == holds(job));
    let slots = |job: &Job| !job.reserved || job.place == (Place::Ready { permit: true });
    owned && state.taken == state.permits() && state.jobs.iter().all(slots)
}

/// Whether a job got a permit in this step, be it after it gave one back.
fn granted(before: &Job, after: &Job) -> bool {
    let ready = Place::Ready { permit: true };
    let returned = before.place != after.place && after.place == ready;
    after.permit && (!before.permit || returned)
}

fn fenced(before: &State, step: &Step, after: &State) -> bool {
    let own = |claim, id| match step {
        Step::Settle { claim: by, job, .. } => *by == claim && *job == id,
        _ => false,
    };
    before.jobs().all(|(id, job)| match job.place {
        Place::Running(claim) => {
            let alive = before.worker(claim.worker).is_some_and(|worker| !worker.crashed);
            !alive || after.job(id).place == job.place || own(claim, id)
        }
        _ => true,
    })
}
