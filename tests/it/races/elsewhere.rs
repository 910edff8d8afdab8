//! Failures on record of other queues, taken step by step here; [the list](../../RACES.md) says
//! whose each was.

use jobkit_tests::Lab;

use super::calls::{
    Once, cancel_mark, cancel_take, claim, enqueue_unique, promote, reap_claim, settle,
};
use super::kit::{ENDS, End, World, next_n};
use super::unique::{holding, id, once};

in_a_lab![
    t160_no_key_is_held_by_a_job_that_is_gone,
    t161_nobody_assumes_that_who_has_the_key_commits,
    t163_a_dead_worker_s_job_whose_key_was_taken_strands_no_other,
    t164_a_recurring_job_that_fails_beside_the_next_needs_no_hand,
];

/// T160: a key that is held for an hour at least, and the ways in which its job may be gone without
/// having run. The next one has the key at once.
pub(crate) async fn t160_no_key_is_held_by_a_job_that_is_gone(lab: Lab) {
    let world = World::new(lab).await;
    let hour = || enqueue_unique(&[Once { at_least: "1 hour", ..Once::of("k") }]);
    for way in ["rolled back", "producer killed", "cancelled", "discarded"] {
        let producer = world.hold(hour()).await;
        let job = id(&producer.answer);
        match way {
            "rolled back" => producer.end(End::Rollback).await,
            "producer killed" => producer.die().await,
            _ => producer.end(End::Commit).await,
        }
        match way {
            "cancelled" => {
                world.call(cancel_mark(job)).await;
                world.call(cancel_take(job)).await;
            }
            "discarded" => {
                let n = world.claim(1, &[job]).await;
                world.call(settle(1, n, job, "discard")).await;
            }
            _ => {}
        }
        let next = world.call(hour()).await;
        assert!(next.starts_with("enqueued"), "{way}: {next}");
        world.lab.check_invariants().await;
        world.clear().await;
    }
    // By hand, past every function.
    world.call(once("k")).await;
    world.lab.run("delete from jobkit.ready; delete from jobkit.jobs").await;
    // Its workers die until no attempt is left.
    let job = id(&world.call(once("k")).await);
    for _ in 0..3 {
        let n = next_n();
        assert_eq!(world.call(claim(1, n, 9)).await, job.to_string());
        assert_eq!(world.call(once("k")).await, format!("existing {job}"));
        world.bury_worker(1).await;
        world.call(reap_claim(1, n)).await;
        world.register(1).await;
        world.an_hour_later().await;
        world.call(promote(9)).await;
    }
    world.expect(job, "crashed").await;
    assert!(world.call(once("k")).await.starts_with("enqueued"));
    world.lab.check_invariants().await;
}

/// T161: three who come second. When the first one rolls back, one of them has the key, and the
/// others are told of its job: nobody is told of a job that never was, and none is missing.
pub(crate) async fn t161_nobody_assumes_that_who_has_the_key_commits(lab: Lab) {
    let world = World::new(lab).await;
    for (on_duplicate, told) in [("skip", "existing"), ("replace", "replaced")] {
        for end in ENDS {
            let call = || enqueue_unique(&[Once { on_duplicate, ..Once::of("k") }]);
            let first = world.hold(call()).await;
            let first_job = id(&first.answer);
            let mut waiters = Vec::new();
            for _ in 0..3 {
                waiters.push(first.waiter(call()).await);
            }
            first.end(end).await;
            let mut answers = Vec::new();
            for waiter in waiters {
                answers.push(waiter.answer().await.unwrap());
            }
            let lives = "select id from jobkit.jobs where unique_key = 'k'";
            let job = world.lab.value::<i64>(lives).await;
            assert_eq!(job == first_job, end == End::Commit, "{answers:?}");
            answers.sort_unstable();
            let mut expected = vec![format!("{told} {job}"); 3];
            if end == End::Rollback {
                expected[0] = format!("enqueued {job}");
                expected.sort_unstable();
            }
            assert_eq!(answers, expected);
            world.lab.check_invariants().await;
            world.clear().await;
        }
    }
}

/// T163: one of the jobs of a dead worker cannot go back, since the next one of its key is there.
/// It ends, and says so; the others of the claim go back as ever.
pub(crate) async fn t163_a_dead_worker_s_job_whose_key_was_taken_strands_no_other(lab: Lab) {
    let world = World::new(lab).await;
    let taken = id(&world.call(holding("k", "queued")).await);
    let free = id(&world.call(holding("l", "queued")).await);
    let [plain] = world.ready().await;
    let n = world.claim(1, &[taken, free, plain]).await;
    let next = id(&world.call(holding("k", "queued")).await);
    world.bury_worker(1).await;
    assert_eq!(world.call(reap_claim(1, n)).await, "3");
    world.expect(taken, "supersede").await;
    for (job, charged) in [(free, 1), (plain, 1), (next, 0)] {
        world.expect(job, &format!("ready, charged {charged}")).await;
    }
    assert_eq!(world.lab.count("jobkit.claims").await, 0);
    world.lab.check_invariants().await;
}

/// T164: a job recurs with a key that it holds while it waits. It fails, or its worker dies, while
/// the next one waits already: each time the older one ends for the newer, and the last one runs.
pub(crate) async fn t164_a_recurring_job_that_fails_beside_the_next_needs_no_hand(lab: Lab) {
    let world = World::new(lab).await;
    let mut job = id(&world.call(holding("k", "queued")).await);
    for (end, dies) in [("retry", false), ("", true), ("retry", false)] {
        let n = world.claim(1, &[job]).await;
        let next = id(&world.call(holding("k", "queued")).await);
        assert_eq!(world.call(holding("k", "queued")).await, format!("existing {next}"));
        if dies {
            world.bury_worker(1).await;
            assert_eq!(world.call(reap_claim(1, n)).await, "1");
            world.register(1).await;
        } else {
            assert_eq!(world.call(settle(1, n, job, end)).await, format!("{job} supersede"));
        }
        let reason = format!("select reason from jobkit.finished where job_id = {job}");
        let reason = world.lab.value::<String>(&reason).await;
        assert_eq!(reason, format!("superseded by job {next}"));
        world.lab.check_invariants().await;
        job = next;
    }
    let n = world.claim(1, &[job]).await;
    world.call(settle(1, n, job, "finish")).await;
    assert_eq!(world.lab.count("jobkit.jobs").await, 0);
    assert!(world.call(holding("k", "queued")).await.starts_with("enqueued"));
    world.lab.check_invariants().await;
}
