use fastrand::Rng;
use jobkit_tests::model::{Model, Outcome, Place, Role, Spec, State, Step, grant};

/// What a seed plays with, and what the model allows after each step.
#[derive(Debug)]
pub(super) struct Play {
    pub(super) model: Model,
    /// Whether limits are set for the key itself, or for its group.
    pub(super) own_limit: bool,
}

impl Play {
    /// Some jobs and workers of two queues and kinds; the first worker is for all of them.
    pub(super) fn random(rng: &mut Rng) -> (Self, State) {
        let spec = |_| {
            let (priority, queue, kind) = (rng.i16(-1..=1), rng.u8(..2), rng.u8(..2));
            Spec { priority, queue, kind }
        };
        let jobs = (0..6).map(spec).collect::<Vec<_>>();
        let all = Role { queues: 0b11, kinds: 0b11 };
        let mut roles = vec![all];
        for _ in 0..rng.usize(1..=2) {
            roles.push(Role { queues: rng.u32(1..=3), kinds: rng.u32(1..=3) });
        }
        let model = Model {
            jobs: jobs[..rng.usize(3..=6)].to_vec(),
            roles,
            limits: vec![0, 1, 2, 2, 3, 3],
            attempts: Some([2, 3, 100][rng.usize(..3)]),
            burst: None,
            kind_limit: None,
            mistake: None,
        };
        let state = State::new(&model, rng.u32(1..=2));
        (Self { model, own_limit: rng.bool() }, state)
    }

    /// What the tables may say after a step. `crashed`: jobs whose last attempt crashed, too.
    pub(super) fn successors(&self, before: &State, step: &Step, crashed: &[i64]) -> Vec<State> {
        let after = self.after(before, step);
        match step {
            Step::Wait { worker, jobs, park } => self.claims(before, *worker, jobs, *park),
            // Without a permit to take back, the keys are not looked at: a sweep is due as before.
            Step::Pause { scope } => {
                let holders = before.ids(|place| place == Place::Ready { permit: true });
                let none = holders.iter().all(|job| !scope.has(self.model.spec(*job)));
                let unfilled = none.then(|| self.unfilled(before, step));
                [after].into_iter().chain(unfilled).collect()
            }
            // What the limit of a key frees is granted at once, and not by the sweep.
            Step::SetLimit { .. } if self.own_limit => {
                let mut state = self.granted(after);
                state.due = before.due;
                vec![state]
            }
            // Whoever marks a running job has looked at its key, and does what a sweep would do.
            Step::Cancel { job } if matches!(before.job(*job).place, Place::Running(_)) => {
                vec![self.granted(after)]
            }
            // Whoever frees a permit may run the next job at once.
            Step::Settle { claim, .. } => self.taken_over(before, after, claim.worker),
            // From the second crash in a row a job has to wait, as for a retry.
            Step::ReapClaim { claim } => {
                let mut state = before.clone();
                let again = before.listed(*claim).into_iter().filter(|job| crashed.contains(job));
                for job in again {
                    let (claim, outcome) = (*claim, Outcome::Retry);
                    state = self.after(&state, &Step::Settle { claim, job, outcome });
                }
                let rest = !state.listed(*claim).is_empty();
                vec![if rest { self.after(&state, step) } else { state }]
            }
            _ => vec![after],
        }
    }

    fn after(&self, before: &State, step: &Step) -> State {
        let mut state = before.clone();
        self.model.apply(&mut state, step);
        state
    }

    /// A step that grants nothing, although a sweep that is due would.
    fn unfilled(&self, before: &State, step: &Step) -> State {
        let mut state = before.clone();
        state.limit = 0;
        self.model.apply(&mut state, step);
        state.limit = before.limit;
        state
    }

