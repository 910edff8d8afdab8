//! Sessions that hold, sessions that wait, and where a job is afterwards.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jobkit_tests::{Lab, Session};
use sqlx::AssertSqlSafe;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::calls::{self, Keyed};

/// How long an answer may take that nothing stands in the way of any more.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a call answered: its text, or its SQLSTATE.
pub(super) type Answer = Result<String, String>;

/// How the first session ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Commit,
    Rollback,
}

pub(super) const ENDS: [End; 2] = [End::Commit, End::Rollback];

impl End {
    /// What is expected after a commit, or after a rollback.
    pub(super) fn pick<'a>(self, commit: &'a str, rollback: &'a str) -> &'a str {
        self.either(commit, rollback)
    }

    /// The same of anything.
    pub(super) fn either<T>(self, commit: T, rollback: T) -> T {
        match self {
            Self::Commit => commit,
            Self::Rollback => rollback,
        }
    }
}

/// A lab with two workers, 1 and 2, whose leases last, and a kind that keeps what ended.
pub(super) struct World {
    pub(super) lab: Lab,
}

impl World {
    pub(super) async fn new(lab: Lab) -> Self {
        lab.guard().await;
        lab.run("select jobkit.finished_prepare(2)").await;
        lab.run(
            "insert into jobkit.kinds (kind, queue, priority, max_attempts, retention)
            values ('act', 'default', 0, 3, '1 hour')",
        )
        .await;
        // As long as it takes to see it wait.
        for function in ["settle", "replay", "discard_dead_letter"] {
            lab.run(&format!("alter function jobkit.{function} set lock_timeout = '1min'")).await;
        }
        let world = Self { lab };
        world.register(1).await;
        world.register(2).await;
        world
    }

    /// The same with a group `g` of concurrency keys that have a limit. A claim waits for them as
    /// long as it takes to see it wait.
    pub(super) async fn limited(lab: Lab, limit: u32) -> Self {
        let world = Self::new(lab).await;
        assert_eq!(world.call(calls::announce_limit("g", limit)).await, "1");
        for function in
            ["claim_keyed", "pause_limit", "resume_limit", "set_limit", "announce_limits"]
        {
            let patient = format!("alter function jobkit.{function} set lock_timeout = '1min'");
            world.lab.run(&patient).await;
        }
        world
    }

    /// Begins a worker whose lease lasts. Its stated length is short, because nobody is reaped
    /// within that much of the server's start.
    pub(super) async fn register(&self, worker: i64) {
        self.register_for(worker, "default", "act").await;
    }

    /// The same for one that serves other queues or knows other kinds.
    pub(super) async fn register_for(&self, worker: i64, queues: &str, kinds: &str) {
        let sql = format!(
            "insert into jobkit.workers (id, name, queues, kinds, lease, lease_until) values
            ({worker}, 'w', '{{{queues}}}', '{{{kinds}}}', '1 ms', now() + interval '1 day')
            on conflict (id) do nothing"
        );
        self.lab.run(&sql).await;
    }

    /// Lets all leases last again: a heartbeat cuts those that end later than a lease from now.
    pub(super) async fn last(&self) {
        self.lab.run("update jobkit.workers set lease_until = now() + interval '1 day'").await;
    }

    /// Lets the lease of a worker lapse.
    pub(super) async fn lapse(&self, worker: i64) {
        let lapsed = "lease_until = clock_timestamp() - interval '1 s'";
        self.lab.run(&format!("update jobkit.workers set {lapsed} where id = {worker}")).await;
    }

    /// Removes a worker, so that its claims may be reaped.
    pub(super) async fn bury_worker(&self, worker: i64) {
        self.lab.run(&format!("delete from jobkit.workers where id = {worker}")).await;
    }

    /// A worker dies with a claim of one job, which is reaped; another begins in its place.
    pub(super) async fn crash(&self, worker: i64, n: i64) {
        self.bury_worker(worker).await;
        assert_eq!(self.call(calls::reap_claim(worker, n)).await, "1");
        self.register(worker).await;
    }

    /// Forgets every live job, for the next round.
    pub(super) async fn clear(&self) {
        let waiting = ["ready", "scheduled", "blocked_executions"];
        let held = ["claims", "permits", "semaphores", "due_keys", "reserved_slots"];
        let held = [&held[..], &["attempts", "unique_keys", "jobs"]].concat();
        let deletes = [&waiting[..], &held].concat();
        let deletes = deletes.iter().map(|table| format!("delete from jobkit.{table}"));
        self.lab.run(&deletes.collect::<Vec<_>>().join("; ")).await;
    }

