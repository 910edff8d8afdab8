//! A reference model of concurrency keys: one semaphore, its permits, the jobs that wait for them,
//! and workers that stop, crash and come back as zombies.
//!
//! [`State`] is what the tables say. A [`Step`] is one transaction: all of it happens under the
//! semaphore's row lock, so here it is one call of [`Model::apply`]. [`Model::steps`] lists what
//! may happen, [`Model::broken`] names the [`Invariant`] that a step broke. A [`Mistake`] is a
//! design that was not taken, because some sequence of steps breaks an invariant under it.
//!
//! One key is enough: keys share nothing. There are no clocks but that of a rate, which counts the
//! time from one slot to the next and may tick whenever it likes. A lease may lapse at any time
//! after a crash, a scheduled job may come due at any time, and a worker that crashed may have been
//! frozen only, and thaw at any time to send the outcomes it still has.
//!
//! [`grant`] alone decides who gets a free permit, and needs no state.

mod grant;
mod invariant;
mod mistake;
mod state;
mod step;
mod transitions;

pub use grant::{Waiting, grant};
pub use invariant::Invariant;
pub use mistake::Mistake;
pub use state::{Claim, Early, Job, Place, Scope, State, Worker};
pub use step::{Outcome, Step};

/// What never changes while jobs of the key come and go.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The jobs there may be; a job's id is its place in this list.
    pub jobs: Vec<Spec>,
    /// The workers there may be. Each role has one worker at a time.
    pub roles: Vec<Role>,
    /// The limits the key may be given.
    pub limits: Vec<u32>,
    /// Attempts that a job has, crashed ones included; nobody counts them when there is no number.
    pub attempts: Option<u8>,
    /// How many slots of a rate may be taken at once; there is none without.
    pub burst: Option<u32>,
    /// A kind of which no more than so many may run at a time, over all keys; none without.
    pub kind_limit: Option<(u8, u32)>,
    /// What is done wrong.
    pub mistake: Option<Mistake>,
}

/// What is known of a job before it is enqueued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Lower ones first.
    pub priority: i16,
    /// A number below 32.
    pub queue: u8,
    /// A number below 32.
    pub kind: u8,
}

/// What a worker serves: one bit for each queue and each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Role {
    /// The queues it claims from.
    pub queues: u32,
    /// The kinds it knows.
    pub kinds: u32,
}

impl Model {
    /// How many more slots may be reserved: those that are free, but for the reserved ones.
    pub(crate) fn room(&self, state: &State) -> u32 {
        let Some(burst) = self.burst else { return u32::MAX };
        let burst = if self.makes(Mistake::BurstTwice) { 2 * burst } else { burst };
        let reserved = if self.makes(Mistake::ReservedUncounted) { 0 } else { state.reserved() };
        burst.saturating_sub(state.ahead + reserved)
    }

    /// Of some jobs those that the limit lets a claim take: all of other kinds, and the first ones
    /// of its kind, as many as there is room beside those that run.
    pub(crate) fn let_through(&self, jobs: &[i64], running: u32) -> Vec<i64> {
        let Some((kind, most)) = self.kind_limit else { return jobs.to_vec() };
        let mut room = most.saturating_sub(running);
        let mut fits = |id: &i64| {
            let limited = self.spec(*id).kind == kind;
            let fits = !limited || room > 0;
            room -= u32::from(limited && fits);
            fits
        };
        jobs.iter().copied().filter(|id| fits(id)).collect()
    }

    /// How many jobs run of the kind with the limit: those that a claim lists, whoever made it.
    pub(crate) fn running(&self, state: &State) -> u32 {
        let limited = |id| self.kind_limit.is_some_and(|(kind, _)| self.spec(id).kind == kind);
        let runs = state.jobs().filter(|(id, job)| {
            let counts = |claim: Claim| {
                !self.makes(Mistake::KindLimitForgetsDead) || state.worker(claim.worker).is_some()
            };
            limited(*id) && matches!(job.place, Place::Running(claim) if counts(claim))
        });
        runs.fold(0, |running, _| running + 1)
    }

    /// Whether it makes this mistake.
    pub(crate) fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// What is known of a job.
    pub fn spec(&self, job: i64) -> Spec {
        self.jobs[State::at(job)]
    }

    /// Whether a worker of this role could claim a job, were nothing paused.
    pub(crate) fn knows(&self, role: usize, job: i64) -> bool {
        let (role, spec) = (self.roles[role], self.spec(job));
        role.queues >> spec.queue & 1 == 1 && role.kinds >> spec.kind & 1 == 1
    }

    /// Whether somebody serves a job: the tables list a worker that knows it and is not stopping,
    /// and it is not paused. A crashed worker counts until it is reaped.
    pub fn served(&self, state: &State, job: i64) -> bool {
        !state.held_back(self.spec(job))
            && state.workers.iter().any(|worker| !worker.stopping && self.knows(worker.role, job))
    }

    /// The ready jobs that a worker may claim, in the order of a claim: first those that hold a
    /// permit, then by priority and id.
    pub fn claimable(&self, state: &State, worker: &Worker) -> Vec<i64> {
        let mut found = Vec::new();
        for (id, job) in state.jobs() {
            let Place::Ready { permit } = job.place else { continue };
            let spec = self.spec(id);
            if self.knows(worker.role, id) && !state.held_back(spec) && !state.locked(id) {
                found.push((!permit, spec.priority, id));
            }
        }
        found.sort_unstable();
        found.into_iter().map(|(_, _, id)| id).collect()
    }
}
