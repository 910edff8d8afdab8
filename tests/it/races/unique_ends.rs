//! Unique keys when their jobs end, or are to run again: no worker waits for a producer.

use jobkit_tests::Lab;

use super::calls::{
    Once, claim, enqueue_unique, reap_claim, replay, replay_due, settle, settle_all,
};
use super::dead_letters::letter_of;
use super::kit::{ENDS, End, World, next_n};
use super::unique::{holding, id, once};

in_a_lab![
    t123_an_end_frees_a_key_and_a_dead_job_holds_none,
    a_retry_that_finds_its_key_taken_ends_as_superseded,
    a_retry_behind_an_open_enqueue_of_its_key_is_put_off,
    an_enqueue_behind_a_retry_is_told_of_the_job_that_waits_again,
    a_key_is_looked_at_again_by_whoever_takes_it_over,
    of_two_that_take_a_key_over_one_waits,
    an_end_behind_an_open_enqueue_of_its_key_waits_for_nobody,
    a_crash_whose_key_is_taken_ends_as_superseded,
    a_late_end_frees_no_other_key,
    a_job_that_waits_for_another_attempt_yields,
    a_replay_that_clashes_says_with_which_job,
    what_was_left_behind_is_in_nobodys_way,
];

/// T123: each end, in its transaction. The key is kept for `unique_for` by a finish and a bury.
pub(crate) async fn t123_an_end_frees_a_key_and_a_dead_job_holds_none(lab: Lab) {
    let world = World::new(lab).await;
    for (outcome, at_least) in [
        ("finish", "null"),
        ("bury", "null"),
        ("discard", "null"),
        ("cancel", "null"),
        ("finish", "1 hour"),
        ("bury", "1 hour"),
        ("discard", "1 hour"),
        ("cancel", "1 hour"),
    ] {
        for end in ENDS {
            let job = id(&world.call(enqueue_unique(&[Once { at_least, ..Once::of("k") }])).await);
            let n = world.claim(1, &[job]).await;
            assert_eq!(world.call(once("k")).await, format!("existing {job}"));
            let worker = world.hold(settle(1, n, job, outcome)).await;
            let kept = at_least != "null" && matches!(outcome, "finish" | "bury");
            let answer = if kept {
                let answer = worker.bystander(once("k")).await;
                worker.end(end).await;
                answer
            } else {
                let duplicate = worker.waiter(once("k")).await;
                worker.end(end).await;
                duplicate.answer().await.unwrap()
            };
            let stays = kept || end == End::Rollback;
            assert_eq!(answer == format!("existing {job}"), stays, "{outcome} {end:?}: {answer}");
            world.lab.check_invariants().await;
            world.clear().await;
            world.lab.run("delete from jobkit.unique_keys").await;
        }
    }
}

/// A job whose key was free while it ran, and that is to run again: the new one does it. The end is
/// in the history, with the error, and nothing is stranded.
pub(crate) async fn a_retry_that_finds_its_key_taken_ends_as_superseded(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["retry", "snooze", "release"] {
        let job = id(&world.call(holding("k", "queued")).await);
        let n = world.claim(1, &[job]).await;
        let new = id(&world.call(holding("k", "queued")).await);
        assert_ne!(new, job);
        assert_eq!(world.call(settle(1, n, job, outcome)).await, format!("{job} supersede"));
        world.expect(job, "supersede").await;
        let reason = format!("select reason from jobkit.finished where job_id = {job}");
        let reason = world.lab.value::<String>(&reason).await;
        assert_eq!(reason, format!("superseded by job {new}"));
        let apart = format!("jobkit.finished where job_id = {job} and outcome = 'supersede'");
        assert_eq!(world.lab.count(&apart).await, 1);
        let errors = format!("jobkit.finished where job_id = {job} and errors ->> 0 ~ 'because'");
        assert_eq!(world.lab.count(&errors).await, i64::from(outcome == "retry"));
        world.expect(new, "ready, charged 0").await;
        world.lab.check_invariants().await;
        // Where nobody has taken it the job waits, with its key.
        let n = world.claim(1, &[new]).await;
        assert_eq!(world.call(settle(1, n, new, outcome)).await, "");
        assert_eq!(world.call(holding("k", "queued")).await, format!("existing {new}"));
        world.lab.check_invariants().await;
        world.clear().await;
        world.lab.run("delete from jobkit.unique_keys").await;
    }
}

