//! No producer holds a job back: of a unique key whose job has been due for long enough, what comes
//! next follows that job instead of holding it.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use jobkit_tests::Lab;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::Semaphore;

use super::calls::{Once, claim, enqueue, enqueue_unique, pause, promote, reschedule, settle};
use super::kit::{ENDS, End, World, next_n};
use super::unique::{id, once, payload};
use crate::clock::step_back;

in_a_lab![
    t260_no_stream_of_producers_holds_a_job_back,
    t261_what_comes_late_follows_and_holds_nothing,
    t261_an_end_behind_a_late_duplicate_lets_it_run_soon,
    t262_those_that_skip_hold_the_one_that_follows_together,
    t263_a_late_job_in_other_hands_is_not_waited_for,
    t263_a_late_job_that_nobody_has_is_changed,
    t264_where_none_may_follow_a_late_job_is_not_held,
    t267_after_a_step_back_of_the_clock_nobody_holds_a_job,
    a_later_attempt_is_late_by_its_own_time,
    a_job_whose_turn_has_not_come_is_held,
    a_job_that_had_its_key_while_queued_is_followed_once_it_runs,
];

/// So long this job, which waits, has been due already.
pub(super) async fn late(world: &World, job: i64) {
    let before = "run_at = run_at - interval '10 s'";
    world
        .lab
        .run(&format!(
            "update jobkit.scheduled set {before} where job_id = {job};
            update jobkit.jobs set {before}, due_since = due_since - interval '10 s'
            where id = {job}"
        ))
        .await;
}

pub(super) fn duplicate(holds: &'static str, on_duplicate: &'static str, payload: i32) -> String {
    enqueue_unique(&[Once { holds, on_duplicate, payload, ..Once::of("k") }])
}

pub(super) fn sweep() -> String {
    "select (jobkit.sweep_begin('0 s')).due::text".to_owned()
}