    /// Any of what became ready with its permit just now may run on the worker.
    fn taken_over(&self, before: &State, after: State, worker: u32) -> Vec<State> {
        let Some(row) = after.worker(worker) else { return vec![after] };
        let granted = Place::Ready { permit: true };
        let place = |state: &State, job: i64| state.job(job).place;
        let new = |job: &i64| place(&after, *job) == granted && place(before, *job) != granted;
        let new: Vec<_> = self.model.claimable(&after, row).into_iter().filter(new).collect();
        let some = |bits: u32| {
            let chosen = (0..new.len()).filter(|bit| bits >> bit & 1 == 1);
            let jobs = chosen.map(|at| new[at]).collect();
            self.unfilled(&after, &Step::Wait { worker, jobs, park: false })
        };
        (1..1 << new.len()).map(some).chain([after.clone()]).collect()
    }

    fn granted(&self, mut state: State) -> State {
        for id in grant(state.limit, state.taken, &state.waiting(&self.model)) {
            let job = &mut state.jobs[usize::try_from(id).unwrap()];
            (job.place, job.permit) = (Place::Ready { permit: true }, true);
            state.taken += 1;
        }
        state
    }

    /// After a claim, any of those that the model parks all together may be parked.
    fn claims(&self, before: &State, worker: u32, jobs: &[i64], park: bool) -> Vec<State> {
        let jobs = if park { self.picked(before, worker, jobs) } else { jobs.to_vec() };
        let wait = |park| Step::Wait { worker, jobs: jobs.clone(), park };
        let after = self.after(before, &wait(false));
        let mut found = vec![after.clone()];
        // Whoever needs no permit does not look at the keys.
        if jobs.iter().all(|job| before.job(*job).permit) {
            found.push(self.unfilled(before, &wait(false)));
        }
        let all = if park { self.after(before, &wait(true)) } else { after.clone() };
        let differs = |at: &usize| after.jobs[*at].place != all.jobs[*at].place;
        let parked: Vec<_> = (0..all.jobs.len()).filter(differs).collect();
        for bits in 1..1_u32 << parked.len() {
            let mut some = after.clone();
            for (bit, at) in parked.iter().enumerate() {
                if bits >> bit & 1 == 1 {
                    some.jobs[*at].place = Place::Blocked;
                }
            }
            found.push(some);
        }
        found
    }

    /// What a claim takes that has slots for as many jobs of each queue as there are among some:
    /// the first by priority; then those with a permit; then by id.
    fn picked(&self, state: &State, worker: u32, some: &[i64]) -> Vec<i64> {
        let mut claimable = self.model.claimable(state, state.worker(worker).unwrap());
        claimable
            .sort_by_key(|job| (self.model.spec(*job).priority, !state.job(*job).permit, *job));
        let mut picked = Vec::new();
        for queue in 0..2 {
            let of_queue = |job: &&i64| self.model.spec(**job).queue == queue;
            let slots = some.iter().filter(of_queue).count();
            picked.extend(claimable.iter().filter(of_queue).take(slots));
        }
        picked
    }

    /// A state as [`Stage::look`](super::Stage::look) tells it.
    pub(super) fn tell(&self, state: &State) -> Vec<String> {
        let mut lines = Vec::new();
        for (id, job) in state.jobs() {
            let place = match job.place {
                Place::Absent => continue,
                Place::Finished => {
                    lines.push(format!("{id} finished"));
                    continue;
                }
                Place::Ready { permit: true } => "ready with permit".to_owned(),
                Place::Ready { permit: false } => "ready".to_owned(),
                Place::Running(claim) => format!("running {}/{}", claim.worker, claim.n),
                Place::Scheduled => "scheduled".to_owned(),
                Place::Blocked => "blocked".to_owned(),
            };
            let permit = if job.permit { ", permit" } else { "" };
            let marked = if job.marked { ", marked" } else { "" };
            lines.push(format!("{id} {place}, charged {}{permit}{marked}", job.charged));
        }
        lines.push(format!("{} taken, {} permits", state.taken, state.permits()));
        let served = state.waiting(&self.model).iter().any(|job| job.served);
        if state.due && state.taken < state.limit && served {
            lines.push("a free permit and a blocked job to run".to_owned());
        }
        lines
    }
}