/// Nobody knows who has the key before the producer's transaction ends: the outcome is refused
/// within a millisecond, and comes again. The others of its batch do not wait either.
pub(crate) async fn a_retry_behind_an_open_enqueue_of_its_key_is_put_off(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(holding("k", "queued")).await);
        let n = world.claim(1, &[job]).await;
        let producer = world.hold(holding("k", "queued")).await;
        let new = id(&producer.answer);
        assert_eq!(world.refusal(settle(1, n, job, "retry")).await, "55P03");
        world.expect(job, &format!("running 1/{n}, charged 0")).await;
        producer.end(end).await;
        let answer = world.call(settle(1, n, job, "retry")).await;
        assert_eq!(answer, end.either(format!("{job} supersede"), String::new()));
        world.expect(job, end.pick("supersede", "scheduled, charged 1")).await;
        world.expect(new, end.pick("ready, charged 0", "nowhere")).await;
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// The retry takes its key again; who would have it waits for that.
pub(crate) async fn an_enqueue_behind_a_retry_is_told_of_the_job_that_waits_again(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(holding("k", "queued")).await);
        let n = world.claim(1, &[job]).await;
        let worker = world.hold(settle(1, n, job, "retry")).await;
        let producer = worker.waiter(holding("k", "queued")).await;
        worker.end(end).await;
        let answer = producer.answer().await.unwrap();
        assert_eq!(answer == format!("existing {job}"), end == End::Commit, "{answer}");
        assert_eq!(answer.starts_with("enqueued"), end == End::Rollback, "{answer}");
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// Between the look at a job that runs and the lock of its key it may have been put off.
pub(crate) async fn a_key_is_looked_at_again_by_whoever_takes_it_over(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(holding("k", "queued")).await);
    let n = world.claim(1, &[job]).await;
    let stop = world.hold_before("take_over", "select u.follower_id, u.follower_until").await;
    let producer = stop.waiter(holding("k", "queued")).await;
    assert_eq!(world.call(settle(1, n, job, "retry")).await, "");
    stop.end(End::Commit).await;
    assert_eq!(producer.answer().await.unwrap(), format!("existing {job}"));
    world.lab.check_invariants().await;
}

/// Both have seen that its row holds nothing.
pub(crate) async fn of_two_that_take_a_key_over_one_waits(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(holding("k", "queued")).await);
    world.claim(1, &[job]).await;
    let look = "select h.state into v_state";
    let stop = format!("perform pg_advisory_xact_lock_shared(1); {look}");
    world.lab.mutate("take_over", look, &stop).await;
    let stop = world.hold("select pg_advisory_xact_lock(1)::text".to_owned()).await;
    let first = stop.next(holding("k", "queued")).await;
    let second = first.waiter(holding("k", "queued")).await;
    stop.end(End::Commit).await;
    let first = first.held().await;
    let new = id(&first.answer);
    first.end(End::Commit).await;
    assert_eq!(second.answer().await.unwrap(), format!("existing {new}"));
    world.lab.check_invariants().await;
}

/// A finish leaves the row to the producer who is taking it over; should he give up, the row holds
/// nothing, since its job has ended.
pub(crate) async fn an_end_behind_an_open_enqueue_of_its_key_waits_for_nobody(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["finish", "bury", "discard", "cancel"] {
        for end in ENDS {
            let job = id(&world.call(holding("k", "queued")).await);
            let n = world.claim(1, &[job]).await;
            let producer = world.hold(holding("k", "queued")).await;
            let new = id(&producer.answer);
            assert_eq!(producer.bystander(settle(1, n, job, outcome)).await, "");
            producer.end(end).await;
            let answer = world.call(holding("k", "queued")).await;
            assert_eq!(answer == format!("existing {new}"), end == End::Commit, "{answer}");
            assert_eq!(answer.starts_with("enqueued"), end == End::Rollback, "{answer}");
            world.lab.check_invariants().await;
            world.clear().await;
        }
    }
}

/// The same of a job whose worker has died.
pub(crate) async fn a_crash_whose_key_is_taken_ends_as_superseded(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(holding("k", "queued")).await);
        let n = world.claim(1, &[job]).await;
        world.bury_worker(1).await;
        let producer = world.hold(holding("k", "queued")).await;
        assert_eq!(world.refusal(reap_claim(1, n)).await, "55P03");
        producer.end(end).await;
        assert_eq!(world.call(reap_claim(1, n)).await, "1");
        world.expect(job, end.pick("supersede", "ready, charged 1")).await;
        world.lab.check_invariants().await;
        world.clear().await;
        world.register(1).await;
    }
}

