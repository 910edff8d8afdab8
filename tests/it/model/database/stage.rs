use jobkit_tests::model::{Model, Outcome, Scope, State, Step};
use jobkit_tests::{Lab, Session};
use sqlx::AssertSqlSafe;

use super::Play;
use crate::races::calls::{self, Begin, Keyed, Scan};

const QUEUES: [&str; 2] = ["first", "second"];

const KINDS: [&str; 2] = ["act", "do"];

/// Everything that the model knows: jobs, permits, and what is wrong.
const LOOK: &str = "
    with place (job_id, place) as (
        select job_id, case when without_permit then 'ready' else 'ready with permit' end
        from jobkit.ready
        union all select job_id, 'scheduled' from jobkit.scheduled
        union all select job_id, 'blocked' from jobkit.blocked_executions
        union all select unnest(job_ids), format('running %s/%s', worker_id, n) from jobkit.claims
        union all select job_id, 'finished' from jobkit.finished
        union all select job_id, 'finished' from jobkit.dead_letters
    )
    select array(
        select format('%s %s%s%s%s', p.job_id - 1, p.place, ', charged ' || j.attempt,
            case when exists (select from jobkit.permits h where h.job_id = p.job_id)
                then ', permit' end,
            case when j.cancel_requested_at is not null then ', marked' end)
        from place p left join jobkit.jobs j on j.id = p.job_id order by p.job_id, p.place
    ) || format('%s taken, %s permits',
        (select coalesce(sum(taken), 0) from jobkit.semaphores),
        (select count(*) from jobkit.permits))
    || array(select v.what from jobkit.violations v order by 1)";

const CLEAR: &str = "
    delete from jobkit.ready; delete from jobkit.scheduled; delete from jobkit.blocked_executions;
    delete from jobkit.claims; delete from jobkit.permits; delete from jobkit.semaphores;
    delete from jobkit.attempts; delete from jobkit.jobs; delete from jobkit.finished;
    delete from jobkit.dead_letters; delete from jobkit.workers; delete from jobkit.turns;
    delete from jobkit.limits where scope <> 'group'";

/// Lets the time pass from one slot to the next.
const PASSED: &str = "
    with due as (update jobkit.due_keys set due_at = due_at - interval '1 h')
    update jobkit.semaphores set tat = tat - interval '1 h'";

/// A database, with the key `k` of the group `g`. A job's id is one more than in the model.
pub(super) struct Stage {
    session: Session,
    /// Holds the ready rows that a claim is to pass over.
    other: Session,
}

impl Stage {
    pub(super) async fn new(lab: &Lab) -> Self {
        lab.run("select jobkit.finished_prepare(2)").await;
        lab.run(
            "insert into jobkit.kinds (kind, queue, priority, max_attempts, retention)
            values ('act', 'first', 0, 3, '1 hour'), ('do', 'second', 0, 3, '1 hour')",
        )
        .await;
        let (session, other) = (lab.session("caller").await, lab.session("other").await);
        let mut stage = Self { session, other };
        // To compile a look at the violations takes longer than many looks.
        stage.session.run("set jit = off").await.unwrap();
        stage.call(calls::announce_limit("g", 1)).await.unwrap();
        stage
    }

    /// Clears what the last seed left, and sets the limit.
    pub(super) async fn begin(&mut self, play: &Play, state: &State) {
        self.session.run(CLEAR).await.unwrap();
        self.call(calls::limit_group("null")).await.unwrap();
        self.call(limit(play, state.limit)).await.unwrap();
    }

    async fn call(&mut self, sql: String) -> Result<(), String> {
        let query = sqlx::query(AssertSqlSafe(sql.clone()));
        let done = query.fetch_optional(&mut self.session.connection).await;
        done.map(drop).map_err(|error| {
            let state = error.as_database_error().and_then(|error| error.code());
            format!("SQLSTATE {}: {error}\n{sql}", state.unwrap_or_default())
        })
    }

    /// What the tables say.
    pub(super) async fn look(&mut self) -> Vec<String> {
        self.session.value(LOOK).await.unwrap()
    }

    /// Jobs that nobody has told the end of, the last time they ran.
    pub(super) async fn crashed(&mut self) -> Vec<i64> {
        let sql = "select array(select id - 1 from jobkit.jobs where crashes > 0)";
        self.session.value(sql).await.unwrap()
    }

    /// Takes a step by the installed functions; says what they complain of.
    pub(super) async fn take(
        &mut self,
        play: &Play,
        state: &State,
        step: &Step,
    ) -> Result<(), String> {
        if let Step::Wait { worker, jobs, park } = step {
            return self.claim(&play.model, state, *worker, jobs, *park).await;
        }
        for call in calls_of(play, state, step) {
            self.call(call).await?;
        }
        Ok(())
    }

    /// A claim of exactly these jobs, past all others; or one that has slots for as many of each
    /// queue, and may park the others.
    async fn claim(
        &mut self,
        model: &Model,
        state: &State,
        id: u32,
        jobs: &[i64],
        park: bool,
    ) -> Result<(), String> {
        let worker = state.worker(id).unwrap();
        let (role, n) = (model.roles[worker.role], i64::from(worker.claims) + 1);
        let slots = |queue: u8| match park {
            true => jobs.iter().filter(|job| model.spec(**job).queue == queue).count(),
            false => 100,
        };
        let slots = (0..2).filter(|queue| role.queues >> queue & 1 == 1).map(slots);
        let slots = slots.map(|slots| slots.to_string()).collect::<Vec<_>>().join(",");
        let scan = Scan {
            queues: &names(role.queues, QUEUES),
            slots: &slots,
            kinds: &names(role.kinds, KINDS),
            from: [Begin::Start, Begin::Marks, Begin::NoMarks][usize::try_from(n % 3).unwrap()],
        };
        if !park {
            let jobs: Vec<_> = jobs.iter().map(|job| job + 1).collect();
            let others = format!("job_id <> all (array{jobs:?}::bigint[])");
            let hold = format!("begin; select from jobkit.ready where {others} for update");
            self.other.run(&hold).await.unwrap();
        }
        let done = self.call(calls::claim_where(i64::from(id), n, &scan)).await;
        if !park {
            self.other.run("rollback").await.unwrap();
            // New versions: a scan above the marks passes over those that somebody had locked.
            self.other.run("update jobkit.ready set kind = kind").await.unwrap();
        }
        done
    }
}

