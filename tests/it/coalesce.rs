//! Jobs that coalesce, as an application has them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jobkit::Admin;
use jobkit::admin::limits::{Change, Rate};
use jobkit::enqueue::{EnqueueError, Statement};
use jobkit::error::InvalidValue;
use jobkit::unique::{Enqueued, OnDuplicate};
use jobkit::{Enqueue, Job, JobContext, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgPool;

/// Coalesces by its account.
#[derive(Serialize, Deserialize, Clone)]
#[job(coalesce_key = self.account, coalesce_group = "accounts", retention = "1h")]
struct Sync {
    account: i64,
    seq: i64,
}

impl Job for Sync {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn sync(account: i64, seq: i64) -> Sync {
    Sync { account, seq }
}

/// What a rate leaves room for is the newest, and not the one that was picked: else a key with more
/// jobs than that would never run.
#[tokio::test]
async fn under_a_rate_of_its_kind_the_newest_runs() {
    let lab = Lab::guarded().await;
    let worker = lab.worker().jobs([jobkit::Registration::of::<Sync, _>()]);
    let worker = worker.queue("default", 5).start().await.unwrap();
    let admin = Admin::new(lab.pool());
    let hourly = Rate::per(1, Duration::from_secs(3600));
    let change = Change::new().rate(hourly).running(1);
    let _ = admin.kind("sync").set(&change).await.unwrap();
    let mut tx = lab.pool().begin().await.unwrap();
    jobkit::enqueue_all((1..4).map(|seq| sync(7, seq)), &mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    let ended = "select array_agg(outcome order by job_id) from jobkit.finished";
    assert_eq!(lab.value::<Vec<String>>(ended).await, ["coalesce", "coalesce", "finish"]);
    lab.check_invariants().await;
}

/// Whichever way they were enqueued.
#[tokio::test]
async fn of_the_jobs_of_a_key_one_runs() {
    let lab = Lab::guarded().await;
    assert!(matches!(sync(7, 0).enqueue_unique(lab.pool()).await, Ok(Enqueued::New(_))));
    jobkit::enqueue_all((1..9).map(|seq| sync(7, seq)), lab.pool()).await.unwrap();
    let given = crate::jobs::Noop.options().coalesce_key("7").coalesce_group("accounts");
    given.enqueue(lab.pool()).await.unwrap();
    let statements = [
        Statement::enqueue(sync(7, 9)).unwrap(),
        Statement::enqueue_all([sync(7, 10), sync(7, 11)]).unwrap(),
        Statement::enqueue(sync(7, 12).options().after(Duration::from_millis(1))).unwrap(),
    ];
    for statement in statements {
        let query = sqlx::query_scalar::<_, i64>(statement.sql());
        let parameters = statement.parameters().iter();
        let query = parameters.fold(query, |query, parameter| query.bind(parameter.clone()));
        query.fetch_all(lab.pool()).await.unwrap();
    }
    lab.run(
        "update jobkit.scheduled set run_at = now(); update jobkit.jobs set run_at = now()
        where id in (select job_id from jobkit.scheduled)",
    )
    .await;
    let last = sync(7, 13).enqueue(lab.pool()).await.unwrap();
    assert_eq!(lab.count("jobkit.jobs where unique_scope = 'accounts'").await, 15);
    let registrations =
        [jobkit::Registration::of::<Sync, _>(), jobkit::Registration::of::<crate::jobs::Noop, _>()];
    let worker = lab.worker().jobs(registrations).queue("default", 5).start().await.unwrap();
    lab.until("count(*) = 0 from jobkit.jobs").await;
    worker.stop().await;
    let ran = "select string_agg(job_id::text, ' ') from jobkit.finished where outcome = 'finish'";
    assert_eq!(lab.value::<String>(ran).await, last.to_string());
    let coalesced = "ended:coalesce".parse().unwrap();
    let count = Admin::new(lab.pool()).count_jobs(&coalesced).await.unwrap();
    // But for the last, and for the one whose kind keeps nothing.
    assert_eq!(count.number(), 13);
    lab.check_invariants().await;
}

#[tokio::test]
async fn what_a_coalesce_key_cannot_be_is_refused_before_it_is_sent() {
    let lab = Lab::new().await;
    let long = sync(1, 0).options().coalesce_key("x".repeat(513)).enqueue(lab.pool()).await;
    assert!(matches!(
        long,
        Err(EnqueueError::Invalid(InvalidValue::Length { what: "coalesce key", .. }))
    ));
    // The last one given counts, of a mixed call too.
    let unique = sync(1, 0).options().coalesce_key("a").unique_key("b");
    let unique = unique.on_duplicate(OnDuplicate::RunAgain);
    let jobs = [unique, sync(1, 1).options(), sync(1, 2).options().coalesce_key("c")];
    jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    assert_eq!(lab.count("jobkit.unique_keys").await, 1);
    assert_eq!(lab.count("jobkit.jobs where unique_while = 'coalesce'").await, 2);
    lab.check_invariants().await;
}

#[tokio::test]
async fn sql_enqueues_jobs_that_coalesce() {
    let lab = Lab::guarded().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts)
        values ('act', 'default', 0, 3)",
    )
    .await;
    lab.run("select jobkit.enqueue('act', p_coalesce_key => 'k', p_coalesce_group => 'g')").await;
    let key = "select concat_ws(' ', unique_scope, unique_key, unique_while) from jobkit.jobs";
    assert_eq!(lab.value::<String>(key).await, "g k coalesce");
    for wrong in ["p_coalesce_group => 'g'", "p_coalesce_key => 'k', p_unique_key => 'k'"] {
        let sql = format!("select jobkit.enqueue('act', {wrong})");
        let refused = sqlx::query(sqlx::AssertSqlSafe(sql)).execute(lab.pool()).await;
        let error = refused.unwrap_err();
        assert_eq!(error.as_database_error().unwrap().code().unwrap(), "JK008", "{wrong}");
    }
}

/// However many have a job of a key in an open transaction: none waits, and one run with what the
/// newest was given follows when they have committed.
#[tokio::test]
async fn thirty_two_open_transactions_of_a_key_wait_for_nobody() {
    let lab = Lab::guarded().await;
    let mut open = Vec::new();
    for seq in 0..32 {
        let mut producer = lab.session("producer").await;
        producer.run("begin").await.unwrap();
        let blocked = format!("cardinality(pg_blocking_pids({})) > 0", producer.pid);
        let enqueue = sync(7, seq).enqueue(&mut producer.connection);
        tokio::select! {
            id = enqueue => id.unwrap(),
            () = lab.until(&blocked) => panic!("{seq} waits for another"),
        };
        open.push(producer);
    }
    let transactions = "pg_stat_activity where datname = current_database() and state = \
        'idle in transaction' and backend_xid is not null";
    assert_eq!(lab.count(transactions).await, 32);
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    // Not in the order in which they enqueued: what counts is who is the newest.
    for mut producer in open.into_iter().rev() {
        producer.run("commit").await.unwrap();
    }
    let newest: i64 = lab.value("select max(id) from jobkit.jobs").await;
    let worker = lab.worker().jobs([jobkit::Registration::of::<Sync, _>()]);
    let worker = worker.queue("default", 5).start().await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    let ran = "select array_agg(job_id) from jobkit.finished where outcome = 'finish'";
    assert_eq!(lab.value::<Vec<i64>>(ran).await, [newest]);
    let seq =
        format!("select (args ->> 'seq')::bigint from jobkit.finished where job_id = {newest}");
    assert_eq!(lab.value::<i64>(&seq).await, 31);
    assert_eq!(lab.count("jobkit.finished where outcome = 'coalesce'").await, 31);
    lab.check_invariants().await;
}

/// A run of a job: its account, what it was given, and what was committed when it began.
struct Run {
    account: i64,
    job: i64,
    read: Vec<i64>,
    ended: bool,
}

/// Producers that hold their transactions open and roll some back, beside claims and settles that
/// fail and give back: what was committed is read by a run that succeeds, of its own or a newer
/// job. That is so whatever the order in which they commit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payload_committed_before_the_claim_is_never_lost() {
    let rounds = std::env::var("JOBKIT_ROUNDS").ok().and_then(|text| text.parse().ok());
    let lab = Lab::guarded().await;
    lab.run(
        "create table app (seq bigint generated always as identity, account bigint, job bigint);
        insert into jobkit.kinds (kind, queue, priority, max_attempts, retention)
        values ('sync', 'default', 0, 1000, '1 hour');
        insert into jobkit.workers (id, name, queues, kinds, lease, lease_until)
        select i, 'w', '{default}', '{sync}', '1 day', now() + interval '1 day'
        from generate_series(1, 3) i",
    )
    .await;
    let mut runs = Vec::new();
    for round in 0..rounds.unwrap_or(3) {
        let done = Arc::new(AtomicBool::new(false));
        let workers: Vec<_> = (1..=3)
            .map(|worker| tokio::spawn(work(lab.pool().clone(), worker, Arc::clone(&done))))
            .collect();
        let producers: Vec<_> =
            (0..8).map(|at| tokio::spawn(produce(lab.pool().clone(), at, round))).collect();
        for producer in producers {
            producer.await.unwrap();
        }
        done.store(true, Ordering::SeqCst);
        for worker in workers {
            runs.extend(worker.await.unwrap());
        }
        lab.check_invariants().await;
    }
    let written: Vec<(i64, i64, i64)> =
        sqlx::query_as("select seq, account, job from app").fetch_all(lab.pool()).await.unwrap();
    for (seq, account, job) in &written {
        let read = runs.iter().any(|run| {
            run.ended && run.account == *account && run.job >= *job && run.read.contains(seq)
        });
        // Where a newer one was committed and began before: then it ran by itself.
        assert!(read, "{seq} of {account} with job {job}");
    }
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    let ended = runs.iter().filter(|run| run.ended).map(|run| run.job);
    let ended: HashSet<i64> = ended.collect();
    assert!(ended.len() < written.len(), "{} jobs for {}", ended.len(), written.len());
}