/// The key has passed on while the job ran.
pub(crate) async fn a_late_end_frees_no_other_key(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["finish", "bury", "discard", "cancel"] {
        let job = id(&world.call(holding("k", "queued")).await);
        let n = world.claim(1, &[job]).await;
        let new = id(&world.call(holding("k", "queued")).await);
        assert_eq!(world.call(settle_all(1, n, &[(job, outcome)])).await, "");
        assert_eq!(world.call(holding("k", "queued")).await, format!("existing {new}"));
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// Unique until its run ends: between two attempts a new job takes its place, and it ends then.
pub(crate) async fn a_job_that_waits_for_another_attempt_yields(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(holding("k", "running")).await);
        let n = world.claim(1, &[job]).await;
        assert_eq!(world.call(holding("k", "running")).await, format!("existing {job}"));
        world.call(settle(1, n, job, "retry")).await;
        let producer = world.hold(holding("k", "running")).await;
        let second = producer.waiter(holding("k", "running")).await;
        let new = id(&producer.answer);
        assert_ne!(new, job);
        producer.end(end).await;
        let answer = second.answer().await.unwrap();
        assert_eq!(answer == format!("existing {new}"), end == End::Commit, "{answer}");
        assert_eq!(answer.starts_with("enqueued"), end == End::Rollback, "{answer}");
        world.expect(job, "supersede").await;
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// An entry comes back with its key, or not at all.
pub(crate) async fn a_replay_that_clashes_says_with_which_job(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let job = id(&world.call(once("k")).await);
        let n = world.claim(1, &[job]).await;
        world.call(settle(1, n, job, "bury")).await;
        let entry = letter_of(&world, job).await;
        let producer = world.hold(once("k")).await;
        let new = id(&producer.answer);
        assert_eq!(world.refusal(replay(entry)).await, "55P03");
        let due = format!("set replay_at = now() where id = {entry}");
        world.lab.run(&format!("update jobkit.dead_letters {due}")).await;
        assert_eq!(world.call(replay_due()).await, "0");
        assert_eq!(world.call(take_letter(entry)).await, "0");
        producer.end(end).await;
        world.lab.run(&format!("update jobkit.dead_letters {due}")).await;
        if end == End::Commit {
            assert_eq!(world.call(replay(entry)).await, format!("taken {new}"));
            assert_eq!(world.call(replay_due()).await, "0");
            assert_eq!(world.call(take_letter(entry)).await, "0");
            let n = world.claim(1, &[new]).await;
            world.call(settle(1, n, new, "finish")).await;
        }
        let answer = world.call(replay(entry)).await;
        let again = answer.strip_prefix("replay ").expect("it is free").to_owned();
        let existing = format!("existing {again}");
        assert_eq!(world.call(once("k")).await, existing);
        // What replays is not changed.
        let replace = Once { on_duplicate: "replace", payload: 7, ..Once::of("k") };
        assert_eq!(world.call(enqueue_unique(&[replace])).await, existing);
        world.lab.check_invariants().await;
        world.lab.run("delete from jobkit.dead_letters").await;
        world.clear().await;
    }
}

/// How many a bulk replay makes jobs of.
fn take_letter(entry: i64) -> String {
    format!(
        "select cardinality(
            jobkit.take_dead_letters('replay', array[{entry}], '{{open}}', 'infinity'))::text"
    )
}

/// A row whose job is gone is no lock: the next one takes it, and the pruner removes it.
pub(crate) async fn what_was_left_behind_is_in_nobodys_way(lab: Lab) {
    let world = World::new(lab).await;
    for key in ["k", "l"] {
        let row = format!("insert into jobkit.unique_keys values ('act', '{key}', -1)");
        world.lab.run(&row).await;
    }
    let first = world.hold(once("k")).await;
    let second = first.waiter(once("k")).await;
    let job = id(&first.answer);
    let prune = || "select jobkit.prune_keys(10)::text".to_owned();
    assert_eq!(first.bystander(prune()).await, "1");
    first.end(End::Commit).await;
    assert_eq!(second.answer().await.unwrap(), format!("existing {job}"));
    assert_eq!(world.call(prune()).await, "0");
    assert_eq!(world.call(claim(1, next_n(), 9)).await, job.to_string());
    world.lab.check_invariants().await;
}