    /// Enqueues jobs.
    pub(super) async fn ready<const N: usize>(&self) -> [i64; N] {
        ids(&self.call(calls::enqueue(N)).await)
    }

    /// Enqueues jobs whose time came a second ago.
    pub(super) async fn due<const N: usize>(&self) -> [i64; N] {
        let jobs = ids(&self.call(calls::enqueue_with(N, 3, "'1 hour'")).await);
        self.an_hour_later().await;
        jobs
    }

    /// Brings the time of every scheduled job an hour nearer.
    pub(super) async fn an_hour_later(&self) {
        let nearer = "set run_at = s.run_at - interval '1 hour 1 s'";
        self.lab
            .run(&format!(
                "update jobkit.jobs j {nearer} from jobkit.scheduled s
                where s.job_id = j.id and s.run_at <> jobkit.parked();
                update jobkit.scheduled s {nearer} where s.run_at <> jobkit.parked()"
            ))
            .await;
    }

    /// Enqueues jobs and claims them for worker 1, which runs nothing else that is ready. Returns
    /// the number of the claim, too.
    pub(super) async fn running<const N: usize>(&self) -> (i64, [i64; N]) {
        let jobs = self.ready::<N>().await;
        (self.claim(1, &jobs).await, jobs)
    }

    /// The same for one job with as many attempts as given.
    pub(super) async fn running_with(&self, max_attempts: i32) -> (i64, i64) {
        let [job] = ids(&self.call(calls::enqueue_with(1, max_attempts, "null")).await);
        (self.claim(1, &[job]).await, job)
    }

    /// Claims jobs, all that are ready.
    pub(super) async fn claim(&self, worker: i64, jobs: &[i64]) -> i64 {
        let n = next_n();
        assert_eq!(self.call(calls::claim(worker, n, 100)).await, list(jobs));
        n
    }

    /// Enqueues jobs with concurrency keys.
    pub(super) async fn keyed<const N: usize>(&self, jobs: [impl Into<Keyed>; N]) -> [i64; N] {
        ids(&self.call(calls::enqueue_keyed(&jobs.map(Into::into))).await)
    }

    /// The same, and claims them for worker 1 as one batch.
    pub(super) async fn running_keyed<const N: usize>(
        &self,
        jobs: [impl Into<Keyed>; N],
    ) -> (i64, [i64; N]) {
        let jobs = self.keyed(jobs).await;
        (self.claim(1, &jobs).await, jobs)
    }

    /// The same for keys without a permit left: a claim finds the jobs and blocks them.
    pub(super) async fn blocked<const N: usize>(&self, jobs: [impl Into<Keyed>; N]) -> [i64; N] {
        let jobs = self.keyed(jobs).await;
        assert_eq!(self.call(calls::claim(2, next_n(), 100)).await, "");
        for job in jobs {
            self.expect(job, "blocked, charged 0").await;
        }
        jobs
    }

