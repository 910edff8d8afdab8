//! Transitions of everything a filter means.

use chrono::{TimeDelta, Utc};
use jobkit::{CancelCounts, Enqueue, Error, JobFilter, RescheduleCounts, State};

use super::kit::{Desk, HOUR};
use crate::jobs::Noop;

fn ended(counts: CancelCounts) -> [u64; 3] {
    [counts.matched, counts.ended, counts.requested]
}

fn moved(counts: RescheduleCounts) -> [u64; 3] {
    [counts.matched, counts.moved, counts.refused]
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
    let counts = desk.admin.discard_all(&JobFilter::all(), "spring\0 cleaning").await.unwrap();
    assert_eq!(ended(counts), [1_504, 1_494, 10]);
    desk.lab.check_invariants().await;
    let discarded = "jobkit.finished where outcome = 'discard' and reason = 'spring\\0 cleaning'";
    assert_eq!(desk.lab.count(discarded).await, 1_494);
    assert_eq!(desk.lab.value::<i64>("select sum(taken) from jobkit.semaphores").await, 10);
    for job in running {
        desk.settle(n, job, "retry").await;
    }
    assert_eq!(desk.lab.count("jobkit.finished where outcome = 'cancel'").await, 10);
    for table in ["jobs", "permits", "semaphores", "blocked_executions", "ready", "scheduled"] {
        assert_eq!(desk.lab.count(&["jobkit.", table].concat()).await, 0, "{table}");
    }
    let counts = desk.admin.cancel_all(&JobFilter::all()).await.unwrap();
    assert_eq!(ended(counts), [0, 0, 0]);
}

#[tokio::test]
async fn everything_that_waits_moves_and_what_runs_is_refused() {
    let desk = Desk::new().await;
    crowd(&desk).await;
    let tomorrow = Some(Utc::now() + TimeDelta::days(1));
    let counts = desk.admin.reschedule_all(&JobFilter::all(), tomorrow).await.unwrap();
    assert_eq!(moved(counts), [1_504, 1_494, 10]);
    desk.lab.check_invariants().await;
    assert_eq!(desk.lab.count("jobkit.scheduled").await, 1_494);
    assert_eq!(desk.lab.count("jobkit.permits").await, 10);
    let counts = desk.admin.reschedule_all(&JobFilter::all().kind("noop"), None).await.unwrap();
    assert_eq!(moved(counts), [404, 404, 0]);
    desk.lab.check_invariants().await;
    assert_eq!(desk.lab.count("jobkit.ready where kind = 'noop'").await, 404);
}

#[tokio::test]
async fn a_filter_means_what_all_of_it_says() {
    let desk = Desk::new().await;
    crowd(&desk).await;
    let all = JobFilter::all;
    for (filter, matched) in [
        (all().tag("more").kind("pay"), 0),
        (all().tag("mor"), 0),
        (all().state(State::Finished), 0),
        (all().concurrency_group("noop"), 0),
        (all().queue("slow").kind("noop").state(State::Ready), 104),
        (all().tag("more"), 300),
        (all().concurrency_group("pay").concurrency_key("7").state(State::Blocked), 97),
        (all().concurrency_key("7"), 13),
        // Those that the nine accounts left have: two were ready with a permit, ten without.
        (all().state(State::Ready), 9 * 12),
        (all().state(State::Running), 10),
        (all().kind("pay").state(State::Blocked), 9 * 97 - 9 * 2),
    ] {
        let counts = desk.admin.cancel_all(&filter).await.unwrap();
        assert_eq!(counts.matched, matched, "{filter:?}");
        desk.lab.check_invariants().await;
    }
}

#[tokio::test]
async fn what_is_not_meant_stays_as_it_is() {
    let desk = Desk::new().await;
    let (n, job) = desk.running("a").await;
    let next = desk.blocked("a").await;
    let other = desk.pay_later("b").await;
    let counts = desk.admin.cancel_all(&JobFilter::all().state(State::Ready)).await.unwrap();
    assert_eq!(ended(counts), [0, 0, 0]);
    let counts = desk.admin.cancel_all(&JobFilter::all().concurrency_key("b")).await.unwrap();
    assert_eq!(ended(counts), [1, 1, 0]);
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
    for filter in [
        JobFilter::all().kind(""),
        JobFilter::all().queue(&*long),
        JobFilter::all().concurrency_group(&*long),
        JobFilter::all().concurrency_key("x".repeat(513)),
        JobFilter::all().tag(&*long),
    ] {
        let error = desk.admin.cancel_all(&filter).await.unwrap_err();
        assert!(matches!(error, Error::Length { .. }), "{error}");
        let error = desk.admin.reschedule_all(&filter, None).await.unwrap_err();
        assert!(matches!(error, Error::Length { .. }), "{error}");
    }
    let nul = JobFilter::all().concurrency_key("a\0");
    let error = desk.admin.discard_all(&nul, "").await.unwrap_err();
    assert!(matches!(error, Error::Nul { what: "concurrency key" }), "{error}");
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
    let ready = JobFilter::all().concurrency_key("a").state(State::Ready);
    let counts = desk.admin.discard_all(&ready, "leaked").await.unwrap();
    assert_eq!(ended(counts), [5, 5, 0]);
    for job in &jobs[5..] {
        assert_eq!(desk.place(*job).await, "ready with a permit");
    }
    desk.lab.check_invariants().await;
    let counts = desk.admin.discard_all(&ready, "leaked").await.unwrap();
    assert_eq!(ended(counts), [3, 3, 0]);
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
    let counts = desk.admin.cancel_all(&JobFilter::all().tag("rare")).await.unwrap();
    assert_eq!(ended(counts), [3, 3, 0]);
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
    let counts = desk.admin.cancel_all(&JobFilter::all().tag("rare")).await.unwrap();
    assert_eq!(ended(counts), [120, 120, 0]);
    desk.hang_up().await;
    let rows = desk.lab.value::<i64>(read).await - before;
    assert!(rows < 2_000, "{rows} rows were read for 120");
    desk.lab.check_invariants().await;
}
