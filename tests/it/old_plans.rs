//! What a worker reads whose plans are from a time when nothing was there. A session keeps its
//! plans, and of a table that was vacuumed while it was empty the server believes that it is
//! quickly read from end to end.

use std::time::Duration;

use jobkit::policy::Rate;
use jobkit::{Job, JobContext, Registration, WorkerHandle, job};
use jobkit_tests::{Lab, announce_limiter};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::jobs::Noop;

in_a_lab![
    a_worker_that_began_when_nothing_was_there_reads_no_table_as_a_whole,
    nor_does_one_with_few_connections,
    a_call_for_one_job_looks_at_no_others,
];

/// One of a few keys, each with one permit.
#[derive(Serialize, Deserialize)]
#[job(retention = none, concurrency_key = self.0 % 20, concurrency_limit = 1)]
struct Alone(usize);

/// One key with some permits.
#[derive(Serialize, Deserialize)]
#[job(retention = none, concurrency_key = "all", concurrency_limit = 2)]
struct Pooled(usize);

/// At so many a second.
#[derive(Serialize, Deserialize)]
#[job(retention = none, concurrency_key = self.0 % 5, rate = "200/s", burst = 100)]
struct Paced(usize);

/// Of ten only the newest runs, where they wait together.
#[derive(Serialize, Deserialize)]
#[job(retention = none, coalesce_key = self.0 / 10)]
struct Newest(usize);

/// None like it beside it.
#[derive(Serialize, Deserialize)]
#[job(retention = "1h", unique_key = self.0)]
struct Unlike(usize);

/// Fails once, and each tenth for good.
#[derive(Serialize, Deserialize)]
#[job(retention = "1h", max_attempts = 2, backoff = fixed("1ms"))]
struct Shaky(usize);

/// Asks a limiter, notes how far it is, and completes in its transaction.
#[derive(Serialize, Deserialize)]
#[job(retention = none)]
struct Calls(usize);

macro_rules! does_nothing {
    ($($job:ty)*) => {$(
        impl Job for $job {
            async fn run(self, _cx: JobContext) -> jobkit::Result {
                Ok(())
            }
        }
    )*};
}
does_nothing!(Alone Pooled Paced Newest Unlike);

impl Job for Shaky {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        if cx.attempt() == 1 || self.0.is_multiple_of(10) { Err("not yet".into()) } else { Ok(()) }
    }
}

impl Job<PgPool> for Calls {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        cx.limiter("api").key((self.0 % 700).to_string()).acquire().await?;
        cx.checkpoint(&self.0).await?;
        let mut tx = cx.state().begin().await?;
        cx.complete_in(&mut tx).await?;
        tx.commit().await?;
        Ok(())
    }
}

async fn enqueue(lab: &Lab, of_each: std::ops::Range<usize>) {
    macro_rules! enqueue_all {
        ($($job:ident)*) => {$(
            jobkit::enqueue_all(of_each.clone().map($job), lab.pool()).await.unwrap();
        )*};
    }
    enqueue_all!(Alone Pooled Paced Newest Unlike Shaky Calls);
    jobkit::enqueue_all(of_each.map(|_| Noop), lab.pool()).await.unwrap();
}

async fn start(lab: &Lab, few_connections: bool) -> WorkerHandle {
    let jobs = [
        Registration::of::<Alone, _>(),
        Registration::of::<Pooled, _>(),
        Registration::of::<Paced, _>(),
        Registration::of::<Newest, _>(),
        Registration::of::<Unlike, _>(),
        Registration::of::<Shaky, _>(),
        Registration::of::<Calls, _>(),
        Registration::of::<Noop, _>(),
    ];
    let worker = lab.worker().state(lab.direct().clone()).jobs(jobs).queue("default", 50);
    let worker = worker.few_connections(few_connections);
    worker.limiter("api", Rate::per_minute(10).burst(100)).start().await.unwrap()
}

