//! Bounds of backlogs: who is refused, how late, and who is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use jobkit::admin::limits::{Change, Limited, To};
use jobkit::enqueue::EnqueueError;
use jobkit::error::QueueFull;
use jobkit::policy::QueueLimit;
use jobkit::unique::OnDuplicate;
use jobkit::{Admin, Enqueue};
use jobkit_tests::Lab;
use tokio::task::JoinSet;

use crate::jobs::{self, Act, EFFECTS, Noop, Then};

/// The queue that is full, how many wait and how many may.
fn full<T: std::fmt::Debug>(enqueued: Result<T, EnqueueError>) -> (String, u32, u32) {
    match enqueued {
        Err(EnqueueError::QueueFull(QueueFull { queue, waiting, limit, .. })) => {
            (queue, waiting, limit)
        }
        other => panic!("{other:?}"),
    }
}

async fn look(lab: &Lab) {
    let queues = lab.value::<i32>("select jobkit.look_at_bounds('default')").await;
    assert_eq!(queues, 1);
}

#[tokio::test]
async fn enqueues_to_a_full_queue_are_refused_and_store_nothing() {
    let lab = Lab::guarded().await;
    let admin = Admin::new(lab.pool());
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts)
        values ('noop', 'default', 0, 3)",
    )
    .await;
    let limited = admin.queue("default").set(&Change::new().waiting(5)).await.unwrap();
    assert_eq!(limited, Limited::Changed);
    jobkit::enqueue_all((0..4).map(|_| Noop), lab.pool()).await.unwrap();
    let held = Noop.options().unique_key("held").enqueue_unique(lab.pool()).await.unwrap();
    look(&lab).await;
    let is_full = ("default".to_owned(), 5, 5);
    assert_eq!(full(Noop.enqueue(lab.pool()).await), is_full);
    let later = Noop.options().after(Duration::from_secs(60));
    assert_eq!(full(later.enqueue(lab.pool()).await), is_full);
    let mixed = ["other", "default"].map(|queue| Noop.options().queue(queue));
    assert_eq!(full(jobkit::enqueue_all(mixed, lab.pool()).await), is_full);
    let unique = |key: &str| Noop.options().unique_key(key);
    assert_eq!(full(unique("new").enqueue_unique(lab.pool()).await), is_full);
    let both = jobkit::enqueue_all([unique("a"), unique("b")], lab.pool());
    assert_eq!(full(both.await), is_full);
    let coalescing = Noop.options().coalesce_key("a");
    assert_eq!(full(coalescing.enqueue(lab.pool()).await), is_full);
    let refused = sqlx::query("select jobkit.enqueue('noop', 'null')").execute(lab.pool()).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.as_database_error().unwrap().code().as_deref(), Some("JK009"));
    assert!(admin.enqueue("noop", serde_json::Value::Null).await.is_err());
    // Where nothing is added nothing is refused.
    let again = unique("held").on_duplicate(OnDuplicate::Skip).enqueue_unique(lab.pool()).await;
    assert_eq!(again.unwrap().id(), held.id());
    Noop.options().queue("other").enqueue(lab.pool()).await.unwrap();
    assert_eq!(lab.count("jobkit.jobs").await, 6);
    assert_eq!(lab.count("jobkit.unique_keys").await, 1);
    let queue = admin.queues().await.unwrap().remove(0);
    let waiting = queue.waiting.unwrap();
    assert_eq!((waiting.most, waiting.counted, waiting.full_since.is_some()), (5, 5, true));
    let acts = "(select array_agg(detail order by id) from jobkit.audit where action = 'limit')";
    let first: serde_json::Value = lab.value(&format!("select {acts}[1]")).await;
    assert_eq!(first, serde_json::json!({"before": {}, "after": {"waiting": 5}}));
    // The limit goes, and so does the refusal.
    let _ = admin.queue("default").set(&Change::new().waiting(To::Reset)).await.unwrap();
    Noop.enqueue(lab.pool()).await.unwrap();
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_full_queue_takes_what_is_stored_already_and_schedules() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let admin = Admin::new(lab.pool());
    jobkit::enqueue_all((0..3).map(|_| Act::then(Then::FailTimes(1))), lab.pool()).await.unwrap();
    Act::then(Then::SnoozeTimes(1)).enqueue(lab.pool()).await.unwrap();
    let dead = Act::then(Then::Dead).enqueue(lab.pool()).await.unwrap();
    let _ = admin.queue("default").set(&Change::new().waiting(1)).await.unwrap();
    assert_eq!(full(Noop.enqueue(lab.pool()).await).0, "default");
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).queue("default", 5);
    let worker = worker.start().await.unwrap();
    // Retries and the snooze go back to a queue that is full for all that enqueues know.
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.run(
        "update jobkit.bounds set full_since = clock_timestamp(), open_until = '-infinity',
        looked_at = clock_timestamp(), next_look = 'infinity'",
    )
    .await;
    assert_eq!(full(Noop.enqueue(lab.pool()).await).0, "default");
    let letters = lab.value::<i64>("select id from jobkit.dead_letters").await;
    let letter = jobkit::admin::dead_letters::DeadLetterId(letters);
    admin.dead_letter(letter).replay().await.unwrap();
    lab.run(
        "insert into jobkit.schedules (name, times, catch_up, catch_up_max, catch_up_window,
            overlap, jitter, kind, queue, priority, max_attempts, args)
        values ('s', '0 3 * * *', 'none', 1, '1 h', 'allow', '0', 'noop', 'default', 0, 1, 'null')",
    )
    .await;
    lab.run("select jobkit.enqueue_scheduled('{s}', array[now()])").await;
    assert_eq!(lab.count("jobkit.ready where queue = 'default'").await, 2, "{dead:?}");
    lab.check_invariants().await;
}

