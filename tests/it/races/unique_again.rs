//! Unique keys whose duplicates run again after the job that has the key.

use jobkit_tests::Lab;

use super::calls::{Once, cancel_mark, cancel_take, claim, enqueue_unique, reschedule, settle};
use super::kit::{ENDS, End, World, next_n};
use super::unique::{id, once, payload};

in_a_lab![
    whatever_ends_a_job_lets_one_run_again,
    while_a_job_waits_it_is_changed,
    of_those_that_run_again_one_waits_for_the_other,
    of_two_that_would_follow_one_does,
    an_end_behind_an_open_duplicate_lets_it_run_soon,
    a_duplicate_finds_one_whose_turn_came_unnoticed,
    one_that_is_cancelled_does_not_follow,
    a_change_behind_a_cancel_of_the_one_that_follows_is_not_lost,
    one_that_follows_is_not_rescheduled,
    a_producer_that_dies_leaves_the_key_as_it_was,
    t171_those_that_follow_are_looked_through_some_at_a_time,
    t171_one_that_fails_holds_up_none_behind_it,
];

pub(super) fn again(payload: i32) -> String {
    duplicate("run_again", payload)
}

pub(super) fn duplicate(on_duplicate: &'static str, payload: i32) -> String {
    enqueue_unique(&[Once { on_duplicate, payload, ..Once::of("k") }])
}

fn sweep() -> String {
    "select (jobkit.sweep_begin('0 s')).due::text".to_owned()
}

/// Exactly one, with the newest payload, once it has ended: not between two attempts.
pub(crate) async fn whatever_ends_a_job_lets_one_run_again(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["finish", "bury", "discard", "cancel", "mark", "retry", "crash"] {
        let job = id(&world.call(again(0)).await);
        let n = world.claim(1, &[job]).await;
        let follower = id(&world.call(again(1)).await);
        assert_ne!(follower, job);
        assert_eq!(world.call(again(2)).await, format!("replaced {follower}"));
        assert_eq!(world.call(once("k")).await, format!("existing {job}"));
        assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
        world.lab.check_invariants().await;
        match outcome {
            "mark" => {
                assert_eq!(world.call(cancel_mark(job)).await, "true");
                assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
                assert_eq!(world.call(settle(1, n, job, "retry")).await, format!("{job} cancel"));
            }
            "crash" => world.crash(1, n).await,
            _ => assert_eq!(world.call(settle(1, n, job, outcome)).await, ""),
        }
        if matches!(outcome, "retry" | "crash") {
            world.expect(follower, "scheduled, charged 0").await;
            assert_eq!(world.call(duplicate("debounce", 3)).await, format!("replaced {job}"));
            let n = world.claim(1, &[job]).await;
            assert_eq!(world.call(settle(1, n, job, "finish")).await, "");
        }
        let n = next_n();
        assert_eq!(world.call(claim(2, n, 9)).await, follower.to_string(), "{outcome}");
        assert_eq!(payload(&world, follower).await, "2");
        world.lab.check_invariants().await;
        assert_eq!(world.call(settle(2, n, follower, "finish")).await, "");
        world.call(sweep()).await;
        assert!(world.call(again(4)).await.starts_with("enqueued"), "{outcome}");
        world.clear().await;
        world.lab.run("delete from jobkit.dead_letters").await;
    }
}

pub(crate) async fn while_a_job_waits_it_is_changed(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(again(0)).await);
    assert_eq!(world.call(again(1)).await, format!("replaced {job}"));
    assert_eq!(payload(&world, job).await, "1");
    assert_eq!(world.lab.count("jobkit.jobs").await, 1);
    // Of another kind, and the key is of both.
    let other = Once { kind: "other", on_duplicate: "run_again", ..Once::of("k") };
    assert_eq!(world.call(enqueue_unique(&[other])).await, format!("existing {job}"));
    world.claim(1, &[job]).await;
    let follower = id(&world.call(again(2)).await);
    assert_eq!(world.call(enqueue_unique(&[other])).await, format!("existing {follower}"));
    world.lab.check_invariants().await;
}

