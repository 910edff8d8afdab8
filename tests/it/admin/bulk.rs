//! Transitions of all jobs that match, carried out without a worker.

use chrono::{TimeDelta, Utc};
use jobkit::Enqueue;
use jobkit::admin::AdminError;
use jobkit::admin::jobs::JobQuery;
use jobkit::admin::operations::{BulkAction, Operation};
use jobkit::error::InvalidValue;

use super::kit::{Desk, HOUR};
use crate::jobs::Noop;

fn query(words: &str) -> JobQuery {
    words.parse().unwrap()
}

pub(super) fn cancel(words: &str) -> BulkAction {
    BulkAction::Cancel(query(words))
}

/// How many matched, ended at once, and were asked to stop.
fn ended(operation: &Operation) -> [u64; 3] {
    let Operation { total, done, stop_requested, skipped, .. } = *operation;
    assert_eq!((total, skipped), (Some(done), 0));
    [done, done - stop_requested, stop_requested]
}

/// How many matched, moved, and were refused.
fn moved(operation: &Operation) -> [u64; 3] {
    [operation.done + operation.skipped, operation.done, operation.skipped]
}

/// 1,504 jobs in every state a live one can be in, of two kinds and queues: the ten that run are
/// returned.
async fn crowd(desk: &Desk) -> (i64, Vec<jobkit::JobId>) {
    let accounts = |n: usize| (0..n).map(|i| (i % 10).to_string());
    desk.limit(3).await;
    // Of each account one runs, two are ready with a permit, 97 are blocked.
    desk.pay_all(accounts(1_000)).await;
    let (n, claimed) = desk.claim().await;
    assert_eq!(claimed.len(), 30);
    for job in &claimed[10..] {
        desk.settle(n, *job, "release").await;
    }
    let running = claimed[..10].to_vec();
    desk.pay_all(accounts(100)).await;
    let later = (0..300).map(|_| Noop.options().after(HOUR).tags(["later", "more"]));
    jobkit::enqueue_all(later, desk.lab.pool()).await.unwrap();
    let slow = (0..104).map(|_| Noop.options().queue("slow"));
    jobkit::enqueue_all(slow, desk.lab.pool()).await.unwrap();
    let places = "string_agg(what, ' ' order by what) from (
        select place || ' ' || count(*) as what from jobkit.places group by place) p";
    let places: String = desk.lab.value(&format!("select {places}")).await;
    assert_eq!(places, "blocked 970 claimed 10 ready 224 scheduled 300");
    desk.lab.check_invariants().await;
    (n, running)
}

#[tokio::test]
async fn everything_that_waits_ends_and_what_runs_is_asked() {
    let desk = Desk::new().await;
    let (n, running) = crowd(&desk).await;
    let discard = BulkAction::Discard(query(""));
    let begun = desk.admin.begin_operation(&discard, "spring cleaning", "once").await.unwrap();
    let discarded = desk.admin.operation(begun.id).run().await.unwrap().unwrap();
    assert_eq!(ended(&discarded), [1_504, 1_494, 10]);
    desk.lab.check_invariants().await;
    let discarded = "jobkit.finished where outcome = 'discard' and reason = 'spring cleaning'";
    assert_eq!(desk.lab.count(discarded).await, 1_494);
    assert_eq!(desk.lab.value::<i64>("select sum(taken) from jobkit.semaphores").await, 10);
    for job in running {
        desk.settle(n, job, "retry").await;
    }
    assert_eq!(desk.lab.count("jobkit.finished where outcome = 'cancel'").await, 10);
    for table in ["jobs", "permits", "semaphores", "blocked_executions", "ready", "scheduled"] {
        assert_eq!(desk.lab.count(&["jobkit.", table].concat()).await, 0, "{table}");
    }
    assert_eq!(ended(&desk.all(&cancel("")).await), [0, 0, 0]);
}

#[tokio::test]
async fn everything_that_waits_moves_and_what_runs_is_refused() {
    let desk = Desk::new().await;
    crowd(&desk).await;
    let tomorrow = Some(Utc::now() + TimeDelta::days(1));
    let later = BulkAction::Reschedule(query(""), tomorrow);
    assert_eq!(moved(&desk.all(&later).await), [1_504, 1_494, 10]);
    desk.lab.check_invariants().await;
    assert_eq!(desk.lab.count("jobkit.scheduled").await, 1_494);
    assert_eq!(desk.lab.count("jobkit.permits").await, 10);
    let now = BulkAction::Reschedule(query("kind:noop"), None);
    assert_eq!(moved(&desk.all(&now).await), [404, 404, 0]);
    desk.lab.check_invariants().await;
    assert_eq!(desk.lab.count("jobkit.ready where kind = 'noop'").await, 404);
}

#[tokio::test]
async fn a_filter_means_what_all_of_it_says() {
    let desk = Desk::new().await;
    crowd(&desk).await;
    for (words, matched) in [
        ("tag:more kind:pay", 0),
        ("tag:mor", 0),
        ("state:finished", 0),
        ("group:noop", 0),
        ("queue:slow kind:noop state:ready", 104),
        ("tag:more", 300),
        ("group:pay key:7 state:blocked", 97),
        ("key:7", 13),
        // Those that the nine accounts left have: two were ready with a permit, ten without.
        ("state:ready", 9 * 12),
        ("state:running", 10),
        ("kind:pay state:blocked", 9 * 97 - 9 * 2),
    ] {
        assert_eq!(desk.all(&cancel(words)).await.done, matched, "{words}");
        desk.lab.check_invariants().await;
    }
}