/// It is full at the bound, and open again when a tenth is free.
#[tokio::test]
async fn a_queue_opens_again_when_a_tenth_is_free() {
    let lab = Lab::guarded().await;
    let admin = Admin::new(lab.pool());
    let _ = admin.queue("default").set(&Change::new().waiting(20)).await.unwrap();
    jobkit::enqueue_all((0..20).map(|_| Noop), lab.pool()).await.unwrap();
    look(&lab).await;
    for (left, is_full) in [(20, true), (19, true), (18, false), (19, false), (20, true)] {
        let there = lab.count("jobkit.ready").await;
        if there < left {
            lab.run("update jobkit.bounds set open_until = clock_timestamp() + interval '5 s'")
                .await;
            Noop.enqueue(lab.pool()).await.unwrap();
        }
        let surplus = (there - left).max(0);
        lab.run(&format!(
            "with gone as (delete from jobkit.ready where job_id in (
            select job_id from jobkit.ready order by job_id limit {surplus}) returning job_id)
            delete from jobkit.jobs where id in (select job_id from gone)"
        ))
        .await;
        look(&lab).await;
        let found: bool = lab.value("select full_since is not null from jobkit.bounds").await;
        assert_eq!(found, is_full, "{left}");
    }
    lab.check_invariants().await;
}

/// Nobody looks where no worker runs: enqueues count themselves once the last look is five seconds
/// old.
#[tokio::test]
async fn a_bound_holds_without_workers() {
    let lab = Lab::guarded().await;
    let _ = Admin::new(lab.pool()).queue("default").set(&Change::new().waiting(3)).await.unwrap();
    lab.run(
        "update jobkit.bounds set looked_at = looked_at - interval '6 s',
        open_until = open_until - interval '6 s'",
    )
    .await;
    for _ in 0..3 {
        Noop.enqueue(lab.pool()).await.unwrap();
    }
    assert_eq!(full(Noop.enqueue(lab.pool()).await), ("default".to_owned(), 3, 3));
    // Nor does one in a transaction that others would fail for.
    let mut tx = lab.pool().begin().await.unwrap();
    sqlx::query("set transaction isolation level serializable").execute(&mut *tx).await.unwrap();
    Noop.enqueue(&mut *tx).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(lab.count("jobkit.jobs").await, 3);
    lab.check_invariants().await;
}