pub(crate) async fn of_those_that_run_again_one_waits_for_the_other(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(again(0)).await);
        world.claim(1, &[job]).await;
        let first = world.hold(again(1)).await;
        let follower = id(&first.answer);
        let second = first.waiter(again(2)).await;
        first.end(end).await;
        let answer = second.answer().await.unwrap();
        assert_eq!(answer == format!("replaced {follower}"), end == End::Commit, "{answer}");
        assert_eq!(answer.starts_with("enqueued"), end == End::Rollback, "{answer}");
        assert_eq!(payload(&world, id(&answer)).await, "2");
        assert_eq!(world.lab.count("jobkit.jobs").await, 2);
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// Both have seen that nobody follows yet.
pub(crate) async fn of_two_that_would_follow_one_does(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(again(0)).await);
    world.claim(1, &[job]).await;
    let look = "select j.kind into v_kind";
    let stop = format!("perform pg_advisory_xact_lock_shared(1); {look}");
    world.lab.mutate("take_last", look, &stop).await;
    let stop = world.hold("select pg_advisory_xact_lock(1)::text".to_owned()).await;
    let first = stop.waiter(again(1)).await;
    let second = first.waiter(again(2)).await;
    stop.end(End::Commit).await;
    let follower = id(&first.answer().await.unwrap());
    assert_eq!(second.answer().await.unwrap(), format!("replaced {follower}"));
    world.lab.check_invariants().await;
}

/// The worker does not wait for the producer, and passes over the key: the sweep finds who follows.
pub(crate) async fn an_end_behind_an_open_duplicate_lets_it_run_soon(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(again(0)).await);
        let n = world.claim(1, &[job]).await;
        let producer = world.hold(again(1)).await;
        let follower = id(&producer.answer);
        assert_eq!(producer.bystander(settle(1, n, job, "finish")).await, "");
        assert_eq!(producer.bystander(sweep()).await, "false");
        producer.end(end).await;
        assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
        world.call(sweep()).await;
        let expected = end.either(follower.to_string(), String::new());
        assert_eq!(world.call(claim(2, next_n(), 9)).await, expected);
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// The next one of the key need not wait for the sweep.
pub(crate) async fn a_duplicate_finds_one_whose_turn_came_unnoticed(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(again(0)).await);
    let n = world.claim(1, &[job]).await;
    let producer = world.hold(again(1)).await;
    let follower = id(&producer.answer);
    assert_eq!(producer.bystander(settle(1, n, job, "finish")).await, "");
    producer.end(End::Commit).await;
    assert_eq!(world.call("select jobkit.prune_keys(9)::text".to_owned()).await, "0");
    let next = world.hold(again(2)).await;
    assert_eq!(next.answer, format!("replaced {follower}"));
    assert_eq!(next.bystander(sweep()).await, "false");
    next.end(End::Commit).await;
    assert_eq!(world.call(claim(2, next_n(), 9)).await, follower.to_string());
    assert_eq!(payload(&world, follower).await, "2");
    world.lab.check_invariants().await;
}

pub(crate) async fn one_that_is_cancelled_does_not_follow(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(again(0)).await);
    let n = world.claim(1, &[job]).await;
    let cancelled = id(&world.call(again(1)).await);
    // While it is being cancelled the end of the other one waits for nobody.
    world.call(cancel_mark(cancelled)).await;
    let follower = id(&world.call(again(2)).await);
    assert_ne!(follower, cancelled);
    assert_eq!(world.call(cancel_take(cancelled)).await, "true");
    world.expect(cancelled, "cancel").await;
    let cancel = world.hold(cancel_mark(follower)).await;
    assert_eq!(cancel.bystander(settle(1, n, job, "finish")).await, "");
    cancel.end(End::Rollback).await;
    world.call(sweep()).await;
    assert_eq!(world.call(claim(2, next_n(), 9)).await, follower.to_string());
    world.lab.check_invariants().await;
}

/// It waits for the mark, and another one follows.
pub(crate) async fn a_change_behind_a_cancel_of_the_one_that_follows_is_not_lost(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(again(0)).await);
        world.claim(1, &[job]).await;
        let follower = id(&world.call(again(1)).await);
        let cancel = world.hold(cancel_mark(follower)).await;
        let change = cancel.waiter(again(2)).await;
        cancel.end(end).await;
        let answer = change.answer().await.unwrap();
        assert_eq!(answer == format!("replaced {follower}"), end == End::Rollback, "{answer}");
        assert_eq!(payload(&world, id(&answer)).await, "2");
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

