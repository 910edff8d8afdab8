//! Who gets a permit: claims that ask for one, beside endings that free one. Whoever decides holds
//! the semaphore of the key, and reads after it was locked.

use jobkit_tests::Lab;

use super::calls::{Keyed, cancel_mark, cancel_take, claim, promote, settle, sweep};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    t01_a_finish_behind_a_claim_that_blocks_unblocks_what_that_blocked,
    t02_two_claims_of_a_fresh_key_take_turns,
    t03_the_second_at_a_fresh_key_holds_it_too,
    t04_a_finish_behind_a_block_that_was_rolled_back_finds_nothing,
    t05_a_claim_behind_a_finish_does_not_overtake_the_blocked,
    t06_two_finishes_unblock_two,
    t07_a_finish_behind_a_rolled_back_cancel_unblocks_the_job,
    t08_a_finish_behind_the_cancel_of_the_blocked_leaves_the_key_free,
    t35_jobs_without_a_key_need_no_permit,
    t37_the_blocked_job_of_the_best_priority_is_next,
    t38_a_cancel_behind_the_unblocking_of_its_job_hands_the_permit_on,
    t75_a_due_job_of_a_busy_key_is_not_claimed,
];

const READY: &str = "ready with permit, charged 0";
const BLOCKED: &str = "blocked, charged 0";

/// T01. The claim decided that the job is blocked, and has not committed; the finish waits for it.
pub(crate) async fn t01_a_finish_behind_a_claim_that_blocks_unblocks_what_that_blocked(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.keyed(["a"]).await;
    let blocks = world.hold(claim(2, next_n(), 1)).await;
    assert_eq!(blocks.answer, "");
    let finish = blocks.waiter(settle(1, n, x, "finish")).await;
    blocks.end(End::Commit).await;
    assert_eq!(finish.answer().await, Ok(format!("{y} unblock")));
    world.expect(x, "finish").await;
    world.expect(y, READY).await;
    world.expect_key("a", &[y], &[]).await;
    assert_eq!(world.call(claim(2, next_n(), 1)).await, list(&[y]));
    world.lab.check_invariants().await;
}

/// T02. The semaphore is not there yet: the second claim waits for the row of the first, and holds
/// it then, although it gets nothing.
pub(crate) async fn t02_two_claims_of_a_fresh_key_take_turns(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let [x, y] = world.keyed(["a", "a"]).await;
        let n = next_n();
        let first = world.hold(claim(1, n, 1)).await;
        assert_eq!(first.answer, list(&[x]));
        let second = first.next(claim(2, next_n(), 1)).await;
        first.end(end).await;
        let second = second.held().await;
        assert_eq!(second.answer, end.pick("", &list(&[y])));
        if end == End::Rollback {
            second.end(End::Commit).await;
            world.expect(x, "ready, charged 0").await;
            world.expect_key("a", &[y], &[]).await;
            continue;
        }
        let finish = second.waiter(settle(1, n, x, "finish")).await;
        second.end(End::Commit).await;
        assert_eq!(finish.answer().await, Ok(format!("{y} unblock")));
        world.expect(y, READY).await;
        world.expect_key("a", &[y], &[]).await;
    }
}

/// T03. The second claim found the fresh row of the first, and got a permit; a third one waits for
/// it, or both would count the same permits.
pub(crate) async fn t03_the_second_at_a_fresh_key_holds_it_too(lab: Lab) {
    let world = World::limited(lab, 2).await;
    let [x, y, z] = world.keyed(["a", "a", "a"]).await;
    let [first_n, second_n] = [next_n(), next_n()];
    let first = world.hold(claim(1, first_n, 1)).await;
    assert_eq!(first.answer, list(&[x]));
    let second = first.next(claim(2, second_n, 1)).await;
    first.end(End::Commit).await;
    let second = second.held().await;
    assert_eq!(second.answer, list(&[y]));
    let third = second.next(claim(1, next_n(), 1)).await;
    second.end(End::Commit).await;
    let third = third.held().await;
    assert_eq!(third.answer, "");
    let finish = third.waiter(settle(1, first_n, x, "finish")).await;
    third.end(End::Commit).await;
    assert_eq!(finish.answer().await, Ok(format!("{z} unblock")));
    world.expect(y, &format!("running 2/{second_n}, charged 0")).await;
    world.expect(z, READY).await;
    world.expect_key("a", &[y, z], &[]).await;
}

