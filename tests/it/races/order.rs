//! Several keys at once: everybody locks them in one order, so that nobody waits in a circle.

use jobkit_tests::Lab;

use super::calls::{
    Keyed, announce_limit, cancel_mark_all, cancel_take_all, claim, limit_group, lock_key, promote,
    reap_claim, release_lost, settle_all, sweep,
};
use super::kit::{Answer, End, World, list, next_n};

in_a_lab![
    t09_claims_of_the_same_keys_in_opposite_order_do_not_deadlock,
    t12_two_claims_of_due_jobs_over_three_keys_take_turns,
    a_finish_and_a_claim_of_the_same_keys_do_not_deadlock,
    a_reap_and_a_finish_of_the_same_keys_do_not_deadlock,
    lost_claims_of_the_same_keys_do_not_deadlock,
    a_cancel_of_many_and_a_finish_of_many_do_not_deadlock,
    a_sweep_and_a_finish_of_the_same_keys_do_not_deadlock,
    keys_of_two_groups_are_locked_in_one_order,
    a_job_blocked_behind_a_cancel_does_not_deadlock_it,
    a_key_made_behind_a_cancel_does_not_deadlock_it,
    a_permit_granted_behind_a_cancel_is_not_lost,
    a_mark_and_the_end_of_the_same_jobs_do_not_deadlock,
];

/// The first call has the semaphore of `a` and is kept waiting for that of `m`, when the second
/// comes. It waits for `a`; had it `z` by then, the first would wait for it in turn.
async fn meet(world: &World, first: String, second: String) -> [Answer; 2] {
    let between = world.hold(lock_key("m")).await;
    let first = between.waiter(first).await;
    let second = first.waiter(second).await;
    between.end(End::Rollback).await;
    [first.answer().await, second.answer().await]
}

/// Ids in the order of the keys asked for, run as one batch by worker 1.
async fn batch<const N: usize>(world: &World, keys: [&'static str; N]) -> (i64, [i64; N]) {
    world.running_keyed(keys).await
}

fn all<'a>(jobs: &[i64], outcome: &'a str) -> Vec<(i64, &'a str)> {
    jobs.iter().map(|job| (*job, outcome)).collect()
}

/// T09. The keys come in the order of the jobs, which is the opposite one.
pub(crate) async fn t09_claims_of_the_same_keys_in_opposite_order_do_not_deadlock(lab: Lab) {
    let world = World::limited(lab, 9).await;
    batch(&world, ["m"]).await;
    let first = world.keyed(["a", "m", "z"]).await;
    let second = world.keyed(["z", "a"]).await;
    let [first_n, second_n] = [next_n(), next_n()];
    let answers = meet(&world, claim(1, first_n, 3), claim(2, second_n, 3)).await;
    assert_eq!(answers, [Ok(list(&first)), Ok(list(&second))]);
    world.expect_key("a", &[first[0], second[1]], &[]).await;
    world.expect_key("z", &[first[2], second[0]], &[]).await;
}

/// T12. Two promotions, then two claims: nothing is promoted or granted twice.
pub(crate) async fn t12_two_claims_of_due_jobs_over_three_keys_take_turns(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let due = |at: usize| Keyed { delay: "1 hour", ..Keyed::from(["a", "b", "c"][at % 3]) };
    let jobs: [i64; 20] = world.keyed(std::array::from_fn(due)).await;
    world.an_hour_later().await;
    let first = world.hold(promote(10)).await;
    assert_eq!(first.answer, "10");
    assert_eq!(first.bystander(promote(20)).await, "10");
    first.end(End::Commit).await;
    let first = world.hold(claim(1, next_n(), 10)).await;
    assert_eq!(first.answer, list(&jobs[..3]));
    // The first one has parked what the second would find, or is at it.
    assert_eq!(first.bystander(claim(2, next_n(), 10)).await, "");
    first.end(End::Commit).await;
    for (at, key) in ["a", "b", "c"].into_iter().enumerate() {
        let of_key: Vec<i64> = jobs.iter().copied().skip(at).step_by(3).collect();
        world.expect_key(key, &of_key[..1], &of_key[1..]).await;
    }
}

