//! Unique keys whose job is marked as cancelled, and rows of keys that say what is not so.

use jobkit_tests::Lab;

use super::calls::{Once, cancel_mark, cancel_take, claim, enqueue, enqueue_unique, settle};
use super::kit::{ENDS, End, World, next_n};
use super::unique::{holding, id, once, payload};

in_a_lab![
    t265_a_cancelled_job_that_runs_hands_its_key_on_when_it_ends,
    t265_a_cancel_beside_a_claim_lets_none_run_beside_it,
    t265_a_duplicate_behind_a_cancel_is_no_duplicate_of_a_cancelled_job,
    a_retry_whose_key_is_of_a_cancelled_job_is_put_off,
    what_unique_for_keeps_it_keeps_through_a_retry,
    t266_a_row_that_says_another_job_changes_nothing_of_it,
    t266_a_row_that_says_who_follows_changes_nothing_of_that_one,
    t266_a_row_of_no_job_holds_nothing,
];

fn duplicate(holds: &'static str, on_duplicate: &'static str, payload: i32) -> String {
    enqueue_unique(&[Once { holds, on_duplicate, payload, ..Once::of("k") }])
}

/// T265: two never run at once, whatever the duplicate is to do. The mark alone frees nothing.
pub(crate) async fn t265_a_cancelled_job_that_runs_hands_its_key_on_when_it_ends(lab: Lab) {
    let world = World::new(lab).await;
    for holds in ["running", "unfinished"] {
        for on_duplicate in ["skip", "replace", "debounce", "run_again"] {
            for outcome in ["retry", "finish", "crash"] {
                if on_duplicate == "run_again" && holds == "running" {
                    continue;
                }
                let at_least = if on_duplicate == "skip" { "1 hour" } else { "null" };
                let first = Once { holds, at_least, ..Once::of("k") };
                let job = id(&world.call(enqueue_unique(&[first])).await);
                let n = world.claim(1, &[job]).await;
                assert_eq!(world.call(cancel_mark(job)).await, "true");
                let next = Once { holds, on_duplicate, at_least, payload: 1, ..Once::of("k") };
                let follower = id(&world.call(enqueue_unique(&[next])).await);
                assert_ne!(follower, job);
                assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
                world.call("select (jobkit.sweep_begin('0 s')).due::text".to_owned()).await;
                assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
                world.lab.check_invariants().await;
                match outcome {
                    "crash" => world.crash(1, n).await,
                    _ => drop(world.call(settle(1, n, job, outcome)).await),
                }
                let what = format!("{holds} {on_duplicate} {outcome}");
                let m = next_n();
                assert_eq!(world.call(claim(2, m, 9)).await, follower.to_string(), "{what}");
                world.call(settle(2, m, follower, "finish")).await;
                // What it was enqueued with is its own.
                let answer = world.call(duplicate(holds, "skip", 2)).await;
                let kept = answer == format!("existing {follower}");
                assert_eq!(kept, at_least != "null", "{what}: {answer}");
                world.lab.check_invariants().await;
                world.clear().await;
            }
        }
    }
}

/// T265: whether it waits or runs nobody knows before the claim has ended.
pub(crate) async fn t265_a_cancel_beside_a_claim_lets_none_run_beside_it(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(once("k")).await);
        let n = next_n();
        let worker = world.hold(claim(1, n, 9)).await;
        assert_eq!(worker.bystander(cancel_mark(job)).await, "true");
        let follower = id(&worker.bystander(once("k")).await);
        assert_ne!(follower, job);
        worker.end(end).await;
        world.lab.check_invariants().await;
        assert_eq!(world.call(cancel_take(job)).await, end.pick("false", "true"));
        if end == End::Commit {
            assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
            assert_eq!(world.call(settle(1, n, job, "retry")).await, format!("{job} cancel"));
        }
        assert_eq!(world.call(claim(2, next_n(), 9)).await, follower.to_string());
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// T265: it waited for the mark, and looks again.
pub(crate) async fn t265_a_duplicate_behind_a_cancel_is_no_duplicate_of_a_cancelled_job(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(once("k")).await);
        let cancel = world.hold(cancel_mark(job)).await;
        let second = cancel.waiter(once("k")).await;
        cancel.end(end).await;
        let answer = second.answer().await.unwrap();
        assert_eq!(answer.starts_with("enqueued"), end == End::Commit, "{answer}");
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// It would run beside that one, and is not for it to do.
pub(crate) async fn a_retry_whose_key_is_of_a_cancelled_job_is_put_off(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(holding("k", "queued")).await);
    let n = world.claim(1, &[job]).await;
    let new = id(&world.call(once("k")).await);
    let m = world.claim(2, &[new]).await;
    world.call(cancel_mark(new)).await;
    assert_eq!(world.refusal(settle(1, n, job, "retry")).await, "55P03");
    assert_eq!(world.call(settle(2, m, new, "retry")).await, format!("{new} cancel"));
    assert_eq!(world.call(settle(1, n, job, "retry")).await, "");
    assert_eq!(world.call(holding("k", "queued")).await, format!("existing {job}"));
    world.lab.check_invariants().await;
}