    /// Asserts who holds the permits of a key of group `g`, and who waits for them, in order. A
    /// key with neither has no semaphore, unless it has a limit of its own.
    pub(super) async fn expect_key(&self, key: &str, holders: &[i64], blocked: &[i64]) {
        let of = format!("where concurrency_group = 'g' and concurrency_key = '{key}'");
        let sql = format!(
            "select format('%s taken by %s, %s blocked',
                (select taken from jobkit.semaphores {of}),
                (select array_agg(job_id order by job_id)::text from jobkit.permits {of}),
                (select array_agg(job_id order by priority, job_id)::text
                    from jobkit.blocked_executions {of}))"
        );
        let ids = |jobs: &[i64]| match jobs {
            [] => String::new(),
            jobs => format!("{{{}}}", list(jobs).replace(' ', ",")),
        };
        let own = self.lab.count(&format!("jobkit.semaphores {of} and override_limit >= 0")).await;
        let gone = holders.is_empty() && blocked.is_empty() && own == 0;
        let taken = if gone { String::new() } else { holders.len().to_string() };
        let expected = format!("{taken} taken by {}, {} blocked", ids(holders), ids(blocked));
        assert_eq!(self.lab.value::<String>(&sql).await, expected, "key {key}");
        self.lab.check_invariants().await;
    }

    /// Makes a call outside any race.
    pub(super) async fn call(&self, call: String) -> String {
        let session = self.lab.session("call").await;
        let (_, answer) = answer(session, call.clone()).await;
        answer.unwrap_or_else(|state| panic!("{state}: {call}"))
    }

    /// Makes a call outside any race, which is refused; says with which SQLSTATE.
    pub(super) async fn refusal(&self, call: String) -> String {
        let session = self.lab.session("call").await;
        answer(session, call.clone()).await.1.expect_err(&call)
    }

    /// The same in a transaction, after a statement.
    pub(super) async fn refusal_after(&self, statement: &str, call: String) -> String {
        let mut session = self.lab.session("call").await;
        session.run("begin").await.unwrap();
        session.run(statement).await.unwrap();
        answer(session, call.clone()).await.1.expect_err(&call)
    }

    /// The first session: makes a call and keeps its transaction open.
    pub(super) async fn hold(&self, call: String) -> Holder<'_> {
        self.hold_after("", call).await
    }

    /// The same, with a statement of the same transaction before the call.
    pub(super) async fn hold_after(&self, statement: &str, call: String) -> Holder<'_> {
        let mut session = self.lab.session("holder").await;
        session.run("begin").await.unwrap();
        session.run(statement).await.unwrap();
        let (session, answer) = answer(session, call.clone()).await;
        let answer = answer.unwrap_or_else(|state| panic!("{state}: {call}"));
        Holder { lab: &self.lab, session, answer }
    }

    /// Whoever calls this function from now on stops before this passage of it, until this ends.
    pub(super) async fn hold_before(&self, function: &str, passage: &str) -> Holder<'_> {
        let stop = format!("perform pg_advisory_xact_lock(1); {passage}");
        self.lab.mutate(function, passage, &stop).await;
        self.hold("select pg_advisory_xact_lock(1)::text".to_owned()).await
    }

    /// Where a job is: "ready, charged 0", "ready with permit, charged 0", "blocked, charged 0",
    /// "running 1/7, charged 1", "finish", …
    pub(super) async fn place(&self, job: i64) -> String {
        let sql = format!(
            "select coalesce(string_agg(place, ' and ' order by place), 'nowhere') from (
                select place || ', charged ' || attempt as place
                from jobkit.jobs, lateral (
                    select case when without_permit then 'ready' else 'ready with permit' end
                        as place
                    from jobkit.ready where job_id = id
                    union all
                    select 'blocked' from jobkit.blocked_executions where job_id = id
                    union all
                    select 'scheduled' from jobkit.scheduled where job_id = id
                    union all
                    select format('running %s/%s', worker_id, n) from jobkit.claims
                    where id = any (job_ids)
                ) p where id = {job}
                union all
                select outcome from jobkit.finished where job_id = {job}
                union all
                select reason from jobkit.dead_letters where job_id = {job}
            ) p"
        );
        self.lab.value(&sql).await
    }

    /// Asserts where a job is.
    pub(super) async fn expect(&self, job: i64, place: &str) {
        assert_eq!(self.place(job).await, place, "job {job}");
    }

    /// The failed attempts on record for a job, as outcomes.
    pub(super) async fn failures(&self, job: i64) -> String {
        let sql = format!(
            "select coalesce(string_agg(outcome, ' ' order by attempt, outcome), '') from (
                select attempt, outcome from jobkit.attempts where job_id = {job}
                union all
                select (e->>'attempt')::integer, e->>'outcome'
                from jobkit.dead_letters, jsonb_array_elements(errors) e where job_id = {job}
            ) a"
        );
        self.lab.value(&sql).await
    }
}

/// The first session, with its transaction open.
pub(super) struct Holder<'a> {
    lab: &'a Lab,
    session: Session,
    /// What its call answered.
    pub(super) answer: String,
}

impl<'a> Holder<'a> {
    /// A second session, whose call was seen to wait for the first one.
    pub(super) async fn waiter(&self, call: String) -> Waiter<'a> {
        let session = self.lab.session("waiter").await;
        waiter(self.lab, session, self.session.pid, call).await
    }

    /// The same in a transaction that stays open when the wait is over.
    pub(super) async fn next(&self, call: String) -> Waiter<'a> {
        let mut session = self.lab.session("next").await;
        session.run("begin").await.unwrap();
        waiter(self.lab, session, self.session.pid, call).await
    }

    /// A second session, whose call is answered while the first one is open.
    pub(super) async fn bystander(&self, call: String) -> String {
        bystander(self.lab, self.session.pid, call).await
    }

    /// Another call in the transaction of the first session.
    pub(super) async fn go_on(self, call: String) -> Self {
        let Self { lab, session, .. } = self;
        let (session, answer) = answer(session, call.clone()).await;
        Self { lab, session, answer: answer.unwrap_or_else(|state| panic!("{state}: {call}")) }
    }

    /// Ends the transaction of the first session.
    pub(super) async fn end(mut self, end: End) {
        self.session.run(end.pick("commit", "rollback")).await.unwrap();
    }

    /// Ends the connection of the first session, as when its process is killed.
    pub(super) async fn die(self) {
        let pid = self.session.pid;
        self.lab.run(&format!("select pg_terminate_backend({pid})")).await;
        let gone = format!("not exists (select from pg_stat_activity where pid = {pid})");
        self.lab.until(&gone).await;
    }
}

