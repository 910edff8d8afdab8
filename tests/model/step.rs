use super::{Claim, Mistake, Model, Place, Scope, State};

/// Ready jobs of which a claim may take any.
const CHOICES: usize = 4;

/// One transaction, or one fault.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A job becomes ready. Touches no semaphore.
    Enqueue {
        /// Its id.
        job: i64,
    },
    /// A scheduled job becomes ready. Touches no semaphore.
    Promote {
        /// Its id.
        job: i64,
    },
    /// A claim: those of the jobs that hold a permit or get one run, the others become blocked.
    Wait {
        /// The worker that claims.
        worker: u32,
        /// Ready jobs that it may claim. Usually [`Model::claimable`]'s first; but a claim passes
        /// over rows that somebody has locked, so it may be any of them.
        jobs: Vec<i64>,
        /// Whether what else is ready is blocked at once, now that there is no permit.
        park: bool,
    },
    /// An outcome of one attempt. It is lost when the claim does not list the job.
    Settle {
        /// The fencing token.
        claim: Claim,
        /// The job that was run.
        job: i64,
        /// What came of it.
        outcome: Outcome,
    },
    /// A job ends where it waits; a running one is marked, and ends with its attempt.
    Cancel {
        /// Its id.
        job: i64,
    },
    /// The key gets another limit. A sweep follows a raise.
    SetLimit {
        /// The new limit.
        limit: u32,
    },
    /// Nobody serves a queue any more, or a kind, or anything.
    Pause {
        /// What is paused.
        scope: Scope,
    },
    /// It is served again. A sweep follows.
    Resume {
        /// What was paused.
        scope: Scope,
    },
    /// A worker's row is inserted. A sweep follows.
    Start {
        /// The worker's place in [`Model::roles`].
        role: usize,
    },
    /// A worker says that it will claim nothing more.
    Stop {
        /// Its id.
        worker: u32,
    },
    /// A stopping worker without claims removes its row.
    Leave {
        /// Its id.
        worker: u32,
    },
    /// A worker's process is killed, or frozen to thaw as a zombie.
    Crash {
        /// Its id.
        worker: u32,
    },
    /// The row of a worker goes whose lease has lapsed.
    ReapWorker {
        /// Its id.
        worker: u32,
    },
    /// A claim without a worker's row goes, and its jobs are charged a crash.
    ReapClaim {
        /// The fencing token.
        claim: Claim,
    },
    /// Permits of jobs that nobody serves are taken back, and free ones granted.
    Sweep,
    /// As much time passes as there is from one slot of the rate to the next.
    Tick,
    /// The look at a key of which time made room: it is due.
    GrantDue,
    /// The row of a semaphore goes that nobody holds a permit of.
    Forget,
    /// Only by mistake: a transaction reads, and then waits for the lock.
    Look(Box<Step>),
    /// Only by mistake: it has the lock, and decides by what it has read.
    Act,
}

/// What came of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The job ends, be it well or not.
    Finish,
    /// The job runs again later, and is charged.
    Retry,
    /// The job runs again later.
    Snooze,
    /// The job goes back to where it came from: its worker stops.
    Release,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Finish, Self::Retry, Self::Snooze, Self::Release];
}

impl Model {
    /// All steps that are possible.
    pub fn steps(&self, state: &State) -> Vec<Step> {
        let mut steps = Vec::new();
        self.steps_of_jobs(state, &mut steps);
        self.steps_of_workers(state, &mut steps);
        self.steps_of_operators(state, &mut steps);
        if self.makes(Mistake::ForgetTaken) || state.taken == 0 {
            steps.push(Step::Forget);
        }
        if self.burst.is_some() {
            steps.push(Step::Tick);
        }
        if state.look_in == Some(0) {
            steps.push(Step::GrantDue);
        }
        if state.early.is_some() {
            steps.push(Step::Act);
        } else {
            let early = steps.iter().filter(|step| self.looks_early(state, step)).cloned();
            let early: Vec<_> = early.map(|step| Step::Look(Box::new(step))).collect();
            steps.extend(early);
        }
        steps
    }

