use std::fmt;

use super::{Model, Spec, Step, Waiting};

/// What the tables say, and which late outcomes may still arrive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The semaphore: permits that may be out.
    pub limit: u32,
    /// The semaphore: permits that it believes to be out.
    pub taken: u32,
    /// The jobs, by id.
    pub jobs: Vec<Job>,
    /// The rows of workers. A worker that was reaped has none.
    pub workers: Vec<Worker>,
    /// What is paused.
    pub paused: Vec<Scope>,
    /// A sweep is to follow: a worker started, a queue was resumed or the limit was raised.
    pub due: bool,
    /// Outcomes that a zombie may still send, any number of times, for claims that are gone.
    pub late: Vec<(Claim, i64)>,
    /// What a [`Mistake`](super::Mistake) read too early.
    pub early: Option<Early>,
    /// The semaphore: slots of the rate that are taken and not free again, by its `tat`.
    pub ahead: u32,
    /// How many slots of the rate have been taken and are not free again, whatever the tables say.
    pub begun: u32,
    /// In how many slots' time somebody looks at the key; 0: now.
    pub look_in: Option<u32>,
    started: u32,
}

/// What a pause holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// A queue, by its number.
    Queue(u8),
    /// A kind, by its number.
    Kind(u8),
    /// Everything.
    All,
}

impl Scope {
    /// Whether it is about such a job.
    pub fn has(self, spec: Spec) -> bool {
        match self {
            Self::Queue(queue) => spec.queue == queue,
            Self::Kind(kind) => spec.kind == kind,
            Self::All => true,
        }
    }
}

/// One job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// The one place it is in.
    pub place: Place,
    /// Whether the table of permits has a row for it.
    pub permit: bool,
    /// Attempts used up.
    pub charged: u8,
    /// Whether a cancel waits for the end of the attempt.
    pub marked: bool,
    /// Whether a slot of the rate is reserved for it.
    pub reserved: bool,
}

/// Where a job is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: it was not enqueued yet.
    #[default]
    Absent,
    /// Its time has not come.
    Scheduled,
    /// It may be claimed.
    Ready {
        /// What the ready row says of a permit.
        permit: bool,
    },
    /// It waits for a permit.
    Blocked,
    /// The claim lists it.
    Running(Claim),
    /// It has ended, whatever way.
    Finished,
}

/// The fencing token: a worker's n-th claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    /// The worker's id.
    pub worker: u32,
    /// Counts the claims of this worker.
    pub n: u32,
}

/// The row of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Never used again.
    pub id: u32,
    /// Its place in [`Model::roles`].
    pub role: usize,
    /// It claims nothing more.
    pub stopping: bool,
    /// Its process is gone or frozen; its lease may lapse.
    pub crashed: bool,
    /// The number of its last claim.
    pub claims: u32,
}

/// What a transaction has read before it held the lock, and the step it will take.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Early {
    pub(crate) step: Box<Step>,
    pub(crate) limit: u32,
    pub(crate) taken: u32,
    pub(crate) blocked: Vec<i64>,
    /// The slots that were left.
    pub(crate) room: u32,
    /// How many jobs ran of the kind with a kind_limit.
    pub(crate) running: u32,
    pub(crate) paused: Vec<Scope>,
}

impl State {
    /// Nothing enqueued, nobody there.
    pub fn new(model: &Model, limit: u32) -> Self {
        Self { limit, jobs: vec![Job::default(); model.jobs.len()], ..Self::default() }
    }

    pub(crate) fn at(job: i64) -> usize {
        usize::try_from(job).expect("ids count from 0")
    }

    /// The jobs with their ids.
    pub fn jobs(&self) -> impl Iterator<Item = (i64, &Job)> {
        (0..).zip(&self.jobs)
    }

    /// A job.
    pub fn job(&self, job: i64) -> &Job {
        &self.jobs[Self::at(job)]
    }

    pub(crate) fn job_mut(&mut self, job: i64) -> &mut Job {
        &mut self.jobs[Self::at(job)]
    }

    /// The ids of the jobs that are in such a place.
    pub fn ids(&self, is: impl Fn(Place) -> bool) -> Vec<i64> {
        self.jobs().filter(|(_, job)| is(job.place)).map(|(id, _)| id).collect()
    }

    /// The jobs that a claim lists.
    pub fn listed(&self, claim: Claim) -> Vec<i64> {
        self.ids(|place| place == Place::Running(claim))
    }

    /// The claims, each once.
    pub fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for job in &self.jobs {
            match job.place {
                Place::Running(claim) if !claims.contains(&claim) => claims.push(claim),
                _ => {}
            }
        }
        claims
    }

    /// The row of a worker, if it has one.
    pub fn worker(&self, id: u32) -> Option<&Worker> {
        self.workers.iter().find(|worker| worker.id == id)
    }

    pub(crate) fn worker_mut(&mut self, id: u32) -> Option<&mut Worker> {
        self.workers.iter_mut().find(|worker| worker.id == id)
    }

    pub(crate) fn add_worker(&mut self, role: usize) {
        let id = self.started;
        self.started += 1;
        self.workers.push(Worker { id, role, stopping: false, crashed: false, claims: 0 });
    }

    /// Whether such a job is paused.
    pub fn held_back(&self, spec: Spec) -> bool {
        self.paused.iter().any(|scope| scope.has(spec))
    }

    /// Whether a claim that looked too early has locked a job's ready row.
    pub(crate) fn locked(&self, job: i64) -> bool {
        let step = self.early.as_ref().map(|early| &*early.step);
        matches!(step, Some(Step::Wait { jobs, .. }) if jobs.contains(&job))
    }

    /// How many permits there are, counted one by one.
    pub fn permits(&self) -> u32 {
        self.jobs.iter().map(|job| u32::from(job.permit)).sum()
    }

    /// How many slots are reserved for jobs that have yet to begin.
    pub fn reserved(&self) -> u32 {
        self.jobs.iter().map(|job| u32::from(job.reserved)).sum()
    }

    /// In how many slots' time one is free that is not reserved: none while as many are reserved as
    /// may be taken at once.
    pub fn next_slot(&self, burst: u32) -> Option<u32> {
        let reserved = self.reserved();
        (reserved < burst).then(|| (self.ahead + reserved + 1).saturating_sub(burst))
    }

    /// What waits for a permit.
    pub fn waiting(&self, model: &Model) -> Vec<Waiting> {
        let waiting =
            |id| Waiting { priority: model.spec(id).priority, id, served: model.served(self, id) };
        self.ids(|place| place == Place::Blocked).into_iter().map(waiting).collect()
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} taken", self.taken, self.limit)?;
        for (id, Job { place, permit, marked, .. }) in self.jobs() {
            let place = match place {
                Place::Absent => continue,
                Place::Ready { permit: true } => "ready (permit)".to_owned(),
                Place::Ready { permit: false } => "ready".to_owned(),
                Place::Running(Claim { worker, n }) => format!("running ({worker}, {n})"),
                place => format!("{place:?}").to_lowercase(),
            };
            let (star, mark) = (if *permit { "*" } else { "" }, if *marked { "!" } else { "" });
            write!(f, ", {id}{star}{mark} {place}")?;
        }
        let due = if self.due { "; sweep due" } else { "" };
        f.write_str(due)?;
        if (self.ahead, self.begun, self.look_in) != (0, 0, None) {
            write!(f, "; {} slots ahead, {} begun, ", self.ahead, self.begun)?;
            write!(f, "{} reserved, a look in {:?}", self.reserved(), self.look_in)?;
        }
        Ok(())
    }
}