/// A claim makes semaphores and locks those that are there, in the order of the finish.
pub(crate) async fn a_finish_and_a_claim_of_the_same_keys_do_not_deadlock(lab: Lab) {
    let world = World::limited(lab, 9).await;
    for finish_first in [true, false] {
        world.clear().await;
        batch(&world, ["a", "m", "z"]).await;
        let keys = if finish_first { ["z", "a", "m"] } else { ["z", "a", "a"] };
        let (n, running) = batch(&world, keys).await;
        let ready = world.keyed(["z", "a", "m"]).await;
        let finish = settle_all(1, n, &all(&running, "finish"));
        let claimed = claim(2, next_n(), 3);
        let expected = list(&ready);
        if finish_first {
            assert_eq!(meet(&world, finish, claimed).await, [Ok(String::new()), Ok(expected)]);
        } else {
            assert_eq!(meet(&world, claimed, finish).await, [Ok(expected), Ok(String::new())]);
        }
        assert_eq!(world.lab.count("jobkit.permits").await, 6);
        world.lab.check_invariants().await;
    }
}

/// The reaper of one worker beside the outcomes of another.
pub(crate) async fn a_reap_and_a_finish_of_the_same_keys_do_not_deadlock(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for reap_first in [true, false] {
        world.clear().await;
        world.register(1).await;
        world.call(limit_group("2")).await;
        let dead_jobs = world.keyed(["z", "m", "a"]).await;
        let dead = world.claim(1, &dead_jobs).await;
        let jobs = world.keyed(["z", "m", "a"]).await;
        let n = world.claim(2, &jobs).await;
        world.call(limit_group("null")).await;
        world.bury_worker(1).await;
        let finish = settle_all(2, n, &all(&jobs, "finish"));
        if reap_first {
            let [reaped, finished] = meet(&world, reap_claim(1, dead), finish).await;
            assert_eq!(reaped.as_deref(), Ok("3"));
            assert!(finished.is_ok());
        } else {
            let [finished, reaped] = meet(&world, finish, reap_claim(1, dead)).await;
            assert_eq!((finished.as_deref(), reaped.as_deref()), (Ok(""), Ok("3")));
        }
        for (key, job) in ["z", "m", "a"].into_iter().zip(dead_jobs) {
            world.expect_key(key, &[job], &[]).await;
        }
    }
}

/// Claim after claim is given back; their keys are locked together, in order.
pub(crate) async fn lost_claims_of_the_same_keys_do_not_deadlock(lab: Lab) {
    let world = World::limited(lab, 2).await;
    let (_, [z, a]) = batch(&world, ["z", "a"]).await;
    let (n, [m]) = batch(&world, ["m"]).await;
    let others = world.keyed(["z", "m", "a"]).await;
    let other = world.claim(2, &others).await;
    let finish = settle_all(2, other, &all(&others, "finish"));
    let answers = meet(&world, release_lost(1, n, &[]), finish).await;
    assert_eq!(answers, [Ok("3".to_owned()), Ok(String::new())]);
    for (key, job) in [("z", z), ("a", a), ("m", m)] {
        world.expect(job, "ready with permit, charged 0").await;
        world.expect_key(key, &[job], &[]).await;
    }
}

/// Blocked jobs of many keys are cancelled while their holders finish.
pub(crate) async fn a_cancel_of_many_and_a_finish_of_many_do_not_deadlock(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for cancel_first in [true, false] {
        world.clear().await;
        let (n, running) = batch(&world, ["z", "m", "a"]).await;
        let blocked = world.blocked(["z", "a", "m"]).await;
        let next = world.blocked(["m", "a", "z"]).await;
        assert_eq!(world.call(cancel_mark_all(&blocked)).await, "3");
        let cancel = cancel_take_all(&blocked);
        let finish = settle_all(1, n, &all(&running, "finish"));
        let pair = if cancel_first { [cancel, finish] } else { [finish, cancel] };
        let [first, second] = pair;
        let answers = meet(&world, first, second).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        for (key, job) in ["m", "a", "z"].into_iter().zip(next) {
            world.expect_key(key, &[job], &[]).await;
        }
        for job in blocked {
            world.expect(job, "cancel").await;
        }
    }
}