/// Enqueues ask nothing before there was a bound; the next statement after the first one asks, also
/// where it was prepared before, and in a transaction that was open.
#[tokio::test]
async fn the_first_bound_holds_for_the_next_statement_of_an_open_transaction() {
    let lab = Lab::guarded().await;
    let called = "select pg_sequence_last_value('jobkit.bounds_id_seq') is not null";
    let mut tx = lab.pool().begin().await.unwrap();
    Noop.enqueue(&mut *tx).await.unwrap();
    Noop.enqueue(lab.pool()).await.unwrap();
    assert!(!lab.value::<bool>(called).await);
    let _ = Admin::new(lab.pool()).queue("default").set(&Change::new().waiting(1)).await.unwrap();
    assert!(lab.value::<bool>(called).await);
    assert_eq!(full(Noop.enqueue(&mut *tx).await), ("default".to_owned(), 1, 1));
    tx.rollback().await.unwrap();
    lab.run("delete from jobkit.bounds").await;
    Noop.enqueue(lab.pool()).await.unwrap();
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn code_bounds_a_backlog_and_an_operator_goes_before_it() {
    let lab = Lab::guarded().await;
    let admin = Admin::new(lab.pool());
    let start = || {
        lab.worker()
            .state(lab.pool().clone())
            .jobs(jobs::all())
            .queue("idle", 1)
            .limit_queue("default", QueueLimit::new().waiting(2))
            .start()
    };
    let worker = start().await.unwrap();
    let bound = || async {
        let queues = admin.queues().await.unwrap();
        let queue = queues.into_iter().find(|queue| queue.queue == "default");
        queue.and_then(|queue| queue.waiting).map(|waiting| waiting.most)
    };
    assert_eq!(bound().await, Some(2));
    let _ = admin.queue("default").set(&Change::new().waiting(3)).await.unwrap();
    worker.stop().await;
    let worker = start().await.unwrap();
    assert_eq!(bound().await, Some(3));
    jobkit::enqueue_all((0..3).map(|_| Noop), lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.bounds where full_since is not null)").await;
    assert_eq!(full(Noop.enqueue(lab.pool()).await), ("default".to_owned(), 3, 3));
    let _ = admin.queue("default").set(&Change::new().waiting(To::NoLimit)).await.unwrap();
    assert_eq!(bound().await, None);
    worker.stop().await;
    lab.check_invariants().await;
}

/// Sixteen producers against a bound: each enqueue is stored or refused, and what is stored beyond
/// the bound was sent before the look that found it, a second after the one before.
#[tokio::test(flavor = "multi_thread")]
async fn the_overshoot_of_many_producers_ends_with_the_next_look() {
    let lab = Lab::guarded().await;
    let worker = lab
        .worker()
        .state(lab.pool().clone())
        .jobs(jobs::all())
        .queue("idle", 1)
        .limit_queue("default", QueueLimit::new().waiting(200));
    let worker = worker.start().await.unwrap();
    let (stored, refused) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let end = Arc::new(AtomicBool::new(false));
    let mut producers = JoinSet::new();
    for _ in 0..16 {
        let (pool, end) = (lab.pool().clone(), Arc::clone(&end));
        let (stored, refused) = (Arc::clone(&stored), Arc::clone(&refused));
        producers.spawn(async move {
            while !end.load(Ordering::Relaxed) {
                match Noop.enqueue(&pool).await {
                    Ok(_) => stored.fetch_add(1, Ordering::Relaxed),
                    Err(EnqueueError::QueueFull(_)) => refused.fetch_add(1, Ordering::Relaxed),
                    Err(error) => panic!("{error}"),
                };
            }
        });
    }
    lab.until(
        "exists (select from jobkit.bounds where full_since < clock_timestamp() - interval '1 s')",
    )
    .await;
    end.store(true, Ordering::Relaxed);
    while let Some(ended) = producers.join_next().await {
        ended.unwrap();
    }
    assert!(refused.load(Ordering::Relaxed) > 0);
    assert_eq!(lab.count("jobkit.jobs").await, stored.load(Ordering::Relaxed));
    let late = "jobkit.jobs j, jobkit.bounds b where j.created_at > b.full_since + interval '1 s'";
    assert_eq!(lab.count(late).await, 0, "enqueued after it was full");
    // Two looks lie a second apart, and some on a machine that is busy.
    let early = "jobkit.jobs j, jobkit.bounds b where j.created_at < b.full_since - interval '6 s'";
    assert!(lab.count(early).await < 200, "it was full long before");
    worker.stop().await;
    lab.check_invariants().await;
}