async fn produce(pool: PgPool, at: u64, round: u64) {
    for turn in 0..25u64 {
        let account = i64::try_from((at + turn) % 3).unwrap();
        let dice = fastrand::u64(0..10);
        let mut tx = pool.begin().await.unwrap();
        let job = sync(account, i64::try_from(round * 100 + turn).unwrap());
        let job = match dice {
            0 => job.options().after(Duration::from_millis(3)),
            1 => job.options().priority(-1),
            _ => job.options(),
        };
        let id = job.enqueue(&mut *tx).await.unwrap();
        for _ in 0..fastrand::u64(0..6) {
            sqlx::query("select 1").execute(&mut *tx).await.unwrap();
        }
        let write = sqlx::query("insert into app (account, job) values ($1, $2)");
        write.bind(account).bind(id.0).execute(&mut *tx).await.unwrap();
        if dice == 7 {
            tx.rollback().await.unwrap();
        } else {
            tx.commit().await.unwrap();
        }
    }
}

/// Claims, reads, and settles in some way, until nothing is left.
async fn work(pool: PgPool, worker: i64, done: Arc<AtomicBool>) -> Vec<Run> {
    let pool = &pool;
    let mut runs = Vec::new();
    loop {
        let last = done.load(Ordering::SeqCst);
        let n: i64 =
            sqlx::query_scalar("select nextval('app_seq_seq')").fetch_one(pool).await.unwrap();
        sqlx::query("select jobkit.promote(100)").execute(pool).await.unwrap();
        let claimed: Vec<(i64, serde_json::Value)> = sqlx::query_as(
            "select job_id, args from jobkit.claim($1, $2, '{sync}', '{default}', '{3}')
            where job_id is not null",
        )
        .bind(worker)
        .bind(n)
        .fetch_all(pool)
        .await
        .unwrap();
        for (job, args) in &claimed {
            let account = args["account"].as_i64().unwrap();
            let read = sqlx::query_scalar("select seq from app where account = $1");
            let read = read.bind(account).fetch_all(pool).await.unwrap();
            let outcome = ["finish", "finish", "retry", "release", "snooze"][fastrand::usize(0..5)];
            // A release with an error would be of a payload that cannot be opened: it rests.
            let error = (outcome != "release").then_some("oh");
            let settled: Vec<(i64, String)> = sqlx::query_as(
                "select job_id, ending from jobkit.settle($1, jobkit.outcomes(array[$2],
                    array[$3], array[$4], p_error => array[$5], p_delay => '{1 ms}'))
                where ending is not null",
            )
            .bind(worker)
            .bind(n)
            .bind(job)
            .bind(outcome)
            .bind(error)
            .fetch_all(pool)
            .await
            .unwrap();
            let ended = outcome == "finish" && settled.is_empty();
            runs.push(Run { account, job: *job, read, ended });
        }
        let live: i64 =
            sqlx::query_scalar("select count(*) from jobkit.jobs").fetch_one(pool).await.unwrap();
        if last && live == 0 {
            return runs;
        }
    }
}

