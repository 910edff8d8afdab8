//! Jobs with keys, exactly where a test wants them: a worker that exists in the database only, so
//! that nothing moves by itself, or a real one.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jobkit::admin::AdminError;
use jobkit::admin::jobs::JobSummary;
use jobkit::admin::jobs::State;
use jobkit::admin::limits::{Change, Limited};
use jobkit::admin::operations::{BulkAction, Operation};
use jobkit::job;
use jobkit::{Admin, Enqueue, Job, JobContext, JobId, Registration, WorkerHandle};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::jobs;

/// Takes one of an account at a time, and runs until it is let go, or asked to stop.
#[derive(Serialize, Deserialize)]
#[job(concurrency_key = self.account, retention = "1h", backoff = fixed("1ms"))]
pub(super) struct Pay {
    account: String,
}

impl Job<PgPool> for Pay {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        jobs::trace(&cx, "begin").await?;
        let gone = "select exists (select from effects where what = 'go')";
        while !sqlx::query_scalar::<_, bool>(gone).fetch_one(cx.state()).await? {
            tokio::select! {
                _reason = cx.cancelled() => return Err("stopped when asked".into()),
                () = tokio::time::sleep(Duration::from_millis(10)) => {}
            }
        }
        jobs::trace(&cx, "end").await
    }
}

/// The worker that exists in the database only.
pub(super) const WORKER: i64 = 0x1f;

/// A lab with an operator.
pub(super) struct Desk {
    pub(super) lab: Lab,
    pub(super) admin: Admin,
}

impl Desk {
    /// With a worker of the queues `default` (10 slots) and `slow` (2 slots) that does nothing by
    /// itself.
    pub(super) async fn new() -> Self {
        Self::with_worker(Lab::new().await).await
    }

    /// The same in this lab.
    pub(super) async fn with_worker(lab: Lab) -> Self {
        let desk = Self::at(lab).await;
        desk.lab
            .run(
                "select jobkit.finished_prepare(2);
                select jobkit.announce('{pay,noop}', '{default,default}', '{0,0}', '{20,20}',
                    '{1 h,1 h}', '{pay,null}', '{1,null}');
                select jobkit.announce_limits(
                '[{\"scope\": \"group\", \"name\": \"pay\", \"running\": 1}]')",
            )
            .await;
        let register = "'w', '{default,slow}', '{pay,noop}', '1 day', '{10,2}'";
        desk.lab.run(&format!("select jobkit.register({WORKER}, {register})")).await;
        desk
    }

    /// With nobody.
    pub(super) async fn without_worker() -> Self {
        Self::at(Lab::new().await).await
    }

    /// The same in this lab.
    pub(super) async fn at(lab: Lab) -> Self {
        lab.run(jobs::EFFECTS).await;
        let admin = Admin::new(lab.pool());
        Self { lab, admin }
    }

    /// Ends the operator's idle sessions, so that what they read is counted; others are opened by
    /// the next call.
    pub(super) async fn hang_up(&self) {
        let sessions = "pg_stat_activity where datname = current_database()
            and application_name = 'jobkit admin'";
        self.lab.run(&format!("select pg_terminate_backend(pid) from {sessions}")).await;
        self.lab.until(&format!("not exists (select from {sessions})")).await;
        self.counted().await;
    }