    fn steps_of_jobs(&self, state: &State, steps: &mut Vec<Step>) {
        for (id, job) in state.jobs() {
            match job.place {
                Place::Absent => steps.push(Step::Enqueue { job: id }),
                Place::Scheduled => steps.push(Step::Promote { job: id }),
                Place::Running(claim) => steps.extend(settles(claim, id)),
                Place::Ready { .. } | Place::Blocked | Place::Finished => {}
            }
            if !matches!(job.place, Place::Absent | Place::Finished) && !job.marked {
                steps.push(Step::Cancel { job: id });
            }
        }
        for (claim, job) in &state.late {
            steps.extend(settles(*claim, *job));
        }
    }

    fn steps_of_workers(&self, state: &State, steps: &mut Vec<Step>) {
        for worker in &state.workers {
            let id = worker.id;
            let idle = || state.claims().iter().all(|claim| claim.worker != id);
            if worker.crashed {
                steps.push(Step::ReapWorker { worker: id });
                continue;
            }
            steps.push(Step::Crash { worker: id });
            if !worker.stopping {
                self.waits(state, id, &self.claimable(state, worker), steps);
                steps.push(Step::Stop { worker: id });
            } else if idle() {
                steps.push(Step::Leave { worker: id });
            }
        }
        for claim in state.claims() {
            if self.makes(Mistake::ReapUnchecked) || state.worker(claim.worker).is_none() {
                steps.push(Step::ReapClaim { claim });
            }
        }
    }

    /// Every choice of ready jobs, with and without the others being blocked. Of more than
    /// [`CHOICES`] jobs only the first ones, however many.
    fn waits(&self, state: &State, worker: u32, claimable: &[i64], steps: &mut Vec<Step>) {
        let ready = state.ids(|place| matches!(place, Place::Ready { .. })).len();
        let choices: Vec<Vec<i64>> = if claimable.len() > CHOICES {
            (1..=claimable.len()).map(|k| claimable[..k].to_vec()).collect()
        } else {
            (1..1_u32 << claimable.len()).map(|bits| chosen(claimable, bits)).collect()
        };
        for jobs in choices {
            if ready > jobs.len() {
                steps.push(Step::Wait { worker, jobs: jobs.clone(), park: true });
            }
            steps.push(Step::Wait { worker, jobs, park: false });
        }
    }

    fn steps_of_operators(&self, state: &State, steps: &mut Vec<Step>) {
        let limits = self.limits.iter().filter(|limit| **limit != state.limit);
        steps.extend(limits.map(|limit| Step::SetLimit { limit: *limit }));
        for scope in self.scopes() {
            let paused = state.paused.contains(&scope);
            steps.push(if paused { Step::Resume { scope } } else { Step::Pause { scope } });
        }
        for role in 0..self.roles.len() {
            if state.workers.iter().all(|worker| worker.role != role) {
                steps.push(Step::Start { role });
            }
        }
        if state.due || !self.makes(Mistake::SweepOnlyDue) {
            steps.push(Step::Sweep);
        }
    }

    /// Each queue and each kind that there is, and everything.
    fn scopes(&self) -> Vec<Scope> {
        let queues = self.jobs.iter().map(|spec| Scope::Queue(spec.queue));
        let kinds = self.jobs.iter().map(|spec| Scope::Kind(spec.kind));
        let mut scopes = Vec::new();
        for scope in queues.chain(kinds).chain([Scope::All]) {
            if !scopes.contains(&scope) {
                scopes.push(scope);
            }
        }
        scopes
    }

    /// Whether a step reads before it has the lock.
    fn looks_early(&self, state: &State, step: &Step) -> bool {
        match self.mistake {
            Some(
                Mistake::WaitReadsEarly
                | Mistake::SlotsReadEarly
                | Mistake::KindLimitReadsEarly
                | Mistake::PauseReadEarly,
            ) => matches!(step, Step::Wait { .. }),
            Some(Mistake::FreshKeyReadsEarly) => {
                matches!(step, Step::Wait { .. }) && state.taken == 0
            }
            Some(Mistake::SettleReadsEarly) => {
                matches!(step, Step::Settle { outcome: Outcome::Finish, .. })
            }
            _ => false,
        }
    }
}

fn chosen(jobs: &[i64], bits: u32) -> Vec<i64> {
    let chosen = (0..).zip(jobs).filter(|(bit, _)| bits >> bit & 1 == 1);
    chosen.map(|(_, id)| *id).collect()
}

fn settles(claim: Claim, job: i64) -> impl Iterator<Item = Step> {
    Outcome::ALL.into_iter().map(move |outcome| Step::Settle { claim, job, outcome })
}