/// T04. The job was blocked, and is not any more when the finish gets there.
pub(crate) async fn t04_a_finish_behind_a_block_that_was_rolled_back_finds_nothing(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.keyed(["a"]).await;
    let blocks = world.hold(claim(2, next_n(), 1)).await;
    let finish = blocks.waiter(settle(1, n, x, "finish")).await;
    blocks.end(End::Rollback).await;
    assert_eq!(finish.answer().await.as_deref(), Ok(""));
    world.expect(y, "ready, charged 0").await;
    world.expect_key("a", &[], &[]).await;
    assert_eq!(world.call(claim(2, next_n(), 1)).await, list(&[y]));
    world.expect_key("a", &[y], &[]).await;
}

/// T05. The finish has handed its permit on; the claim that waited for it gets none.
pub(crate) async fn t05_a_claim_behind_a_finish_does_not_overtake_the_blocked(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        let [z] = world.keyed(["a"]).await;
        let finish = world.hold(settle(1, n, x, "finish")).await;
        assert_eq!(finish.answer, format!("{y} unblock"));
        let late = finish.waiter(claim(2, next_n(), 1)).await;
        finish.end(end).await;
        assert_eq!(late.answer().await.as_deref(), Ok(""));
        world.expect(z, BLOCKED).await;
        let (holder, blocked) = end.either((y, vec![z]), (x, vec![y, z]));
        world.expect_key("a", &[holder], &blocked).await;
    }
}

/// T06. Each finish takes another blocked job, although the first one's choice is not committed.
pub(crate) async fn t06_two_finishes_unblock_two(lab: Lab) {
    let world = World::limited(lab, 5).await;
    for end in ENDS {
        world.clear().await;
        let (first_n, [v]) = world.running_keyed(["a"]).await;
        let (second_n, [w]) = world.running_keyed(["a"]).await;
        let (_, others) = world.running_keyed(["a", "a", "a"]).await;
        let [x, y, z] = world.blocked(["a", "a", "a"]).await;
        let first = world.hold(settle(1, first_n, v, "finish")).await;
        assert_eq!(first.answer, format!("{x} unblock"));
        let second = first.waiter(settle(1, second_n, w, "finish")).await;
        first.end(end).await;
        let next = end.either(y, x);
        assert_eq!(second.answer().await, Ok(format!("{next} unblock")));
        let holders = end.either([others.to_vec(), vec![x, y]], [vec![v], others.to_vec()]);
        let mut holders = holders.concat();
        holders.extend(end.either(None, Some(x)));
        world.expect_key("a", &holders, end.either(&[z], &[y, z])).await;
    }
}

/// T07. A finish does not pass over a job that a cancel is just taking, and may yet leave.
pub(crate) async fn t07_a_finish_behind_a_rolled_back_cancel_unblocks_the_job(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    assert_eq!(world.call(cancel_mark(y)).await, "true");
    let cancel = world.hold(cancel_take(y)).await;
    assert_eq!(cancel.answer, "true");
    let finish = cancel.waiter(settle(1, n, x, "finish")).await;
    cancel.end(End::Rollback).await;
    assert_eq!(finish.answer().await, Ok(format!("{y} unblock")));
    world.expect(y, READY).await;
    world.expect_key("a", &[y], &[]).await;
}