    /// Before version 15 the server shows counts that are up to half a second old.
    async fn counted(&self) {
        let version = "select current_setting('server_version_num')::integer";
        if self.lab.value::<i32>(version).await < 150_000 {
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
    }

    /// The same desk after all its sessions have ended.
    pub(super) async fn afresh(self) -> Self {
        drop(self.admin);
        let lab = self.lab.reconnected().await;
        let admin = Admin::new(lab.pool());
        let desk = Self { lab, admin };
        desk.counted().await;
        desk
    }

    /// A real worker of the queues `default` and `slow`, 10 slots each.
    pub(super) async fn start(&self) -> WorkerHandle {
        let kinds = [Registration::of::<Pay, _>(), Registration::of::<jobs::Noop, _>()];
        let worker = self.lab.worker().state(self.lab.direct().clone()).jobs(kinds);
        worker.queue("default", 10).queue("slow", 10).start().await.unwrap()
    }

    /// Begins an operation and carries it out from here.
    pub(super) async fn all(&self, action: &BulkAction) -> Operation {
        self.try_all(action).await.unwrap()
    }

    pub(super) async fn try_all(&self, action: &BulkAction) -> Result<Operation, AdminError> {
        let key = format!("all {:x}", fastrand::u64(..));
        let id = self.admin.begin_operation(action, "", &key).await?.id;
        Ok(self.admin.operation(id).run().await?.expect("it was begun"))
    }

    /// Lets every real `Pay` end.
    pub(super) async fn go(&self) {
        self.lab.run("insert into effects (job_id, attempt, what) values (0, 0, 'go')").await;
    }

    /// Forgets every live job, for the next round.
    pub(super) async fn clear(&self) {
        self.lab
            .run(
                "truncate jobkit.jobs, jobkit.ready, jobkit.scheduled, jobkit.claims,
                    jobkit.attempts, jobkit.blocked_executions, jobkit.permits, jobkit.semaphores",
            )
            .await;
    }

    /// Enqueues one.
    pub(super) async fn pay(&self, account: &str) -> JobId {
        self.pay_in("default", account).await
    }

    /// Enqueues one into a queue.
    pub(super) async fn pay_in(&self, queue: &str, account: &str) -> JobId {
        let pay = Pay { account: account.to_owned() };
        pay.options().queue(queue).enqueue(self.lab.pool()).await.unwrap()
    }

    /// Enqueues one for tomorrow.
    pub(super) async fn pay_later(&self, account: &str) -> JobId {
        let pay = Pay { account: account.to_owned() };
        pay.options().after(24 * HOUR).enqueue(self.lab.pool()).await.unwrap()
    }

    /// Enqueues some at once.
    pub(super) async fn pay_all(&self, accounts: impl IntoIterator<Item = String>) -> Vec<JobId> {
        let jobs = accounts.into_iter().map(|account| Pay { account });
        jobkit::enqueue_all(jobs, self.lab.pool()).await.unwrap()
    }

    /// A claim of what is ready, 500 at most, by the worker that does nothing: its number, and
    /// what it got. What got no permit is blocked from then on.
    pub(super) async fn claim(&self) -> (i64, Vec<JobId>) {
        self.claim_of("default").await
    }

    /// The same of one queue.
    pub(super) async fn claim_of(&self, queue: &str) -> (i64, Vec<JobId>) {
        let n = next_n();
        let sql = format!(
            "select coalesce(array_agg(job_id order by job_id) filter (where job_id > 0), '{{}}')
            from jobkit.claim({WORKER}, {n}, '{{pay,noop}}', '{{{queue}}}', '{{500}}')"
        );
        let jobs: Vec<i64> = self.lab.value(&sql).await;
        (n, jobs.into_iter().map(JobId).collect())
    }

    /// One that runs.
    pub(super) async fn running(&self, account: &str) -> (i64, JobId) {
        let job = self.pay(account).await;
        let (n, claimed) = self.claim().await;
        assert_eq!(claimed, [job]);
        (n, job)
    }

    /// One that is ready and holds a permit: it was claimed and given back.
    pub(super) async fn holder(&self, account: &str) -> JobId {
        let (n, job) = self.running(account).await;
        self.settle(n, job, "release").await;
        assert_eq!(self.place(job).await, "ready with a permit");
        job
    }

    /// One that is blocked.
    pub(super) async fn blocked(&self, account: &str) -> JobId {
        let job = self.pay(account).await;
        let (_, claimed) = self.claim().await;
        assert!(!claimed.contains(&job), "the key is not used up");
        assert_eq!(self.state(job).await, State::Blocked);
        job
    }

    /// Records an outcome.
    pub(super) async fn settle(&self, n: i64, job: JobId, outcome: &str) {
        self.lab.run(&settle(n, job, outcome)).await;
    }

    pub(super) async fn job(&self, job: JobId) -> JobSummary {
        self.admin.job(job).get().await.unwrap().expect("it is there").summary
    }

    pub(super) async fn state(&self, job: JobId) -> State {
        self.job(job).await.state
    }

    /// Its state, whether it holds a permit, and how it ended.
    pub(super) async fn place(&self, job: JobId) -> String {
        let holds = self.lab.count(&format!("jobkit.permits where job_id = {job}")).await == 1;
        match self.admin.job(job).get().await.unwrap().map(|job| job.summary.state) {
            None => "gone".to_owned(),
            Some(State::Finished) => {
                let ending = "outcome || coalesce(': ' || reason, '')";
                let of = format!("from jobkit.finished where job_id = {job}");
                self.lab.value(&format!("select {ending} {of}")).await
            }
            Some(state) if holds => [state.as_str(), " with a permit"].concat(),
            Some(state) => state.as_str().to_owned(),
        }
    }

    /// Sets the limit of the group.
    pub(super) async fn limit(&self, limit: u32) {
        let limited = self.admin.group("pay").set(&Change::new().running(limit)).await.unwrap();
        assert_ne!(limited, Limited::Unknown);
    }
}

pub(super) const HOUR: Duration = Duration::from_secs(3600);

/// The call that records an outcome of the worker that does nothing.
pub(super) fn settle(n: i64, job: JobId, outcome: &str) -> String {
    format!(
        "select from jobkit.settle({WORKER}, jobkit.outcomes('{{{n}}}', '{{{job}}}',
            '{{{outcome}}}', p_error => '{{why}}', p_keep => '{{1 h}}'))"
    )
}

fn next_n() -> i64 {
    static NEXT: AtomicI64 = AtomicI64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