/// A job that yields its place between two attempts has its key for that long at least.
pub(crate) async fn what_unique_for_keeps_it_keeps_through_a_retry(lab: Lab) {
    let world = World::new(lab).await;
    for on_duplicate in ["skip", "replace", "debounce"] {
        let kept = Once { at_least: "1 hour", holds: "running", ..Once::of("k") };
        let job = id(&world.call(enqueue_unique(&[kept])).await);
        let n = world.claim(1, &[job]).await;
        assert_eq!(world.call(settle(1, n, job, "retry")).await, "");
        let again = duplicate("running", on_duplicate, 1);
        let answer = if on_duplicate == "skip" { "existing" } else { "replaced" };
        assert_eq!(world.call(again.clone()).await, format!("{answer} {job}"));
        world.lab.check_invariants().await;
        world.lab.run("update jobkit.unique_keys set held_until = clock_timestamp()").await;
        assert!(world.call(again).await.starts_with("enqueued"));
        world.expect(job, "supersede").await;
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// T266: neither one without a key, nor one with another key.
pub(crate) async fn t266_a_row_that_says_another_job_changes_nothing_of_it(lab: Lab) {
    let world = World::new(lab).await;
    let forge = |job: i64| {
        format!("insert into jobkit.unique_keys (scope, key, job_id) values ('act', 'k', {job})")
    };
    for holds in ["queued", "running", "unfinished"] {
        for on_duplicate in ["skip", "replace", "debounce"] {
            let other = Once { holds, ..Once::of("other") };
            let theirs = id(&world.call(enqueue_unique(&[other])).await);
            let plain = world.call(enqueue(1)).await.parse::<i64>().unwrap();
            let n = world.claim(1, &[theirs, plain]).await;
            world.call(settle(1, n, theirs, "snooze")).await;
            world.call(settle(1, n, plain, "snooze")).await;
            for job in [theirs, plain] {
                world.lab.run_unguarded(&forge(job)).await;
                let mine = id(&world.call(duplicate(holds, on_duplicate, 7)).await);
                assert_ne!(mine, job, "{holds} {on_duplicate}");
                world.expect(job, "scheduled, charged 0").await;
                assert_ne!(payload(&world, job).await, "7");
                let gone = "delete from jobkit.unique_keys where key = 'k';
                    delete from jobkit.ready; delete from jobkit.jobs where unique_key = 'k'";
                world.lab.run_unguarded(gone).await;
            }
            world.lab.check_invariants().await;
            world.clear().await;
        }
    }
}

/// T266: by a sweep, an end, a duplicate or a change.
pub(crate) async fn t266_a_row_that_says_who_follows_changes_nothing_of_that_one(lab: Lab) {
    let world = World::new(lab).await;
    let again = |key| enqueue_unique(&[Once { on_duplicate: "run_again", ..Once::of(key) }]);
    for by in ["sweep", "end", "duplicate", "change"] {
        let theirs = id(&world.call(again("other")).await);
        let mine = id(&world.call(again("k")).await);
        let n = world.claim(1, &[theirs, mine]).await;
        let follower = id(&world.call(again("other")).await);
        let follows = format!("update jobkit.unique_keys set follower_id = {follower}");
        world.lab.run(&format!("{follows} where key = 'k'")).await;
        match by {
            "change" => assert!(
                world.call(duplicate("unfinished", "run_again", 7)).await.starts_with("enqueued")
            ),
            "end" => drop(world.call(settle(1, n, mine, "finish")).await),
            _ => {
                let gone = "set job_id = 1000000 where key = 'k'";
                world.lab.run_unguarded(&format!("update jobkit.unique_keys {gone}")).await;
                let look = "select jobkit.follow_left(9)::text".to_owned();
                world.call(if by == "sweep" { look } else { once("k") }).await;
            }
        }
        world.expect(follower, "scheduled, charged 0").await;
        assert_ne!(payload(&world, follower).await, "7");
        world.lab.run_unguarded("delete from jobkit.unique_keys").await;
        world.clear().await;
    }
}

/// T266: nor is a key kept for longer than any job may ask for.
pub(crate) async fn t266_a_row_of_no_job_holds_nothing(lab: Lab) {
    let world = World::new(lab).await;
    for (job, until) in [("0", "'infinity'"), ("7", "'infinity'"), ("0", "now() + interval '1 h'")]
    {
        let forged = format!(
            "insert into jobkit.unique_keys (scope, key, job_id, held_until)
            values ('act', 'k', {job}, {until})"
        );
        world.lab.run(&forged).await;
        let answer = world.call(once("k")).await;
        assert!(answer.starts_with("enqueued"), "{job} {until}: {answer}");
        assert_eq!(world.call(once("k")).await, format!("existing {}", id(&answer)));
        world.lab.check_invariants().await;
        world.clear().await;
        world.lab.run(&forged).await;
        assert_eq!(world.call("select jobkit.prune_keys(9)::text".to_owned()).await, "1");
    }
}
