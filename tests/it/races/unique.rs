//! Unique keys while their jobs wait, and while they are claimed: who enqueues a duplicate waits
//! for whoever has the same key in hand, and workers wait for nobody.

use jobkit_tests::Lab;

use super::calls::{Once, cancel_mark, cancel_take, claim, enqueue_unique, promote, reschedule};
use super::kit::{ENDS, End, World, next_n};

in_a_lab![
    t85_a_second_enqueue_of_a_key_waits_for_the_first,
    t86_a_key_whose_time_is_over_is_taken_once,
    t87_an_enqueue_behind_a_claim_is_told_what_the_claim_decides,
    t88_a_job_that_is_being_changed_is_not_claimed,
    t122_a_replacement_behind_a_claim_changes_no_running_job,
    a_duplicate_keeps_the_job_it_found_where_it_waits,
    a_cancel_frees_a_key_in_its_transaction,
    a_job_that_is_cancelled_while_it_is_waited_for_is_not_replaced,
    a_snapshot_that_is_too_old_is_refused_and_never_wrong,
    a_job_of_another_kind_is_not_changed,
];

/// One job with a unique key, in words: the first id of an answer.
pub(super) fn id(answer: &str) -> i64 {
    answer.split([' ', ',']).nth(1).unwrap().parse().unwrap()
}

pub(super) fn once(key: &'static str) -> String {
    enqueue_unique(&[Once::of(key)])
}

pub(super) fn holding(key: &'static str, holds: &'static str) -> String {
    enqueue_unique(&[Once { holds, ..Once::of(key) }])
}

pub(super) async fn payload(world: &World, job: i64) -> String {
    world.lab.value(&format!("select args::text from jobkit.jobs where id = {job}")).await
}

/// T85: who enqueues the same key waits, and only he; nobody assumes that the first one commits.
pub(crate) async fn t85_a_second_enqueue_of_a_key_waits_for_the_first(lab: Lab) {
    let world = World::new(lab).await;
    for (end, key) in ENDS.into_iter().zip(["k", "l"]) {
        let first = world.hold(once(key)).await;
        let second = first.waiter(once(key)).await;
        assert!(first.bystander(once("other")).await.contains(' '));
        assert_eq!(first.bystander(claim(2, next_n(), 0)).await, "");
        let job = id(&first.answer);
        first.end(end).await;
        let answer = second.answer().await.unwrap();
        assert_eq!(answer == format!("existing {job}"), end == End::Commit, "{answer}");
        assert_eq!(answer.starts_with("enqueued "), end == End::Rollback, "{answer}");
        assert_eq!(world.lab.count(&format!("jobkit.jobs where unique_key = '{key}'")).await, 1);
    }
    world.lab.check_invariants().await;
}