#[tokio::test]
async fn what_is_not_meant_stays_as_it_is() {
    let desk = Desk::new().await;
    let (n, job) = desk.running("a").await;
    let next = desk.blocked("a").await;
    let other = desk.pay_later("b").await;
    assert_eq!(ended(&desk.all(&cancel("state:ready")).await), [0, 0, 0]);
    assert_eq!(ended(&desk.all(&cancel("key:b")).await), [1, 1, 0]);
    assert_eq!(desk.place(other).await, "cancel: cancelled");
    desk.settle(n, job, "finish").await;
    assert_eq!(desk.place(next).await, "ready with a permit");
    desk.lab.check_invariants().await;
}

#[tokio::test]
async fn a_filter_that_cannot_fit_anything_is_an_error() {
    let desk = Desk::new().await;
    let job = desk.pay("a").await;
    let long = "x".repeat(129);
    let mut odd = vec![JobQuery::default(); 5];
    odd[0].kind = Some(String::new());
    odd[1].queue = Some(long.clone());
    odd[2].group = Some(long.clone());
    odd[3].key = Some("x".repeat(513));
    odd[4].tag = Some(long);
    for query in odd {
        let error = desk.try_all(&BulkAction::Cancel(query.clone())).await.unwrap_err();
        assert!(matches!(error, AdminError::Invalid(InvalidValue::Length { .. })), "{error}");
        let error = desk.try_all(&BulkAction::Reschedule(query, None)).await.unwrap_err();
        assert!(matches!(error, AdminError::Invalid(InvalidValue::Length { .. })), "{error}");
    }
    let mut nul = query("key:a");
    nul.key = Some("a\0".to_owned());
    let error = desk.try_all(&BulkAction::Discard(nul)).await.unwrap_err();
    assert!(matches!(error, AdminError::Invalid(InvalidValue::Nul { .. })), "{error}");
    assert_eq!(desk.place(job).await, "ready");
}

/// T21: five hold the permits of a key and wait, three are blocked behind them.
#[tokio::test]
async fn discarding_holders_in_bulk_passes_their_permits_on() {
    let desk = Desk::new().await;
    desk.limit(5).await;
    let jobs = desk.pay_all((0..8).map(|_| "a".to_owned())).await;
    let (n, claimed) = desk.claim().await;
    assert_eq!(claimed, jobs[..5]);
    for job in &claimed {
        desk.settle(n, *job, "release").await;
    }
    let ready = BulkAction::Discard(query("key:a state:ready"));
    assert_eq!(ended(&desk.all(&ready).await), [5, 5, 0]);
    for job in &jobs[5..] {
        assert_eq!(desk.place(*job).await, "ready with a permit");
    }
    desk.lab.check_invariants().await;
    assert_eq!(ended(&desk.all(&ready).await), [3, 3, 0]);
    assert!(desk.admin.semaphore("pay", "a").await.unwrap().is_none());
    desk.lab.check_invariants().await;
}

/// Jobs that sit at ids far apart, and more of them than a page looks at, of which few are meant.
#[tokio::test]
async fn few_among_many_are_found() {
    let desk = Desk::new().await;
    desk.lab
        .run(
            "insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
                args, tags)
            select i * 1000 - 7000000, 'noop', 'default', 0, 3, now(), now(), '{}',
                case when i in (1, 12000, 25000) then '{rare}'::text[] end
            from generate_series(1, 25000) i;
            insert into jobkit.ready (queue, priority, job_id, kind)
            select queue, priority, id, kind from jobkit.jobs",
        )
        .await;
    assert_eq!(desk.all(&cancel("tag:rare")).await.done, 3);
    assert_eq!(desk.lab.count("jobkit.jobs").await, 24_997);
}

/// A join that begins at `ready` instead of the jobs would walk all of it, again and again.
#[tokio::test]
async fn a_bulk_call_reads_what_it_takes_whatever_the_statistics_say() {
    let desk = Desk::new().await;
    desk.running("a").await;
    desk.lab
        .run(
            "alter table jobkit.jobs set (autovacuum_enabled = off);
            alter table jobkit.ready set (autovacuum_enabled = off);
            alter table jobkit.scheduled set (autovacuum_enabled = off);
            alter table jobkit.blocked_executions set (autovacuum_enabled = off);
            analyze jobkit.jobs, jobkit.ready, jobkit.scheduled, jobkit.blocked_executions;
            insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
                concurrency_group, concurrency_key, args, tags)
            select 1000 + i, 'noop', 'default', 0, 3, now(), now(),
                case when i > 40000 then 'pay' end, case when i > 40000 then 'a' end, '{}',
                case when i % 500 = 0 then '{rare}'::text[] end
            from generate_series(1, 60000) i;
            insert into jobkit.ready (queue, priority, job_id, kind)
            select queue, priority, id, kind from jobkit.jobs where id between 1001 and 21000;
            insert into jobkit.scheduled (run_at, job_id)
            select run_at, id from jobkit.jobs where id between 21001 and 41000;
            insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority,
                job_id, queue, kind)
            select concurrency_group, concurrency_key, priority, id, queue, kind
            from jobkit.jobs where id > 41000;
            update jobkit.semaphores set crowded = true",
        )
        .await;
    let desk = desk.afresh().await;
    let read = "select sum(idx_tup_read)::bigint from pg_stat_user_indexes
        where relname in ('ready', 'scheduled', 'blocked_executions')";
    let before: i64 = desk.lab.value(read).await;
    assert_eq!(desk.all(&cancel("tag:rare")).await.done, 120);
    desk.hang_up().await;
    let rows = desk.lab.value::<i64>(read).await - before;
    assert!(rows < 2_000, "{rows} rows were read for 120");
    desk.lab.check_invariants().await;
}