/// All steps but a claim.
fn calls_of(play: &Play, state: &State, step: &Step) -> Vec<String> {
    match step {
        Step::Enqueue { job } => enqueue(&play.model, *job).into(),
        Step::Promote { job } => vec![bring_forward(job + 1), calls::promote(1)],
        Step::Settle { claim, job, outcome } => {
            let (worker, n) = (i64::from(claim.worker), i64::from(claim.n));
            let outcomes = [(job + 1, name(*outcome))];
            // A zombie gives up its slots.
            let alive = state.worker(claim.worker).filter(|row| !row.crashed);
            vec![match alive.filter(|_| job % 2 == 0) {
                Some(row) => {
                    let next = i64::from(row.claims) + 1;
                    let served = play.model.roles[row.role].queues;
                    let room =
                        |at: usize| (QUEUES[at], if served >> at & 1 == 1 { 100 } else { 0 });
                    calls::settle_and_claim(worker, n, &outcomes, next, &[room(0), room(1)])
                }
                None => calls::settle_all(worker, n, &outcomes),
            }]
        }
        Step::Cancel { job } => vec![calls::cancel_mark(job + 1), calls::cancel_take(job + 1)],
        Step::SetLimit { limit: to } => vec![limit(play, *to)],
        Step::Pause { scope } => vec![with_scope("pause_limit", *scope)],
        Step::Resume { scope } => vec![with_scope("resume_limit", *scope)],
        Step::Start { role } => {
            let mut after = state.clone();
            play.model.apply(&mut after, step);
            vec![register(&play.model, after.workers.last().unwrap().id, *role)]
        }
        Step::Stop { worker } => {
            vec![format!("select from jobkit.heartbeat({worker}, true)")]
        }
        Step::Leave { worker } => vec![calls::deregister(i64::from(*worker))],
        // It beats no more, and that is all.
        Step::Crash { .. } => Vec::new(),
        Step::ReapWorker { worker } => vec![lapse(*worker), calls::reap_workers()],
        Step::ReapClaim { claim } => {
            vec![calls::reap_claim(i64::from(claim.worker), i64::from(claim.n))]
        }
        Step::Sweep => vec![calls::sweep_unserved(), calls::sweep()],
        Step::Tick => vec![PASSED.to_owned()],
        Step::GrantDue => vec!["select from jobkit.grant_due(10)".to_owned()],
        Step::Wait { .. } | Step::Forget | Step::Look(_) | Step::Act => {
            unreachable!("{step:?} is no step of the database")
        }
    }
}

fn with_scope(function: &str, scope: Scope) -> String {
    let (scope, name) = match scope {
        Scope::Queue(queue) => ("queue", QUEUES[usize::from(queue)]),
        Scope::Kind(kind) => ("kind", KINDS[usize::from(kind)]),
        Scope::All => ("all", ""),
    };
    format!("select jobkit.{function}('{scope}', '{name}')::text")
}

fn name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Finish => "finish",
        Outcome::Retry => "retry",
        Outcome::Snooze => "snooze",
        Outcome::Release => "release",
    }
}

/// The names whose bits are set, with a comma between.
fn names(bits: u32, names: [&str; 2]) -> String {
    let set = (0..).zip(names).filter(|(bit, _)| bits >> bit & 1 == 1);
    set.map(|(_, name)| name).collect::<Vec<_>>().join(",")
}

fn limit(play: &Play, limit: u32) -> String {
    let limit = limit.to_string();
    if play.own_limit { calls::limit_key("k", &limit) } else { calls::limit_group(&limit) }
}

/// Jobs come in any order of their ids, as they do from producers that commit late.
fn enqueue(model: &Model, job: i64) -> [String; 2] {
    let spec = model.spec(job);
    let keyed = Keyed {
        priority: i32::from(spec.priority),
        queue: QUEUES[usize::from(spec.queue)],
        kind: KINDS[usize::from(spec.kind)],
        max_attempts: model.attempts.map_or(i32::from(i16::MAX), i32::from),
        ..Keyed::from("k")
    };
    let id = format!("select setval('jobkit.jobs_id_seq', {}, false)", job + 1);
    [id, calls::enqueue_keyed(&[keyed])]
}

/// Lets the time of a scheduled job come.
fn bring_forward(job: i64) -> String {
    format!(
        "with moved as (
            update jobkit.jobs set run_at = now() - interval '1 day' where id = {job}
            returning id, run_at
        )
        update jobkit.scheduled s set run_at = m.run_at from moved m where s.job_id = m.id"
    )
}

fn register(model: &Model, worker: u32, role: usize) -> String {
    let role = model.roles[role];
    let (queues, kinds) = (names(role.queues, QUEUES), names(role.kinds, KINDS));
    format!("select jobkit.register({worker}, 'w', '{{{queues}}}', '{{{kinds}}}', '1 day')::text")
}

/// Nobody is reaped within the length of its lease of the server's start: so that it is short.
fn lapse(worker: u32) -> String {
    let lapsed = "lease = '1 ms', lease_until = clock_timestamp() - interval '1 s'";
    format!("update jobkit.workers set {lapsed} where id = {worker}")
}