/// T86: of a job that has ended `unique_for` keeps the key until its time; then one takes it.
pub(crate) async fn t86_a_key_whose_time_is_over_is_taken_once(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let kept = Once { at_least: "1 hour", ..Once::of("k") };
        let job = id(&world.call(enqueue_unique(&[kept])).await);
        let n = world.claim(1, &[job]).await;
        world.call(super::calls::settle(1, n, job, "finish")).await;
        assert_eq!(world.call(once("k")).await, format!("existing {job}"));
        let over = "update jobkit.unique_keys set held_until = clock_timestamp()";
        world.lab.run(over).await;
        let first = world.hold(once("k")).await;
        let second = first.waiter(once("k")).await;
        let next = id(&first.answer);
        assert_ne!(next, job);
        first.end(end).await;
        let answer = second.answer().await.unwrap();
        assert_eq!(answer.contains(&next.to_string()), end == End::Commit, "{answer}");
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// T87: until started, the key is free once the claim is there; until ended, it is not.
pub(crate) async fn t87_an_enqueue_behind_a_claim_is_told_what_the_claim_decides(lab: Lab) {
    let world = World::new(lab).await;
    for holds in ["queued", "running", "unfinished"] {
        for end in ENDS {
            let job = id(&world.call(holding("k", holds)).await);
            let worker = world.hold(claim(1, next_n(), 1)).await;
            let duplicate = worker.waiter(holding("k", holds)).await;
            worker.end(end).await;
            let answer = duplicate.answer().await.unwrap();
            let taken = holds != "queued" || end == End::Rollback;
            assert_eq!(answer == format!("existing {job}"), taken, "{holds} {end:?}: {answer}");
            world.lab.check_invariants().await;
            world.clear().await;
        }
    }
}

/// T88: while a replacement or a debounce is open, claims and the promoter pass the job over. It
/// runs once, with what was committed.
pub(crate) async fn t88_a_job_that_is_being_changed_is_not_claimed(lab: Lab) {
    let world = World::new(lab).await;
    for (on_duplicate, end) in
        [("replace", End::Commit), ("replace", End::Rollback), ("debounce", End::Commit)]
    {
        let job = id(&world.call(once("k")).await);
        let change = Once { on_duplicate, payload: 7, ..Once::of("k") };
        let producer = world.hold(enqueue_unique(&[change])).await;
        assert_eq!(producer.answer, format!("replaced {job}"));
        assert_eq!(producer.bystander(claim(2, next_n(), 10)).await, "");
        assert_eq!(producer.bystander(promote(10)).await, "0");
        assert_eq!(producer.bystander(reschedule(&[job], "'1 hour'")).await, "");
        let third = producer.waiter(enqueue_unique(&[change])).await;
        producer.end(end).await;
        assert_eq!(third.answer().await.unwrap(), format!("replaced {job}"));
        let expected = if on_duplicate == "replace" { "7" } else { "0" };
        assert_eq!(payload(&world, job).await, expected);
        let n = next_n();
        assert_eq!(world.call(claim(1, n, 10)).await, job.to_string());
        // One that is scheduled moves as well.
        world.clear().await;
        let later = Once { delay: "1 hour", ..change };
        let job = id(&world.call(enqueue_unique(&[later])).await);
        world.an_hour_later().await;
        let producer = world.hold(enqueue_unique(&[later])).await;
        assert_eq!(producer.answer, format!("replaced {job}"));
        assert_eq!(producer.bystander(promote(10)).await, "0");
        producer.end(end).await;
        assert_eq!(world.call(promote(10)).await, end.pick("0", "1"));
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// T122: a replacement waits for the claim, and is told of a job that runs by then.
pub(crate) async fn t122_a_replacement_behind_a_claim_changes_no_running_job(lab: Lab) {
    let world = World::new(lab).await;
    for (end, on_duplicate, changed) in [
        (End::Commit, "replace", "0"),
        (End::Rollback, "replace", "7"),
        (End::Commit, "debounce", "0"),
        (End::Rollback, "debounce", "0"),
    ] {
        let job = id(&world.call(once("k")).await);
        let worker = world.hold(claim(1, next_n(), 1)).await;
        let change = Once { on_duplicate, payload: 7, ..Once::of("k") };
        let second = worker.waiter(enqueue_unique(&[change])).await;
        worker.end(end).await;
        let answer = format!("{} {job}", end.pick("existing", "replaced"));
        assert_eq!(second.answer().await.unwrap(), answer);
        assert_eq!(payload(&world, job).await, changed);
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// What a duplicate was skipped for has not run before the skip is committed: else it would run
/// without what came with the duplicate. Any number of duplicates do that at once.
pub(crate) async fn a_duplicate_keeps_the_job_it_found_where_it_waits(lab: Lab) {
    let world = World::new(lab).await;
    for delay in ["null", "1 hour"] {
        for end in ENDS {
            let job = id(&world.call(enqueue_unique(&[Once { delay, ..Once::of("k") }])).await);
            if delay != "null" {
                world.an_hour_later().await;
            }
            let existing = format!("existing {job}");
            let producer = world.hold(once("k")).await;
            assert_eq!(producer.answer, existing);
            assert_eq!(producer.bystander(once("k")).await, existing);
            assert_eq!(producer.bystander(promote(10)).await, "0");
            assert_eq!(producer.bystander(claim(2, next_n(), 10)).await, "");
            assert_eq!(producer.bystander(cancel_mark(-1)).await, "false");
            producer.end(end).await;
            world.call(promote(10)).await;
            assert_eq!(world.call(claim(2, next_n(), 10)).await, job.to_string());
            world.lab.check_invariants().await;
            world.clear().await;
        }
    }
}

/// From the mark on a job that waits has no key: whoever enqueues then is not told of one that will
/// not do it. One that runs has it until it ends.
pub(crate) async fn a_cancel_frees_a_key_in_its_transaction(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let kept = Once { at_least: "1 hour", ..Once::of("k") };
        let job = id(&world.call(enqueue_unique(&[kept])).await);
        let cancel = world.hold(cancel_mark(job)).await;
        let duplicate = cancel.waiter(once("k")).await;
        cancel.end(end).await;
        let answer = duplicate.answer().await.unwrap();
        assert_eq!(answer == format!("existing {job}"), end == End::Rollback, "{answer}");
        assert_eq!(world.call(cancel_take(job)).await, end.pick("true", "false"));
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// It holds no key from then on: a change of it would be lost.
pub(crate) async fn a_job_that_is_cancelled_while_it_is_waited_for_is_not_replaced(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(once("k")).await);
    let reader = world.hold(once("k")).await;
    let change = Once { on_duplicate: "replace", payload: 7, ..Once::of("k") };
    let change = reader.waiter(enqueue_unique(&[change])).await;
    assert_eq!(reader.bystander(cancel_mark(job)).await, "true");
    reader.end(End::Commit).await;
    let answer = change.answer().await.unwrap();
    assert!(answer.starts_with("enqueued ") && id(&answer) != job, "{answer}");
    assert_eq!(world.call(cancel_take(job)).await, "true");
    world.lab.check_invariants().await;
}

/// Where a snapshot from before the wait would decide, the server refuses.
pub(crate) async fn a_snapshot_that_is_too_old_is_refused_and_never_wrong(lab: Lab) {
    let world = World::new(lab).await;
    for level in ["repeatable read", "serializable"] {
        let mut session = world.lab.session("old").await;
        let old = format!("begin isolation level {level}; select count(*) from jobkit.jobs");
        session.run(&old).await.unwrap();
        let job = id(&world.call(once("k")).await);
        let refused = session.run(&once("k")).await.unwrap_err();
        assert_eq!(refused.as_database_error().unwrap().code().as_deref(), Some("40001"));
        session.run("rollback").await.unwrap();
        // One that was there before is told as it is.
        session.run(&old).await.unwrap();
        session.run(&once("k")).await.unwrap();
        assert_eq!(world.call(claim(1, next_n(), 10)).await, "");
        session.run("commit").await.unwrap();
        assert_eq!(world.call(claim(1, next_n(), 10)).await, job.to_string());
        world.clear().await;
    }
}

/// Kinds of one group share their keys, not their payloads.
pub(crate) async fn a_job_of_another_kind_is_not_changed(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(once("k")).await);
    for on_duplicate in ["replace", "debounce"] {
        let other = Once { kind: "other", on_duplicate, payload: 7, ..Once::of("k") };
        assert_eq!(world.call(enqueue_unique(&[other])).await, format!("existing {job}"));
    }
    assert_eq!(payload(&world, job).await, "0");
}