/// How long 6,000 jobs may take on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(120);

/// Tables with a row for each job of which whole scans have read more than 30,000 rows: what a
/// duty reads now and then does not add up to that, what is done for each job does.
const READ: &str =
    "select coalesce(string_agg(relname || ' ' || seq_tup_read, ', ' order by 1), '')
    from pg_stat_user_tables where schemaname = 'jobkit' and seq_tup_read > 30000
    and relname not in ('workers', 'limits', 'turns', 'kinds')";

async fn a_worker_that_began_when_nothing_was_there_reads_no_table_as_a_whole(lab: Lab) {
    drain(lab, false).await;
}

async fn nor_does_one_with_few_connections(lab: Lab) {
    drain(lab, true).await;
}

async fn drain(lab: Lab, few_connections: bool) {
    lab.run(
        "do $$ declare v_table regclass; begin
            for v_table in select c.oid from pg_class c
                where c.relnamespace = 'jobkit'::regnamespace and c.relkind = 'r'
            loop execute format('alter table %s set (autovacuum_enabled = off)', v_table); end loop;
        end $$",
    )
    .await;
    let worker = start(&lab, few_connections).await;
    for of_each in [0..30, 30..800] {
        enqueue(&lab, of_each).await;
        lab.until_within(PATIENCE, "not exists (select from jobkit.jobs)").await;
    }
    worker.stop().await;
    let read: String = lab.value(READ).await;
    assert_eq!(read, "");
    lab.check_invariants().await;
}

/// What a worker asks for one job, or for its lease.
const CALLS: [&str; 6] = [
    "heartbeat(1, false)",
    "take_slot('api', 'k', 1, '1 min')",
    "save_step(1, 1, 1, 1, '', '1')",
    "part(1, 1, 2, 1)",
    "completion(1, '{1}', 1)",
    "complete(1, 1, 1)",
];

/// How often this session has read tables as a whole of which rows are there for each job.
const SCANS: &str = "select coalesce(sum(seq_scan), 0)::bigint from pg_stat_xact_user_tables
    where relname in ('jobs', 'claims', 'permits', 'semaphores', 'kept_slots')";

pub(crate) async fn a_call_for_one_job_looks_at_no_others(lab: Lab) {
    let fill = |jobs: &str| {
        format!(
            "insert into jobkit.jobs
                (id, kind, queue, priority, max_attempts, run_at, created_at, args)
            select n, 'act', 'default', 0, 3, now(), now(), '{{}}' from {jobs} n;
            insert into jobkit.claims (worker_id, n, job_ids) select n % 100 + 1, n, array[n, -n]
            from {jobs} n;
            insert into jobkit.permits (job_id, concurrency_group, concurrency_key)
            select n + 1, 'act', n from {jobs} n;
            insert into jobkit.semaphores (concurrency_group, concurrency_key)
            select 'api', n from {jobs} n;
            insert into jobkit.kept_slots select 'api', n, n, now(), '1 s' from {jobs} n"
        )
    };
    lab.run("select jobkit.register(1, 'w', '{default}', '{act}', '1 day')").await;
    lab.run(&announce_limiter("api", "1 s")).await;
    lab.run(&fill("generate_series(100, 100)")).await;
    lab.run("update jobkit.jobs set id = 1; update jobkit.claims set n = 1, job_ids = '{1, -1}'")
        .await;
    let mut session = lab.session("worker").await;
    for round in 1..=8 {
        if round == 8 {
            lab.run(&fill("generate_series(101, 10000)")).await;
        }
        for call in CALLS {
            session.run("begin").await.unwrap();
            let before: i64 = session.value(SCANS).await.unwrap();
            session.run(&format!("select jobkit.{call}")).await.unwrap();
            let scans = session.value::<i64>(SCANS).await.unwrap() - before;
            assert!(round < 8 || scans == 0, "{call}: {scans}");
            session.run("rollback").await.unwrap();
        }
    }
}