/// T08. After the cancel of the blocked job nothing waits for the key. The cancel itself freed no
/// permit: the blocked job held none.
pub(crate) async fn t08_a_finish_behind_the_cancel_of_the_blocked_leaves_the_key_free(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y, z] = world.blocked(["a", "a"]).await;
    for blocked in [y, z] {
        assert_eq!(world.call(cancel_mark(blocked)).await, "true");
    }
    assert_eq!(world.call(cancel_take(y)).await, "true");
    world.expect_key("a", &[x], &[z]).await;
    let cancel = world.hold(cancel_take(z)).await;
    let finish = cancel.waiter(settle(1, n, x, "finish")).await;
    cancel.end(End::Commit).await;
    assert_eq!(finish.answer().await.as_deref(), Ok(""));
    for job in [y, z] {
        world.expect(job, "cancel").await;
    }
    world.expect_key("a", &[], &[]).await;
}

/// T35. A group without a key is no group.
pub(crate) async fn t35_jobs_without_a_key_need_no_permit(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let call = "select e::text from jobkit.enqueue_all(jobkit.new_jobs('{act}', '{default}',
        '{0}', '{3}', array['{}'], p_concurrency_group => '{g}')) e";
    for _ in 0..2 {
        world.call(call.to_owned()).await;
    }
    assert_eq!(world.lab.count("jobkit.ready where concurrency_group is null").await, 2);
    assert_eq!(world.call(claim(1, next_n(), 5)).await.split(' ').count(), 2);
    assert_eq!(world.lab.count("jobkit.semaphores").await, 0);
    assert_eq!(world.lab.count("jobkit.claims where keyed").await, 0);
    world.lab.check_invariants().await;
}

/// T37. By priority, then age, whenever they were blocked.
pub(crate) async fn t37_the_blocked_job_of_the_best_priority_is_next(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let of = |priority| Keyed { priority, ..Keyed::from("a") };
    let [low, usual, late, urgent] = world.blocked([of(3), of(0), of(0), of(-3)]).await;
    let mut last = (1, n, x);
    for next in [urgent, usual, late, low] {
        let (worker, n, job) = last;
        assert_eq!(world.call(settle(worker, n, job, "finish")).await, format!("{next} unblock"));
        last = (2, world.claim(2, &[next]).await, next);
    }
    world.expect_key("a", &[low], &[]).await;
}

/// T38. The job gets the permit, and is cancelled all the same: the next one gets it then.
pub(crate) async fn t38_a_cancel_behind_the_unblocking_of_its_job_hands_the_permit_on(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y, z] = world.blocked(["a", "a"]).await;
        let finish = world.hold(settle(1, n, x, "finish")).await;
        assert_eq!(finish.answer, format!("{y} unblock"));
        assert_eq!(finish.bystander(cancel_mark(y)).await, "true");
        let cancel = finish.waiter(cancel_take(y)).await;
        finish.end(end).await;
        assert_eq!(cancel.answer().await.as_deref(), Ok("true"));
        world.expect(y, "cancel").await;
        world.expect(z, end.pick(READY, BLOCKED)).await;
        world.expect_key("a", &[end.either(z, x)], end.either(&[], &[z])).await;
    }
}

/// T75. Becoming due gives no permit.
pub(crate) async fn t75_a_due_job_of_a_busy_key_is_not_claimed(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.keyed([Keyed { delay: "1 hour", ..Keyed::from("a") }]).await;
    world.an_hour_later().await;
    let promotion = world.hold(promote(10)).await;
    assert_eq!(promotion.answer, "1");
    assert_eq!(promotion.bystander(claim(2, next_n(), 5)).await, "");
    promotion.end(End::Commit).await;
    world.expect(y, "ready, charged 0").await;
    assert_eq!(world.call(claim(2, next_n(), 5)).await, "");
    world.expect_key("a", &[x], &[y]).await;
    assert_eq!(world.call(sweep()).await, "0");
    assert_eq!(world.call(settle(1, n, x, "finish")).await, format!("{y} unblock"));
    world.expect_key("a", &[y], &[]).await;
}
