//! Which job of a unique key gets the newest payload: the one that runs last.

use jobkit_tests::Lab;

use super::calls::{Once, cancel_mark, claim, enqueue_unique, replay, settle};
use super::dead_letters::letter_of;
use super::kit::{ENDS, End, World, next_n};
use super::unique::{holding, id, once, payload};
use super::unique_again::{again, duplicate};

in_a_lab![
    while_one_follows_that_one_is_changed,
    while_one_of_another_kind_follows_the_job_is_changed,
    one_that_follows_a_replay_is_changed,
    a_newer_payload_waits_for_the_one_that_follows,
    a_newer_payload_looks_again_where_its_job_has_ended,
    a_second_change_in_a_transaction_waits_for_none_that_waits_for_the_first,
    a_retry_waits_for_no_change_of_the_job_that_has_its_key,
];

/// Between two attempts as well: what runs last has the newest payload.
pub(crate) async fn while_one_follows_that_one_is_changed(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["retry", "snooze", "release", "crash"] {
        let job = id(&world.call(again(0)).await);
        let n = world.claim(1, &[job]).await;
        let follower = id(&world.call(again(1)).await);
        if outcome == "crash" {
            world.crash(1, n).await;
        } else {
            assert_eq!(world.call(settle(1, n, job, outcome)).await, "");
        }
        for (newest, on_duplicate) in [(2, "replace"), (3, "run_again")] {
            let answer = world.call(duplicate(on_duplicate, newest)).await;
            assert_eq!(answer, format!("replaced {follower}"), "{outcome} {on_duplicate}");
            assert_eq!(payload(&world, follower).await, newest.to_string());
            world.expect(follower, "scheduled, charged 0").await;
        }
        assert_eq!(world.call(once("k")).await, format!("existing {job}"));
        assert_eq!(world.call(duplicate("debounce", 4)).await, format!("replaced {job}"));
        assert_eq!(payload(&world, job).await, "0");
        assert_eq!(payload(&world, follower).await, "3");
        world.lab.check_invariants().await;
        // Nobody follows any more.
        world.call(cancel_mark(follower)).await;
        assert_eq!(world.call(again(5)).await, format!("replaced {job}"));
        assert_eq!(payload(&world, job).await, "5");
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

pub(crate) async fn while_one_of_another_kind_follows_the_job_is_changed(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(again(0)).await);
    let n = world.claim(1, &[job]).await;
    let other = Once { kind: "other", on_duplicate: "run_again", payload: 1, ..Once::of("k") };
    let follower = id(&world.call(enqueue_unique(&[other])).await);
    assert_eq!(world.call(settle(1, n, job, "release")).await, "");
    for (newest, on_duplicate) in [(2, "replace"), (3, "run_again")] {
        let answer = world.call(duplicate(on_duplicate, newest)).await;
        assert_eq!(answer, format!("replaced {job}"), "{on_duplicate}");
        assert_eq!(payload(&world, job).await, newest.to_string());
    }
    assert_eq!(payload(&world, follower).await, "1");
    world.lab.check_invariants().await;
}

/// The replay itself is never changed.
pub(crate) async fn one_that_follows_a_replay_is_changed(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(again(0)).await);
    let n = world.claim(1, &[job]).await;
    world.call(settle(1, n, job, "bury")).await;
    let replayed = id(&world.call(replay(letter_of(&world, job).await)).await);
    let held = world.hold(again(1)).await;
    assert_eq!(held.answer, format!("existing {replayed}"));
    assert_eq!(held.bystander(claim(2, next_n(), 9)).await, "");
    held.end(End::Commit).await;
    let n = world.claim(1, &[replayed]).await;
    let follower = id(&world.call(again(2)).await);
    assert_eq!(world.call(settle(1, n, replayed, "release")).await, "");
    assert_eq!(world.call(again(3)).await, format!("replaced {follower}"));
    assert_eq!(world.call(duplicate("replace", 4)).await, format!("existing {replayed}"));
    assert_eq!(payload(&world, replayed).await, "0");
    assert_eq!(payload(&world, follower).await, "3");
    world.lab.check_invariants().await;
}

/// It had seen that the job waits; that one ran meanwhile, and waits again.
pub(crate) async fn a_newer_payload_waits_for_the_one_that_follows(lab: Lab) {
    let world = World::new(lab).await;
    let look = "select l.job_id, l.answer";
    let stop = format!(
        "if p_on_duplicate = 'replace' then perform pg_advisory_xact_lock_shared(1); end if; {look}"
    );
    world.lab.mutate("take_key", look, &stop).await;
    for end in ENDS {
        let job = id(&world.call(again(0)).await);
        let stop = world.hold("select pg_advisory_xact_lock(1)::text".to_owned()).await;
        let second = stop.waiter(duplicate("replace", 2)).await;
        let n = world.claim(1, &[job]).await;
        let first = world.hold(again(1)).await;
        let follower = id(&first.answer);
        assert_eq!(first.bystander(settle(1, n, job, "release")).await, "");
        stop.end(End::Commit).await;
        second.until_answered_or_held_up().await;
        first.end(end).await;
        let newest = end.either(follower, job);
        assert_eq!(second.answer().await.unwrap(), format!("replaced {newest}"));
        assert_eq!(payload(&world, newest).await, "2");
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// It had seen that the job runs, and waited for the key, which the end of the job passed over.
pub(crate) async fn a_newer_payload_looks_again_where_its_job_has_ended(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(again(0)).await);
    let n = world.claim(1, &[job]).await;
    let first =
        world.hold("select job_id::text from jobkit.unique_keys for update".to_owned()).await;
    let second = first.waiter(again(1)).await;
    assert_eq!(first.bystander(settle(1, n, job, "finish")).await, "");
    first.end(End::Rollback).await;
    let newest = id(&second.answer().await.unwrap());
    assert_eq!(world.call(claim(2, next_n(), 9)).await, newest.to_string());
    world.lab.check_invariants().await;
}

/// Else the two would wait for each other.
pub(crate) async fn a_second_change_in_a_transaction_waits_for_none_that_waits_for_the_first(
    lab: Lab,
) {
    let world = World::new(lab).await;
    for on_duplicate in ["debounce", "replace", "run_again"] {
        let job = id(&world.call(again(0)).await);
        let first = world.hold(duplicate(on_duplicate, 1)).await;
        let second = first.waiter(duplicate("replace", 2)).await;
        let first = first.go_on(duplicate("replace", 3)).await;
        assert_eq!(first.answer, format!("replaced {job}"));
        first.end(End::Commit).await;
        assert_eq!(second.answer().await.unwrap(), format!("replaced {job}"));
        assert_eq!(payload(&world, job).await, "2");
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// It knows who has it, whatever becomes of the change.
pub(crate) async fn a_retry_waits_for_no_change_of_the_job_that_has_its_key(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(holding("k", "queued")).await);
        let n = world.claim(1, &[job]).await;
        let new = id(&world.call(holding("k", "queued")).await);
        let change = Once { holds: "queued", on_duplicate: "replace", ..Once::of("k") };
        let producer = world.hold(enqueue_unique(&[change])).await;
        assert_eq!(producer.answer, format!("replaced {new}"));
        let ended = producer.bystander(settle(1, n, job, "retry")).await;
        assert_eq!(ended, format!("{job} supersede"));
        producer.end(end).await;
        world.expect(job, "supersede").await;
        world.lab.check_invariants().await;
        world.clear().await;
        world.lab.run("delete from jobkit.unique_keys").await;
    }
}