/// T260: with N producers whose transactions overlap at any moment.
pub(crate) async fn t260_no_stream_of_producers_holds_a_job_back(lab: Lab) {
    let world = World::new(lab).await;
    world.lab.mutate("key_holder", "interval '5 seconds'", "interval '300 ms'").await;
    for (holds, on_duplicate, at_least) in [
        ("unfinished", "skip", "null"),
        ("running", "skip", "null"),
        ("queued", "skip", "null"),
        ("unfinished", "skip", "1 hour"),
        ("unfinished", "replace", "null"),
        ("queued", "replace", "null"),
        ("running", "replace", "1 hour"),
        ("unfinished", "run_again", "null"),
        ("unfinished", "debounce", "null"),
    ] {
        let job = Once { holds, on_duplicate, at_least, ..Once::of("k") };
        let first = id(&world.call(enqueue_unique(&[job])).await);
        let (ran, enqueued) = (AtomicBool::new(false), Semaphore::new(0));
        let call = enqueue_unique(&[job]);
        let producers = (0..6).map(|at| produce(&world, at, &call, &ran, &enqueued));
        let claimed = async {
            // From now on one of them or the other has it in hand.
            drop(enqueued.acquire_many(8).await.unwrap());
            let begun = Instant::now();
            while world.call(claim(1, next_n(), 9)).await.is_empty() {
                let waited = begun.elapsed();
                assert!(waited < Duration::from_secs(10), "{job:?}: {waited:?}");
            }
            ran.store(true, Ordering::Relaxed);
        };
        tokio::join!(claimed, all(producers));
        assert!(world.place(first).await.starts_with("running"), "{job:?}");
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// All at a time.
async fn all(futures: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut futures: Vec<_> = futures.map(Box::pin).collect();
    poll_fn(|cx| {
        futures.retain_mut(|future| future.as_mut().poll(cx).is_pending());
        if futures.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Enqueues a duplicate in one transaction of a tenth of a second after another, until told.
async fn produce(world: &World, at: u32, call: &str, ran: &AtomicBool, enqueued: &Semaphore) {
    let mut session: PgConnection = world.lab.session("producer").await.connection;
    let begin = format!("select pg_sleep({})", f64::from(at) / 60.0);
    sqlx::query(AssertSqlSafe(begin)).execute(&mut session).await.unwrap();
    while !ran.load(Ordering::Relaxed) {
        let mut tx = session.begin().await.unwrap();
        sqlx::query(AssertSqlSafe(call.to_owned())).execute(&mut *tx).await.unwrap();
        enqueued.add_permits(1);
        sqlx::query("select pg_sleep(0.1)").execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
    }
}

/// T261: it runs after the caller's commit, whatever becomes of the late one; after a rollback
/// nothing does.
pub(crate) async fn t261_what_comes_late_follows_and_holds_nothing(lab: Lab) {
    let world = World::new(lab).await;
    for holds in ["queued", "running", "unfinished"] {
        for delay in ["null", "1 ms"] {
            for end in ENDS {
                let first = Once { holds, delay, ..Once::of("k") };
                let job = id(&world.call(enqueue_unique(&[first])).await);
                late(&world, job).await;
                let producer = world.hold(duplicate(holds, "skip", 1)).await;
                let follower = id(&producer.answer);
                assert_eq!(producer.answer, format!("enqueued {follower}"), "{holds}");
                producer.bystander(promote(9)).await;
                let n = next_n();
                assert_eq!(producer.bystander(claim(1, n, 9)).await, job.to_string());
                producer.end(end).await;
                world.lab.check_invariants().await;
                assert_eq!(world.call(settle(1, n, job, "finish")).await, "");
                let runs = end.either(follower.to_string(), String::new());
                assert_eq!(world.call(claim(1, next_n(), 9)).await, runs, "{holds}");
                world.lab.check_invariants().await;
                world.clear().await;
            }
        }
    }
}

/// Claimed and ended while the producer is about it.
pub(crate) async fn t261_an_end_behind_a_late_duplicate_lets_it_run_soon(lab: Lab) {
    let world = World::new(lab).await;
    for holds in ["queued", "running", "unfinished"] {
        for outcome in ["finish", "retry", "bury"] {
            let job = id(&world.call(duplicate(holds, "skip", 0)).await);
            late(&world, job).await;
            let producer = world.hold(duplicate(holds, "skip", 1)).await;
            let follower = id(&producer.answer);
            let n = next_n();
            assert_eq!(producer.bystander(claim(1, n, 9)).await, job.to_string());
            if outcome != "retry" || holds != "queued" {
                assert_eq!(producer.bystander(settle(1, n, job, outcome)).await, "");
            }
            producer.end(End::Commit).await;
            if outcome == "retry" && holds == "queued" {
                // Its key is for the one that follows, which does what it would do again.
                let ended = world.call(settle(1, n, job, "retry")).await;
                assert_eq!(ended, format!("{job} supersede"));
            }
            world.call(sweep()).await;
            let again = outcome == "retry" && holds != "queued";
            let runs = if again { String::new() } else { follower.to_string() };
            assert_eq!(world.call(claim(1, next_n(), 9)).await, runs, "{holds} {outcome}");
            world.lab.check_invariants().await;
            world.clear().await;
            world.lab.run("delete from jobkit.dead_letters").await;
        }
    }
}

/// T262: none waits for the others, and the one that follows begins after all of them.
pub(crate) async fn t262_those_that_skip_hold_the_one_that_follows_together(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(once("k")).await);
        late(&world, job).await;
        let first = world.hold(once("k")).await;
        let follower = id(&first.answer);
        let second = first.waiter(once("k")).await;
        first.end(End::Commit).await;
        assert_eq!(second.answer().await.unwrap(), format!("existing {follower}"));
        let third = world.hold(once("k")).await;
        assert_eq!(third.answer, format!("existing {follower}"));
        assert_eq!(third.bystander(once("k")).await, format!("existing {follower}"));
        let n = next_n();
        assert_eq!(third.bystander(claim(1, n, 9)).await, job.to_string());
        assert_eq!(third.bystander(settle(1, n, job, "finish")).await, "");
        assert_eq!(third.bystander(sweep()).await, "false");
        assert_eq!(third.bystander(claim(1, next_n(), 9)).await, "");
        third.end(end).await;
        world.call(sweep()).await;
        assert_eq!(world.call(claim(1, next_n(), 9)).await, follower.to_string());
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// T263: the newest payload runs last, whoever has the job or had it a moment ago.
pub(crate) async fn t263_a_late_job_in_other_hands_is_not_waited_for(lab: Lab) {
    let world = World::new(lab).await;
    for holds in ["queued", "running", "unfinished"] {
        let job = id(&world.call(duplicate(holds, "skip", 0)).await);
        let holder = world.hold(duplicate(holds, "skip", 0)).await;
        late(&world, job).await;
        let follower = id(&holder.bystander(duplicate(holds, "replace", 1)).await);
        assert_ne!(follower, job);
        let replaced = format!("replaced {follower}");
        assert_eq!(holder.bystander(duplicate(holds, "replace", 2)).await, replaced);
        holder.end(End::Commit).await;
        assert_eq!(world.call(duplicate(holds, "replace", 3)).await, replaced);
        let debounced = world.call(duplicate(holds, "debounce", 4)).await;
        assert_eq!(debounced, format!("existing {follower}"));
        let n = world.claim(1, &[job]).await;
        assert_eq!(payload(&world, job).await, "0");
        world.call(settle(1, n, job, "finish")).await;
        let n = world.claim(1, &[follower]).await;
        assert_eq!(payload(&world, follower).await, "3");
        world.call(settle(1, n, follower, "finish")).await;

        // Changed again and again: it has been due all the time.
        let job = id(&world.call(duplicate(holds, "skip", 0)).await);
        assert_eq!(
            world.call(duplicate(holds, "replace", 1)).await,
            format!("replaced {job}"),
            "{holds}"
        );
        world.lab.run("update jobkit.jobs set due_since = due_since - interval '10 s'").await;
        let follower = id(&world.call(duplicate(holds, "replace", 2)).await);
        assert_ne!(follower, job);
        world.claim(1, &[job]).await;
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// However long it has waited for its turn.
pub(crate) async fn t263_a_late_job_that_nobody_has_is_changed(lab: Lab) {
    let world = World::new(lab).await;
    for holds in ["queued", "running", "unfinished"] {
        for on_duplicate in ["replace", "debounce"] {
            let job = id(&world.call(duplicate(holds, "skip", 0)).await);
            for since in ["run_at", "due_since"] {
                late(&world, job).await;
                let again = duplicate(holds, on_duplicate, 1);
                assert_eq!(world.call(again).await, format!("replaced {job}"), "{since}");
            }
            let earlier = "jobkit.jobs where run_at > due_since + interval '19 s'";
            assert_eq!(world.lab.count(earlier).await, 1);
            world.claim(1, &[job]).await;
            world.lab.check_invariants().await;
            world.clear().await;
        }
    }
}

/// T264: `unique_for` says how often there is one: none follows, and what comes late is told of the
/// job as it would be a moment later.
pub(crate) async fn t264_where_none_may_follow_a_late_job_is_not_held(lab: Lab) {
    let world = World::new(lab).await;
    for holds in ["queued", "running", "unfinished"] {
        for on_duplicate in ["skip", "replace"] {
            let kept = Once { holds, on_duplicate, at_least: "1 hour", ..Once::of("k") };
            let job = id(&world.call(enqueue_unique(&[kept])).await);
            let holder = world.hold(duplicate(holds, "skip", 0)).await;
            late(&world, job).await;
            let existing = format!("existing {job}");
            assert_eq!(holder.bystander(enqueue_unique(&[kept])).await, existing, "{holds}");
            holder.end(End::Rollback).await;
            let second = world.hold(duplicate(holds, "skip", 0)).await;
            assert_eq!(second.answer, existing);
            let n = next_n();
            assert_eq!(second.bystander(claim(1, n, 9)).await, job.to_string());
            second.end(End::Commit).await;
            world.call(settle(1, n, job, "finish")).await;
            assert_eq!(world.call(enqueue_unique(&[kept])).await, existing);
            assert_eq!(world.lab.count("jobkit.jobs").await, 0);
            world.lab.check_invariants().await;
            world.clear().await;
        }
    }
}

/// T267: what is ready is due, whatever its time says; and the next change gives it a right one.
pub(crate) async fn t267_after_a_step_back_of_the_clock_nobody_holds_a_job(lab: Lab) {
    let world = World::new(lab).await;
    for by in ["1 hour", "1 day"] {
        for holds in ["queued", "running", "unfinished"] {
            for changed in [false, true] {
                let job = id(&world.call(duplicate(holds, "skip", 0)).await);
                if changed {
                    world.call(duplicate(holds, "replace", 1)).await;
                }
                step_back(&world.lab, by).await;
                let producer = world.hold(duplicate(holds, "skip", 2)).await;
                let follower = id(&producer.answer);
                assert_eq!(producer.answer, format!("enqueued {follower}"), "{by} {holds}");
                let n = next_n();
                assert_eq!(producer.bystander(claim(1, n, 9)).await, job.to_string());
                producer.end(End::Commit).await;
                assert_eq!(world.call(settle(1, n, job, "finish")).await, "");
                world.claim(1, &[follower]).await;
                world.lab.check_invariants().await;
                world.clear().await;
            }
            let job = id(&world.call(duplicate(holds, "replace", 0)).await);
            for payload in 1..3 {
                world.call(duplicate(holds, "replace", 0)).await;
                step_back(&world.lab, by).await;
                let again = world.call(duplicate(holds, "replace", payload)).await;
                assert_eq!(again, format!("replaced {job}"), "{by} {holds}");
                let ahead = "jobkit.jobs where greatest(run_at, due_since) > clock_timestamp()";
                assert_eq!(world.lab.count(ahead).await, 0, "{by} {holds}");
            }
            world.lab.check_invariants().await;
            world.clear().await;
        }
    }
}

/// Not by the one before, however long duplicates changed it then.
pub(crate) async fn a_later_attempt_is_late_by_its_own_time(lab: Lab) {
    let world = World::new(lab).await;
    for end in ["retry", "snooze", "crash", "reschedule"] {
        let job = id(&world.call(once("k")).await);
        world.call(duplicate("unfinished", "replace", 1)).await;
        late(&world, job).await;
        if end == "reschedule" {
            assert_eq!(world.call(reschedule(&[job], "'0'")).await, job.to_string());
        } else {
            let n = world.claim(1, &[job]).await;
            match end {
                "crash" => world.crash(1, n).await,
                _ => drop(world.call(settle(1, n, job, end)).await),
            }
            world.an_hour_later().await;
        }
        assert_eq!(world.call(once("k")).await, format!("existing {job}"), "{end}");
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// Behind another of its kind, in a paused queue, or where nobody serves it: nothing is gained by
/// another job.
pub(crate) async fn a_job_whose_turn_has_not_come_is_held(lab: Lab) {
    let world = World::new(lab).await;
    for why in ["behind", "paused", "unserved", "not yet"] {
        if why == "behind" {
            world.call(enqueue(1)).await;
        }
        let job = id(&world.call(once("k")).await);
        if why != "not yet" {
            late(&world, job).await;
        }
        match why {
            "paused" => drop(world.call(pause("default")).await),
            "unserved" => world.lab.run("update jobkit.workers set stopping = true").await,
            _ => {}
        }
        let producer = world.hold(once("k")).await;
        assert_eq!(producer.answer, format!("existing {job}"), "{why}");
        producer.end(End::Commit).await;
        world
            .lab
            .run(
                "delete from jobkit.limits where scope = 'queue';
                update jobkit.workers set stopping = false",
            )
            .await;
        world.clear().await;
    }
}

/// It need not wait until that has ended, since a new one would not.
pub(crate) async fn a_job_that_had_its_key_while_queued_is_followed_once_it_runs(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(duplicate("queued", "skip", 0)).await);
    late(&world, job).await;
    let follower = id(&world.call(duplicate("queued", "skip", 1)).await);
    world.call(sweep()).await;
    world.expect(follower, "scheduled, charged 0").await;
    let n = world.claim(1, &[job]).await;
    world.call(sweep()).await;
    world.claim(2, &[follower]).await;
    // And without a sweep, by the next one.
    assert_eq!(world.call(settle(1, n, job, "finish")).await, "");
    world.lab.check_invariants().await;
    world.clear().await;
    let job = id(&world.call(duplicate("queued", "skip", 0)).await);
    late(&world, job).await;
    let follower = id(&world.call(duplicate("queued", "skip", 1)).await);
    world.claim(1, &[job]).await;
    assert_eq!(world.call(duplicate("queued", "skip", 2)).await, format!("existing {follower}"));
    world.claim(2, &[follower]).await;
    world.lab.check_invariants().await;
}