/// The second session, waiting.
pub(super) struct Waiter<'a> {
    lab: &'a Lab,
    pid: i32,
    task: JoinHandle<(Session, Answer)>,
}

impl<'a> Waiter<'a> {
    /// A third session, whose call was seen to wait for the second one, which waits itself.
    pub(super) async fn waiter(&self, call: String) -> Waiter<'a> {
        let session = self.lab.session("third").await;
        waiter(self.lab, session, self.pid, call).await
    }

    /// Its process at the server.
    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// It has waited, and holds now what it got: a session in the place of the first.
    pub(super) async fn held(self) -> Holder<'a> {
        let lab = self.lab;
        let (session, answer) = timeout(PATIENCE, self.task).await.expect("answered").unwrap();
        Holder { lab, session, answer: answer.expect("a call that is not refused") }
    }

    /// A third session, whose call is answered although the second one waits.
    pub(super) async fn bystander(&self, call: String) -> String {
        bystander(self.lab, self.pid, call).await
    }

    /// Waits until it is answered, or held up by somebody else than a session that has ended its
    /// transaction.
    pub(super) async fn until_answered_or_held_up(&self) {
        let running = "from pg_stat_activity a, unnest(pg_blocking_pids(a.pid)) b (pid)
            join pg_stat_activity h on h.pid = b.pid and h.state <> 'idle'";
        let idle =
            format!("(select state = 'idle' from pg_stat_activity where pid = {})", self.pid);
        let held = format!("exists (select {running} where a.pid = {})", self.pid);
        self.lab.until(&format!("{idle} or {held}")).await;
    }

    /// What it was answered in the end.
    pub(super) async fn answer(self) -> Answer {
        timeout(PATIENCE, self.task).await.expect("nothing holds it up any more").unwrap().1
    }
}

async fn waiter(lab: &Lab, session: Session, holder: i32, call: String) -> Waiter<'_> {
    let pid = session.pid;
    let mut task = tokio::spawn(answer(session, call.clone()));
    tokio::select! {
        () = lab.until_blocked(pid, holder) => {}
        done = &mut task => panic!("did not wait, answered {:?}: {call}", done.unwrap().1),
    }
    Waiter { lab, pid, task }
}

async fn bystander(lab: &Lab, other: i32, call: String) -> String {
    let session = lab.session("bystander").await;
    let pid = session.pid;
    let mut task = tokio::spawn(answer(session, call.clone()));
    tokio::select! {
        done = &mut task => done.unwrap().1.unwrap_or_else(|state| panic!("{state}: {call}")),
        () = lab.until_blocked(pid, other) => panic!("had to wait: {call}"),
    }
}

/// Ids as a call lists them.
pub(super) fn list(jobs: &[i64]) -> String {
    jobs.iter().map(i64::to_string).collect::<Vec<_>>().join(" ")
}

/// A claim number not used before.
pub(super) fn next_n() -> i64 {
    static NEXT: AtomicI64 = AtomicI64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

async fn answer(mut session: Session, call: String) -> (Session, Answer) {
    let query = sqlx::query_scalar::<_, Option<String>>(AssertSqlSafe(call));
    let answer = match query.fetch_optional(&mut session.connection).await {
        Ok(text) => Ok(text.flatten().unwrap_or_default()),
        Err(error) => Err(match error.as_database_error().and_then(|error| error.code()) {
            Some(state) => state.into_owned(),
            None => error.to_string(),
        }),
    };
    (session, answer)
}

pub(super) fn ids<const N: usize>(list: &str) -> [i64; N] {
    let ids: Vec<i64> = list.split(' ').map(|id| id.parse().unwrap()).collect();
    ids.try_into().expect("as many ids as jobs")
}