/// The sweep fills what a raised limit freed, key by key, while finishes hand on.
pub(crate) async fn a_sweep_and_a_finish_of_the_same_keys_do_not_deadlock(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for sweep_first in [true, false] {
        world.clear().await;
        world.call(limit_group("null")).await;
        let (n, running) = batch(&world, ["z", "m", "a"]).await;
        let blocked = world.blocked(["z", "a", "m"]).await;
        world.call(limit_group("2")).await;
        let finish = settle_all(1, n, &all(&running, "finish"));
        let pair = if sweep_first { [sweep(), finish] } else { [finish, sweep()] };
        let [first, second] = pair;
        let answers = meet(&world, first, second).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        for (key, job) in ["z", "a", "m"].into_iter().zip(blocked) {
            world.expect_key(key, &[job], &[]).await;
        }
    }
}

/// The key comes before the group: `a` is of the last group, and is locked first all the same.
pub(crate) async fn keys_of_two_groups_are_locked_in_one_order(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let keys = ["z", "m", "a"].map(Keyed::from);
    let keys = keys.map(|job| Keyed { group: if job.key == "a" { "h" } else { "g" }, ..job });
    for first in ["claim", "finish", "cancel", "sweep"] {
        world.clear().await;
        world.call(limit_group("null")).await;
        world.call(announce_limit("h", 1)).await;
        let (n, running) = world.running_keyed(keys).await;
        let blocked = world.blocked(keys).await;
        let finish = settle_all(1, n, &all(&running, "finish"));
        if first == "sweep" {
            world.call(limit_group("2")).await;
            world.call(announce_limit("h", 2)).await;
        } else if first == "cancel" {
            assert_eq!(world.call(cancel_mark_all(&blocked)).await, "3");
        } else {
            world.keyed(keys).await;
        }
        let (first, second) = match first {
            "claim" => (claim(2, next_n(), 3), finish),
            "finish" => (finish, claim(2, next_n(), 3)),
            "cancel" => (cancel_take_all(&blocked), finish),
            _ => (sweep(), finish),
        };
        let answers = meet(&world, first, second).await;
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        world.lab.check_invariants().await;
    }
}

/// The cancel found the job neither blocked nor free, and no semaphore of its key to lock: a claim
/// had the job in hand. When the claim has committed, the job is blocked, and a finish that holds
/// the semaphore is about to unblock it.
pub(crate) async fn a_job_blocked_behind_a_cancel_does_not_deadlock_it(lab: Lab) {
    let world = World::limited(lab, 1).await;
    // Keeps the cancel between its look for semaphores and its look for blocked jobs.
    let hold = world.hold_before("withdraw", "with asked as materialized").await;
    let [x, y] = world.keyed(["a", "a"]).await;
    assert_eq!(world.call(cancel_mark_all(&[y])).await, "1");
    let n = next_n();
    let claimed = world.hold(claim(1, n, 2)).await;
    assert_eq!(claimed.answer, list(&[x]));
    let cancel = hold.waiter(cancel_take_all(&[y])).await;
    claimed.end(End::Commit).await;
    world.expect_key("a", &[x], &[y]).await;
    // Keeps the finish between its semaphore and the job it unblocks.
    let lock = format!("select kind from jobkit.jobs where id = {x} for update");
    let job = world.hold(lock).await;
    let finish = job.waiter(settle_all(1, n, &[(x, "finish")])).await;
    hold.end(End::Commit).await;
    cancel.until_answered_or_held_up().await;
    job.end(End::Commit).await;
    assert_eq!(finish.answer().await, Ok(format!("{y} unblock")));
    assert_eq!(cancel.answer().await.as_deref(), Ok(""));
    // The mark is there: what the cancel missed its repetition takes.
    assert_eq!(world.call(cancel_take_all(&[y])).await, list(&[y]));
    world.expect(y, "cancel").await;
    world.expect_key("a", &[], &[]).await;
}

