//! Sessions that hold, sessions that wait, and where a job is afterwards.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jobkit_tests::{Lab, Session};
use sqlx::AssertSqlSafe;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::calls;

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
        let world = Self { lab };
        world.register(1).await;
        world.register(2).await;
        world
    }

    /// Begins a worker whose lease lasts. Its stated length is short, because nobody is reaped
    /// within that much of the server's start.
    pub(super) async fn register(&self, worker: i64) {
        let sql = format!(
            "insert into jobkit.workers (id, name, queues, kinds, lease, lease_until) values
            ({worker}, 'w', '{{default}}', '{{act}}', '1 ms', now() + interval '1 day')
            on conflict (id) do nothing"
        );
        self.lab.run(&sql).await;
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

    /// Forgets every live job, for the next round.
    pub(super) async fn clear(&self) {
        let tables = ["jobs", "ready", "scheduled", "claims", "attempts"];
        let deletes = tables.map(|table| format!("delete from jobkit.{table}"));
        self.lab.run(&deletes.join("; ")).await;
    }

    /// Enqueues jobs.
    pub(super) async fn ready<const N: usize>(&self) -> [i64; N] {
        ids(&self.call(calls::enqueue(N)).await)
    }

    /// Enqueues jobs whose time came a second ago.
    pub(super) async fn due<const N: usize>(&self) -> [i64; N] {
        let jobs = ids(&self.call(calls::enqueue_with(N, 3, "'1 hour'")).await);
        let past = "run_at = run_at - interval '1 hour 1 s'";
        self.lab
            .run(&format!(
                "update jobkit.jobs set {past} where id = any (array{jobs:?});
                update jobkit.scheduled set {past} where job_id = any (array{jobs:?})"
            ))
            .await;
        jobs
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

    /// Where a job is: "ready, charged 0", "running 1/7, charged 1", "finish", …
    pub(super) async fn place(&self, job: i64) -> String {
        let sql = format!(
            "select coalesce(string_agg(place, ' and ' order by place), 'nowhere') from (
                select place || ', charged ' || attempt as place
                from jobkit.jobs, lateral (
                    select 'ready' as place from jobkit.ready where job_id = id
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
        let pid = session.pid;
        let mut task = tokio::spawn(answer(session, call.clone()));
        tokio::select! {
            () = self.lab.until_blocked(pid, self.session.pid) => {}
            done = &mut task => panic!("did not wait, answered {:?}: {call}", done.unwrap().1),
        }
        Waiter { lab: self.lab, pid, task }
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
}

/// The second session, waiting.
pub(super) struct Waiter<'a> {
    lab: &'a Lab,
    pid: i32,
    task: JoinHandle<(Session, Answer)>,
}

impl Waiter<'_> {
    /// A third session, whose call is answered although the second one waits.
    pub(super) async fn bystander(&self, call: String) -> String {
        bystander(self.lab, self.pid, call).await
    }

    /// What it was answered in the end.
    pub(super) async fn answer(self) -> Answer {
        timeout(PATIENCE, self.task).await.expect("nothing holds it up any more").unwrap().1
    }
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

fn ids<const N: usize>(list: &str) -> [i64; N] {
    let ids: Vec<i64> = list.split(' ').map(|id| id.parse().unwrap()).collect();
    ids.try_into().expect("as many ids as jobs")
}
