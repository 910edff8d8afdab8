//! The partitions of the history: made ahead, dropped when they expire, whatever cut that short.

use jobkit::{Enqueue, Job, JobContext, Registration, Worker, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

use crate::jobs::{self, Act, EFFECTS, Noop, Then};
use crate::startup::least_privilege;

/// Kept for a month.
#[derive(Serialize, Deserialize)]
#[job(retention = "30d")]
struct Kept;

impl Job for Kept {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// A worker whose longest retention is one hour.
async fn start(lab: &Lab) -> WorkerHandle {
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    worker.queue("default", 5).start().await.unwrap()
}

/// Makes the partition of a day long past, with a job in it.
pub(crate) async fn make_day(lab: &Lab, day: &str) {
    let table = format!("jobkit.finished_{}", day.replace('-', ""));
    lab.run(&format!(
        "create table {table} (like jobkit.finished including all);
        alter table jobkit.finished attach partition {table}
            for values from ('{day} 00:00+00') to (timestamptz '{day} 00:00+00' + interval '1 day');
        insert into jobkit.finished_days values ('{day}');
        insert into jobkit.finished (job_id, kind, queue, priority, outcome, attempt, max_attempts,
            snoozes, created_at, run_at, finished_at, args, expires_at)
        values (-1, 'act', 'default', 0, 'finish', 1, 1, 0, '{day}', '{day}', '{day}', '{{}}',
            '{day} 12:00+00');"
    ))
    .await;
}

fn table(day: &str) -> String {
    format!("to_regclass('jobkit.finished_{}')", day.replace('-', ""))
}

/// Waits until nothing is left of these days.
pub(crate) async fn gone(lab: &Lab, days: &[&str]) {
    for day in days {
        lab.until(&format!("{} is null", table(day))).await;
        assert_eq!(lab.count(&format!("jobkit.finished_days where day = '{day}'")).await, 0);
    }
    assert_eq!(lab.count("jobkit.finished where job_id < 0").await, 0);
}

const LISTED_AND_ATTACHED: &str = "(select array_agg(day order by day) from jobkit.finished_days)
    = (select array_agg(to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') order by 1)
       from pg_inherits where inhparent = 'jobkit.finished'::regclass)";

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_made_ahead_of_the_longest_retention() {
    let lab = Lab::new().await;
    let ahead = "select max(day) - (now() at time zone 'UTC')::date from jobkit.finished_days";
    start(&lab).await.stop().await;
    assert_eq!(lab.value::<i32>(ahead).await, 15);
    let worker = lab.worker().jobs([Registration::of::<Kept, _>()]).queue("default", 1);
    worker.start().await.unwrap().stop().await;
    assert_eq!(lab.value::<i32>(ahead).await, 44);
    start(&lab).await.stop().await;
    assert_eq!(lab.count("jobkit.finished_days").await, 45);
    lab.until(LISTED_AND_ATTACHED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_day_is_dropped_and_no_other() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    make_day(&lab, "2024-02-29").await;
    make_day(&lab, "2024-12-31").await;
    let job = Act::then(Then::Succeed).enqueue(lab.pool()).await.unwrap();
    let worker = start(&lab).await;
    gone(&lab, &["2024-02-29", "2024-12-31"]).await;
    lab.until(&format!("exists (select from jobkit.finished where job_id = {job})")).await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.finished_days").await, 16);
    lab.until(LISTED_AND_ATTACHED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_was_cut_short_is_completed() {
    let lab = Lab::new().await;
    let days = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"];
    for day in days {
        make_day(&lab, day).await;
    }
    // One is off the list, one is detached as well, and one is half detached: a reader was in the
    // way until the time was up. The fourth is as it should be.
    lab.run("delete from jobkit.finished_days where day < '2024-01-04'").await;
    lab.run("alter table jobkit.finished detach partition jobkit.finished_20240102").await;
    let mut reader = lab.session("reader").await;
    reader.run("begin; select count(*) from jobkit.finished").await.unwrap();
    let mut pruner = lab.session("pruner").await;
    pruner.run("set statement_timeout = '300ms'").await.unwrap();
    let detach = "alter table jobkit.finished detach partition jobkit.finished_20240103";
    pruner.run(&format!("{detach} concurrently")).await.unwrap_err();
    let pending = "pg_inherits where inhdetachpending
        and inhrelid = 'jobkit.finished_20240103'::regclass";
    assert_eq!(lab.count(pending).await, 1);
    reader.run("commit").await.unwrap();

    let worker = start(&lab).await;
    gone(&lab, &days).await;
    worker.stop().await;
    lab.until(LISTED_AND_ATTACHED).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_delays_the_removal_and_no_job() {
    let lab = Lab::new().await;
    lab.run(EFFECTS).await;
    make_day(&lab, "2024-01-01").await;
    let mut reader = lab.session("reader").await;
    reader.run("begin; select count(*) from jobkit.finished").await.unwrap();
    let worker = start(&lab).await;
    let waits = "from pg_stat_activity where datname = current_database()
        and query like 'alter table jobkit.finished detach%' and wait_event_type = 'Lock'";
    lab.until(&format!("count(*) = 1 {waits}")).await;
    for _ in 0..3 {
        let job = Act::then(Then::Succeed).enqueue(lab.pool()).await.unwrap();
        lab.until(&format!("exists (select from jobkit.finished where job_id = {job})")).await;
    }
    assert!(lab.value::<bool>(&format!("select {} is not null", table("2024-01-01"))).await);
    reader.run("commit").await.unwrap();
    gone(&lab, &["2024-01-01"]).await;
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_owns_no_table_prunes_as_well() {
    let lab = Lab::new().await;
    start(&lab).await.stop().await;
    make_day(&lab, "2024-01-01").await;
    make_day(&lab, "2024-01-02").await;
    lab.run("alter table jobkit.finished detach partition jobkit.finished_20240101").await;
    let (role, pool) = least_privilege(&lab).await;
    let worker = Worker::new(pool.clone()).jobs([Registration::of::<Noop, _>()]);
    let worker = worker.queue("default", 1).start().await.unwrap();
    gone(&lab, &["2024-01-01", "2024-01-02"]).await;
    worker.stop().await;
    let mut session = lab.session("trespasser").await;
    session.run(&format!("set role {role}")).await.unwrap();
    let today = "(now() at time zone 'UTC')::date";
    session.run(&format!("select jobkit.finished_drop({today})")).await.unwrap();
    session.run("reset role").await.unwrap();
    lab.until(LISTED_AND_ATTACHED).await;
    assert_eq!(lab.count("jobkit.finished_days").await, 16);
    pool.close().await;
    lab.run(&format!("drop owned by {role}; drop role {role}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_day_always_stays() {
    let lab = Lab::new().await;
    make_day(&lab, "2024-01-01").await;
    make_day(&lab, "2024-01-02").await;
    let expired = "select string_agg(day::text, ',') from jobkit.finished_expired()";
    assert_eq!(lab.value::<String>(expired).await, "2024-01-01");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_beyond_the_last_day_is_clamped() {
    let lab = Lab::new().await;
    start(&lab).await.stop().await;
    let jobs = [Then::Succeed, Then::Succeed, Then::Succeed].map(Act::then);
    let ids = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    lab.run("select jobkit.register(1, 'by hand', '{default}', '{act}', '1 min')").await;
    lab.run("select * from jobkit.claim(1, 1, '{act}', '{default}', '{10}')").await;
    let [a, b, c] = [ids[0], ids[1], ids[2]];
    lab.run(&format!(
        "select * from jobkit.settle(1, '{{1,1,1}}', '{{{a},{b},{c}}}', '{{finish,discard,finish}}',
            '{{null,pointless,null}}', '{{null,null,null}}', '{{null,null,null}}',
            '{{1000 days,1000 days,1 hour}}', '{{1 s,1 s,1 s}}')"
    ))
    .await;
    let last = "(select (max(day) + 1)::timestamp at time zone 'UTC' from jobkit.finished_days)";
    let clamped = format!("jobkit.finished where {last} - expires_at = interval '1 microsecond'");
    assert_eq!(lab.count(&clamped).await, 2);
    assert_eq!(lab.count("jobkit.finished where expires_at - finished_at <= '1 hour'").await, 1);
    lab.run("select jobkit.deregister(1)").await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_retention_nothing_is_kept() {
    let lab = Lab::new().await;
    let worker = start(&lab).await;
    jobkit::enqueue_all([Noop, Noop, Noop], lab.pool()).await.unwrap();
    lab.until("count(*) = 0 from jobkit.jobs").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.finished").await, 0);
    assert_eq!(lab.count("jobkit.dead_letters").await, 0);
}