/// The cancel has a ready job whose key had no semaphore when it looked, and holds that of another
/// key. Now there is one, and a finish holds it that waits for the other: the cancel must not wait
/// for it in turn. The job it took held no permit.
pub(crate) async fn a_key_made_behind_a_cancel_does_not_deadlock_it(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (_, [m]) = batch(&world, ["m"]).await;
    let [blocked] = world.blocked(["m"]).await;
    let [other, ready] = world.keyed(["a", "a"]).await;
    assert_eq!(world.call(cancel_mark_all(&[blocked, ready])).await, "2");
    let hold = world.hold_before("withdraw", "select s.groups, s.keys, s.freed into").await;
    let cancel = hold.waiter(cancel_take_all(&[blocked, ready])).await;
    let n = world.claim(2, &[other]).await;
    let claims = format!(
        "delete from jobkit.claims where worker_id = 1;
        update jobkit.claims set job_ids = job_ids || {m}::bigint where n = {n}"
    );
    world.lab.run(&claims).await;
    let both = settle_all(2, n, &[(other, "finish"), (m, "finish")]);
    let finish = cancel.waiter(both).await;
    hold.end(End::Commit).await;
    assert_eq!(cancel.answer().await, Ok(list(&[blocked, ready])));
    assert_eq!(finish.answer().await.as_deref(), Ok(""));
    for job in [blocked, ready] {
        world.expect(job, "cancel").await;
    }
    world.expect_key("a", &[], &[]).await;
    world.expect_key("m", &[], &[]).await;
}

/// The job was ready when the cancel looked for semaphores, and is ready again when it looks for
/// the job: with a permit that the cancel has no lock to take back.
pub(crate) async fn a_permit_granted_behind_a_cancel_is_not_lost(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in [End::Rollback, End::Commit] {
        world.clear().await;
        let [w, x] = world.keyed(["a", "a"]).await;
        let n = next_n();
        let lock = "lock table jobkit.ready in share row exclusive mode";
        let busy = world.hold_after(lock, claim(1, n, 2)).await;
        assert_eq!(busy.answer, list(&[w]));
        assert_eq!(busy.bystander(cancel_mark_all(&[x])).await, "1");
        let cancel = busy.waiter(cancel_take_all(&[x])).await;
        let busy = busy.go_on(settle_all(1, n, &[(w, "finish")])).await;
        assert_eq!(busy.answer, format!("{x} unblock"));
        busy.end(end).await;
        assert_eq!(cancel.answer().await.as_deref(), Ok(end.pick("", &list(&[x]))));
        world.lab.check_invariants().await;
        world.call(cancel_take_all(&[x])).await;
        world.expect(x, "cancel").await;
        world.expect_key("a", &[], &[]).await;
    }
}

/// A mark of many that waited for one with others in hand could wait for a producer, or for an end
/// that waits for it.
pub(crate) async fn a_mark_and_the_end_of_the_same_jobs_do_not_deadlock(lab: Lab) {
    let world = World::new(lab).await;
    let jobs @ [_, y, _] = world.ready::<3>().await;
    let lock = || format!("select kind from jobkit.jobs where id = {y} for update");
    let between = world.hold(lock()).await;
    assert_eq!(between.bystander(cancel_mark_all(&jobs)).await, "2");
    // Of one alone it waits.
    let alone = between.waiter(cancel_mark_all(&[y])).await;
    between.end(End::Rollback).await;
    assert_eq!(alone.answer().await, Ok("1".to_owned()));

    // An end has the oldest in hand, and waits for the next.
    let between = world.hold(lock()).await;
    let end = between.waiter(cancel_take_all(&jobs)).await;
    assert_eq!(between.bystander(cancel_mark_all(&jobs)).await, "1");
    between.end(End::Rollback).await;
    assert_eq!(end.answer().await, Ok(list(&jobs)));
    world.lab.check_invariants().await;
}