pub(crate) async fn one_that_follows_is_not_rescheduled(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(again(0)).await);
    let n = world.claim(1, &[job]).await;
    let follower = id(&world.call(again(1)).await);
    assert_eq!(world.call(reschedule(&[follower], "null")).await, "");
    assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
    world.call(settle(1, n, job, "finish")).await;
    assert_eq!(world.call(claim(2, next_n(), 9)).await, follower.to_string());
    world.lab.check_invariants().await;
}

/// Killed with the key in hand, before and after the end of the job.
pub(crate) async fn a_producer_that_dies_leaves_the_key_as_it_was(lab: Lab) {
    let world = World::new(lab).await;
    for settled in [false, true] {
        let job = id(&world.call(again(0)).await);
        let n = world.claim(1, &[job]).await;
        let follower = id(&world.call(again(1)).await);
        let producer = world.hold(again(2)).await;
        if settled {
            assert_eq!(producer.bystander(settle(1, n, job, "finish")).await, "");
        }
        producer.die().await;
        if !settled {
            assert_eq!(world.call(settle(1, n, job, "finish")).await, "");
        }
        world.call(sweep()).await;
        assert_eq!(world.call(claim(2, next_n(), 9)).await, follower.to_string());
        assert_eq!(payload(&world, follower).await, "1");
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// Runs jobs of so many keys, with one that follows each; ends one of them while a producer has its
/// key in hand. Returns the one that follows it.
async fn left(world: &World, keys: &[&'static str], ended: usize) -> i64 {
    let again = |key| enqueue_unique(&[Once { on_duplicate: "run_again", ..Once::of(key) }]);
    let mut jobs = Vec::new();
    for key in keys {
        jobs.push(id(&world.call(again(key)).await));
    }
    let n = world.claim(1, &jobs).await;
    let mut followers = Vec::new();
    for key in keys {
        followers.push(id(&world.call(again(key)).await));
    }
    let producer = world.hold(again(keys[ended])).await;
    assert_eq!(producer.bystander(settle(1, n, jobs[ended], "finish")).await, "");
    producer.end(End::Commit).await;
    followers[ended]
}

fn look(keys: i32) -> String {
    format!("select jobkit.follow_left({keys})::text")
}

/// However many there are: no look at all of them, and none is left out.
pub(crate) async fn t171_those_that_follow_are_looked_through_some_at_a_time(lab: Lab) {
    let world = World::new(lab).await;
    let follower = left(&world, &["a", "b", "c", "d", "e"], 4).await;
    let producer = world.hold(enqueue_unique(&[Once::of("e")])).await;
    for found in ["0", "0", "0", "0", "0"] {
        assert_eq!(producer.bystander(look(2)).await, found);
    }
    producer.end(End::Rollback).await;
    // Twice two, and the last one; after a look behind all of them, which begins anew.
    world.lab.run("update jobkit.sweeps set followed_to = 1000000").await;
    let mut found = 0;
    for _ in 0..4 {
        found += world.call(look(2)).await.parse::<i32>().unwrap();
    }
    assert_eq!(found, 1);
    assert_eq!(world.call(claim(2, next_n(), 9)).await, follower.to_string());
    world.lab.check_invariants().await;
}

pub(crate) async fn t171_one_that_fails_holds_up_none_behind_it(lab: Lab) {
    let world = World::new(lab).await;
    left(&world, &["a", "b"], 0).await;
    let follower = left(&world, &["c", "d"], 0).await;
    let look_at = "perform jobkit.follow(";
    let fails = format!("if v_left.keys[1] = 'a' then raise 'damaged'; end if; {look_at}");
    world.lab.mutate("follow_left", look_at, &fails).await;
    assert_eq!(world.call(look(1)).await, "0");
    assert_eq!(world.call(look(2)).await, "1");
    assert_eq!(world.call(claim(2, next_n(), 9)).await, follower.to_string());
}