/// Nobody tells when somebody is done who had an older one in hand, and a poll may be far away.
#[tokio::test]
async fn one_that_went_back_waits_for_no_poll() {
    let lab = Lab::guarded().await;
    lab.run("create sequence looks").await;
    let looks = "ended := 0; perform nextval('public.looks');";
    lab.mutate("coalesce_picked", "ended := 0;", looks).await;
    let older = sync(7, 0).enqueue(lab.pool()).await.unwrap();
    let newer = sync(7, 1).enqueue(lab.pool()).await.unwrap();
    let mut tx = lab.pool().begin().await.unwrap();
    let cancel = format!("select jobkit.cancel_mark(array[{older}]::bigint[])");
    sqlx::query(sqlx::AssertSqlSafe(cancel)).execute(&mut *tx).await.unwrap();
    let worker = lab.worker().jobs([jobkit::Registration::of::<Sync, _>()]);
    let worker = worker.poll(Duration::from_secs(600)).queue("default", 5).start().await.unwrap();
    // It has looked so often that by now it would sleep for a poll.
    lab.until("last_value > 12 from looks").await;
    tx.rollback().await.unwrap();
    lab.until(&format!("exists (select from jobkit.finished where job_id = {newer})")).await;
    worker.stop().await;
    lab.check_invariants().await;
}
