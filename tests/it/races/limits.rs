//! Limits that change under running jobs, and semaphores that come and go.

use jobkit_tests::Lab;

use super::calls::{
    Keyed, announce_limit, cancel_mark, cancel_take, claim, limit_group, limit_key, lock_key,
    pause, resume, settle, settle_all, sweep,
};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    t23_a_raised_limit_and_a_finish_both_unblock,
    t24_after_a_lowered_limit_nobody_follows_until_fewer_run,
    t25_whichever_binary_enqueues_the_announced_limit_counts,
    t127_a_claim_behind_the_end_of_a_semaphore_makes_it_anew,
    t127_a_claim_behind_a_finish_that_forgets_its_key_loses_nothing,
    a_limit_behind_the_end_of_its_semaphore_is_kept,
    a_finish_behind_a_change_of_its_key_judges_what_the_key_is_then,
    a_limit_of_a_group_waits_for_grants_in_flight,
    a_limit_of_a_group_waits_for_a_pause_that_grants,
    a_limit_raised_far_above_the_blocked_is_filled_in_steps,
    a_claim_behind_a_limit_of_its_group_grants_by_it,
    a_claim_behind_a_lowered_limit_of_its_group_grants_no_more,
    a_finish_behind_a_raised_group_limit_fills_them_all,
    a_sweep_beside_a_finish_unblocks_each_once,
    a_claim_behind_a_limit_of_its_key_grants_by_it,
    two_limits_of_a_key_take_turns,
    a_key_with_a_limit_of_its_own_is_kept_while_idle,
    a_limit_of_zero_stops_a_key,
    a_key_emptied_under_a_limit_of_zero_is_forgotten,
    an_unknown_group_has_no_limit,
    an_announcement_that_changes_nothing_waits_for_nobody,
];

const READY: &str = "ready with permit, charged 0";

/// T23. One blocked job for each permit, and never more than the limit at a time.
pub(crate) async fn t23_a_raised_limit_and_a_finish_both_unblock(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [w]) = world.running_keyed(["a"]).await;
        let [x, y, z] = world.blocked(["a", "a", "a"]).await;
        let raise = world.hold(limit_key("a", "3")).await;
        let finish = raise.waiter(settle(1, n, w, "finish")).await;
        raise.end(end).await;
        let told = end.either(z, x);
        assert_eq!(finish.answer().await, Ok(format!("{told} unblock")));
        let all = [x, y, z];
        world.expect_key("a", end.either(&all, &all[..1]), end.either(&[], &all[1..])).await;
    }
}

/// T24. Nobody is stopped; the permits that come back are kept until they fit.
pub(crate) async fn t24_after_a_lowered_limit_nobody_follows_until_fewer_run(lab: Lab) {
    let world = World::limited(lab, 3).await;
    for group in [false, true] {
        world.clear().await;
        let (n, [v, w, x]) = world.running_keyed(["a", "a", "a"]).await;
        let [y, z] = world.blocked(["a", "a"]).await;
        let lower = if group { limit_group("1") } else { limit_key("a", "1") };
        assert_eq!(world.call(lower).await, "true");
        world.expect_key("a", &[v, w, x], &[y, z]).await;
        assert_eq!(world.call(settle(1, n, v, "finish")).await, "");
        world.expect_key("a", &[w, x], &[y, z]).await;
        // One that is given back no longer fits: it is the first to follow.
        assert_eq!(world.call(settle(1, n, w, "release")).await, "");
        world.expect_key("a", &[x], &[w, y, z]).await;
        assert_eq!(world.call(settle(1, n, x, "finish")).await, format!("{w} unblock"));
        world.expect_key("a", &[w], &[y, z]).await;
        let n = world.claim(2, &[w]).await;
        assert_eq!(world.call(settle(2, n, w, "finish")).await, format!("{y} unblock"));
        world.expect_key("a", &[y], &[z]).await;
        assert_eq!(world.call(sweep()).await, "0");
    }
}

/// T25. The limit is a row that each start of a worker sets and no enqueue carries along; what an
/// operator said counts before it.
pub(crate) async fn t25_whichever_binary_enqueues_the_announced_limit_counts(lab: Lab) {
    let world = World::limited(lab, 2).await;
    for (announced, operator, granted) in
        [(1, "null", 1), (2, "null", 2), (1, "3", 3), (2, "3", 3), (2, "null", 2)]
    {
        world.clear().await;
        world.call(announce_limit("g", announced)).await;
        assert_eq!(world.call(limit_group(operator)).await, "true");
        let jobs = world.keyed(["a"; 4]).await;
        assert_eq!(world.call(claim(1, next_n(), 9)).await, list(&jobs[..granted]));
        world.expect_key("a", &jobs[..granted], &jobs[granted..]).await;
    }
}

/// T127. The last permit of a key comes back, and its semaphore goes; a claim was waiting for it.
pub(crate) async fn t127_a_claim_behind_the_end_of_a_semaphore_makes_it_anew(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y, z] = world.keyed(["a", "a"]).await;
        let finish = world.hold(settle(1, n, x, "finish")).await;
        assert_eq!(finish.answer, "");
        let claimed = finish.next(claim(2, next_n(), 1)).await;
        finish.end(end).await;
        let claimed = claimed.held().await;
        assert_eq!(claimed.answer, end.pick(&list(&[y]), ""));
        if end == End::Rollback {
            // The third job is parked already.
            assert_eq!(claimed.bystander(claim(1, next_n(), 1)).await, "");
            claimed.end(End::Commit).await;
        } else {
            let third = claimed.waiter(claim(1, next_n(), 1)).await;
            claimed.end(End::Commit).await;
            assert_eq!(third.answer().await.as_deref(), Ok(""));
        }
        world.expect_key("a", &[end.either(y, x)], end.either(&[z], &[y, z])).await;
        assert_eq!(world.lab.count("jobkit.semaphores").await, 1);
    }
}

/// T127. The semaphore was there when the claim came, and waited for; then it is not there.
pub(crate) async fn t127_a_claim_behind_a_finish_that_forgets_its_key_loses_nothing(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x, w]) = world.running_keyed(["a", "b"]).await;
        let [y] = world.keyed(["a"]).await;
        let next = world.hold(lock_key("b")).await;
        // It has the first semaphore, and goes on to the second.
        let both = settle_all(1, n, &[(x, "finish"), (w, "finish")]);
        let finish = next.waiter(both).await;
        let claimed = finish.waiter(claim(2, next_n(), 1)).await;
        next.end(end).await;
        assert_eq!(finish.answer().await.as_deref(), Ok(""));
        assert_eq!(claimed.answer().await, Ok(list(&[y])));
        world.expect_key("a", &[y], &[]).await;
    }
}

/// The semaphore goes while an operator waits for it: what he says counts all the same.
pub(crate) async fn a_limit_behind_the_end_of_its_semaphore_is_kept(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x, w]) = world.running_keyed(["a", "b"]).await;
    let next = world.hold(lock_key("b")).await;
    let finish = next.waiter(settle_all(1, n, &[(x, "finish"), (w, "finish")])).await;
    let limit = finish.waiter(limit_key("a", "2")).await;
    next.end(End::Commit).await;
    assert_eq!(finish.answer().await.as_deref(), Ok(""));
    assert_eq!(limit.answer().await.as_deref(), Ok("true"));
    world.expect_key("a", &[], &[]).await;
    assert_eq!(world.lab.count("jobkit.semaphores where override_limit = 2").await, 1);
}

/// A semaphore of which nothing is left is forgotten; what is left is seen when its lock is had.
pub(crate) async fn a_finish_behind_a_change_of_its_key_judges_what_the_key_is_then(lab: Lab) {
    let world = World::limited(lab, 2).await;
    for end in ENDS {
        for own in [false, true] {
            world.clear().await;
            let (n, [x]) = world.running_keyed(["a"]).await;
            let (before, after) = if own { ("null", "5") } else { ("5", "null") };
            assert_eq!(world.call(limit_key("a", before)).await, "true");
            let limit = world.hold(limit_key("a", after)).await;
            let finish = limit.waiter(settle(1, n, x, "finish")).await;
            limit.end(end).await;
            assert_eq!(finish.answer().await.as_deref(), Ok(""));
            let kept = end.either(own, !own);
            assert_eq!(world.lab.count("jobkit.semaphores").await, i64::from(kept));
            world.expect_key("a", &[], &[]).await;
        }
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.keyed(["a"]).await;
        let claimed = world.hold(claim(2, next_n(), 1)).await;
        let finish = claimed.waiter(settle(1, n, x, "finish")).await;
        claimed.end(end).await;
        assert_eq!(finish.answer().await.as_deref(), Ok(""));
        world.expect_key("a", end.either(&[y], &[]), &[]).await;
    }
}

/// A grant under the old limit never commits after the new one: the change waits for it.
pub(crate) async fn a_limit_of_a_group_waits_for_grants_in_flight(lab: Lab) {
    let world = World::limited(lab, 2).await;
    for end in ENDS {
        for announced in [false, true] {
            world.clear().await;
            world.call(announce_limit("g", 2)).await;
            world.call(limit_group("null")).await;
            let (n, [x, y]) = world.running_keyed(["a", "a"]).await;
            let [z] = world.blocked(["a"]).await;
            let lower = if announced { announce_limit("g", 1) } else { limit_group("1") };
            let finish = world.hold(settle(1, n, x, "finish")).await;
            assert_eq!(finish.answer, format!("{z} unblock"));
            let change = finish.waiter(lower).await;
            finish.end(end).await;
            assert_eq!(change.answer().await.as_deref(), Ok(if announced { "1" } else { "true" }));
            let (holders, blocked) = end.either(([y, z], vec![]), ([x, y], vec![z]));
            world.expect_key("a", &holders, &blocked).await;
            // By the new limit: the next permit that comes back is kept.
            let told = end.either(y, x);
            assert_eq!(world.call(settle(1, n, told, "finish")).await, "");
            world.lab.check_invariants().await;
        }
    }
}

/// The other way round: the claim waits for the change, and decides by it.
pub(crate) async fn a_claim_behind_a_limit_of_its_group_grants_by_it(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let jobs = world.keyed(["a", "a", "a"]).await;
        let raise = world.hold(limit_group("2")).await;
        assert_eq!(raise.answer, "true");
        let claimed = raise.waiter(claim(1, next_n(), 9)).await;
        raise.end(end).await;
        let granted = end.either(2, 1);
        assert_eq!(claimed.answer().await, Ok(list(&jobs[..granted])));
        world.expect_key("a", &jobs[..granted], &jobs[granted..]).await;
        assert_eq!(world.call(limit_group("null")).await, "true");
    }
}

/// The same for a limit that is lowered; and what comes back of it leaves the rest in their hands.
pub(crate) async fn a_claim_behind_a_lowered_limit_of_its_group_grants_no_more(lab: Lab) {
    let world = World::limited(lab, 2).await;
    for end in ENDS {
        world.clear().await;
        let jobs = world.keyed(["a", "a"]).await;
        let lower = world.hold(limit_group("1")).await;
        assert_eq!(lower.answer, "true");
        let n = next_n();
        let claimed = lower.waiter(claim(1, n, 9)).await;
        lower.end(end).await;
        let granted = end.either(1, 2);
        assert_eq!(claimed.answer().await, Ok(list(&jobs[..granted])));
        world.expect_key("a", &jobs[..granted], &jobs[granted..]).await;
        let next = end.either(format!("{} unblock", jobs[1]), String::new());
        assert_eq!(world.call(settle(1, n, jobs[0], "finish")).await, next);
        world.expect_key("a", &jobs[1..], &[]).await;
        assert_eq!(world.call(limit_group("null")).await, "true");
    }
}

/// A raised limit of a group is given out by whoever comes first: a finish, or the sweep.
pub(crate) async fn a_finish_behind_a_raised_group_limit_fills_them_all(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [w]) = world.running_keyed(["a"]).await;
        let [x, y, z] = world.blocked(["a", "a", "a"]).await;
        let raise = world.hold(limit_group("2")).await;
        let finish = raise.waiter(settle(1, n, w, "finish")).await;
        raise.end(end).await;
        assert_eq!(finish.answer().await, Ok(format!("{x} unblock")));
        let all = [x, y, z];
        let granted = end.either(2, 1);
        world.expect_key("a", &all[..granted], &all[granted..]).await;
        assert_eq!(world.call(sweep()).await, "0");
        assert_eq!(world.call(limit_group("null")).await, "true");
    }
}

/// The sweep chose the key before it waited; what it reads under the lock is what counts.
pub(crate) async fn a_sweep_beside_a_finish_unblocks_each_once(lab: Lab) {
    let world = World::limited(lab, 2).await;
    for end in ENDS {
        world.clear().await;
        assert_eq!(world.call(limit_group("null")).await, "true");
        let (n, [v, w]) = world.running_keyed(["a", "a"]).await;
        let [x, y, z] = world.blocked(["a", "a", "a"]).await;
        assert_eq!(world.call(limit_group("3")).await, "true");
        let finish = world.hold(settle(1, n, v, "finish")).await;
        assert_eq!(finish.answer, format!("{x} unblock"));
        let swept = finish.waiter(sweep()).await;
        finish.end(end).await;
        assert_eq!(swept.answer().await.as_deref(), Ok(end.pick("0", "1")));
        let (holders, blocked) = end.either(([w, x, y], vec![z]), ([v, w, x], vec![y, z]));
        world.expect_key("a", &holders, &blocked).await;
    }
}

/// The limit of a key is changed under its semaphore alone.
pub(crate) async fn a_claim_behind_a_limit_of_its_key_grants_by_it(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let jobs = world.keyed(["a", "a", "b"]).await;
        // Without a semaphore before: the claim waits for the new row.
        let raise = world.hold(limit_key("a", "2")).await;
        assert_eq!(raise.bystander(limit_key("b", "1")).await, "true");
        let claimed = raise.waiter(claim(1, next_n(), 9)).await;
        raise.end(end).await;
        let (granted, blocked) =
            end.either((jobs.to_vec(), vec![]), (vec![jobs[0], jobs[2]], vec![jobs[1]]));
        assert_eq!(claimed.answer().await, Ok(list(&granted)));
        world.expect_key("a", &granted[..granted.len() - 1], &blocked).await;
        world.expect_key("b", &[jobs[2]], &[]).await;
    }
}

/// Two operators: the later one counts, and what either frees is granted once.
pub(crate) async fn two_limits_of_a_key_take_turns(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (_, [w]) = world.running_keyed(["a"]).await;
        let [x, y, z] = world.blocked(["a", "a", "a"]).await;
        let first = world.hold(limit_key("a", "2")).await;
        let second = first.waiter(limit_key("a", "3")).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok("true"));
        world.expect_key("a", &[w, x, y], &[z]).await;
    }
}

/// Forgetting its semaphore would forget what the operator said.
pub(crate) async fn a_key_with_a_limit_of_its_own_is_kept_while_idle(lab: Lab) {
    let world = World::limited(lab, 1).await;
    assert_eq!(world.call(limit_key("a", "2")).await, "true");
    let (n, [x, y]) = world.running_keyed(["a", "a"]).await;
    let done = settle_all(1, n, &[(x, "finish"), (y, "finish")]);
    assert_eq!(world.call(done).await, "");
    world.expect_key("a", &[], &[]).await;
    assert_eq!(world.lab.count("jobkit.semaphores where override_limit = 2").await, 1);
    let (n, [x, y]) = world.running_keyed(["a", "a"]).await;
    // Given back to its group while it is in use, it goes with its last permit …
    assert_eq!(world.call(limit_key("a", "null")).await, "true");
    world.expect_key("a", &[x, y], &[]).await;
    assert_eq!(world.call(settle(1, n, x, "finish")).await, "");
    world.expect_key("a", &[y], &[]).await;
    assert_eq!(world.call(settle(1, n, y, "finish")).await, "");
    assert_eq!(world.lab.count("jobkit.semaphores").await, 0);
    // … and at once while it is not.
    for limit in ["5", "null"] {
        assert_eq!(world.call(limit_key("a", limit)).await, "true");
        world.lab.check_invariants().await;
    }
    assert_eq!(world.lab.count("jobkit.semaphores").await, 0);
}

/// What runs goes on; nothing follows until the limit is another one.
pub(crate) async fn a_limit_of_zero_stops_a_key(lab: Lab) {
    let world = World::limited(lab, 2).await;
    let (n, [w]) = world.running_keyed(["a"]).await;
    assert_eq!(world.call(limit_key("a", "0")).await, "true");
    let [x, y] = world.blocked(["a", "a"]).await;
    assert_eq!(world.call(settle(1, n, w, "finish")).await, "");
    world.expect_key("a", &[], &[x, y]).await;
    assert_eq!(world.call(sweep()).await, "0");
    assert_eq!(world.call(limit_key("a", "null")).await, "true");
    for job in [x, y] {
        world.expect(job, READY).await;
    }
    world.expect_key("a", &[x, y], &[]).await;
}

/// No permit is free then, and yet nobody waits for one.
pub(crate) async fn a_key_emptied_under_a_limit_of_zero_is_forgotten(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [w]) = world.running_keyed(["a"]).await;
    let [x] = world.blocked(["a"]).await;
    world.call(cancel_mark(x)).await;
    assert_eq!(world.call(cancel_take(x)).await, "true");
    assert_eq!(world.call(limit_group("0")).await, "true");
    assert_eq!(world.call(settle(1, n, w, "finish")).await, "");
    world.expect_key("a", &[], &[]).await;
    let [y] = world.blocked(["a"]).await;
    world.call(cancel_mark(y)).await;
    assert_eq!(world.call(cancel_take(y)).await, "true");
    world.expect_key("a", &[], &[]).await;
}

/// A mistyped name makes no semaphore.
pub(crate) async fn an_unknown_group_has_no_limit(lab: Lab) {
    let world = World::new(lab).await;
    assert_eq!(world.call(limit_group("3")).await, "false");
    assert_eq!(world.call(limit_key("a", "3")).await, "false");
    assert_eq!(world.lab.count("jobkit.semaphores").await, 0);
    assert_eq!(world.lab.count("jobkit.limits").await, 0);
}

/// A rolling deploy of the same binary takes no lock that claims would feel.
pub(crate) async fn an_announcement_that_changes_nothing_waits_for_nobody(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let [x] = world.keyed(["a"]).await;
    let claimed = world.hold(claim(1, next_n(), 1)).await;
    assert_eq!(claimed.bystander(announce_limit("g", 1)).await, "0");
    let change = claimed.waiter(announce_limit("g", 2)).await;
    claimed.end(End::Commit).await;
    assert_eq!(change.answer().await.as_deref(), Ok("1"));
    world.expect_key("a", &[x], &[]).await;
}

/// The permit that a paused queue gives up goes to another job of its key.
pub(crate) async fn a_limit_of_a_group_waits_for_a_pause_that_grants(lab: Lab) {
    let world = World::limited(lab, 2).await;
    world.register_for(3, "other", "act").await;
    for end in ENDS {
        world.clear().await;
        world.call(resume("default")).await;
        world.call(limit_group("2")).await;
        let (n, [x, y]) = world.running_keyed(["a", "a"]).await;
        let [z] = world.blocked(["a"]).await;
        let other = Keyed { queue: "other", ..Keyed::from("a") };
        let [w] = world.keyed([other]).await;
        let elsewhere = claim(3, next_n(), 1).replace("{default}", "{other}");
        assert_eq!(world.call(elsewhere).await, "", "{w} is blocked");
        assert_eq!(world.call(settle(1, n, x, "finish")).await, format!("{z} unblock"));
        let pausing = world.hold(pause("default")).await;
        let lower = pausing.waiter(limit_group("1")).await;
        pausing.end(end).await;
        assert_eq!(lower.answer().await.as_deref(), Ok("true"));
        let (holder, blocked) = end.either((w, z), (z, w));
        world.expect_key("a", &[y.min(holder), y.max(holder)], &[blocked]).await;
    }
}

/// A thousand at a time: one call must not take longer than its deadline.
pub(crate) async fn a_limit_raised_far_above_the_blocked_is_filled_in_steps(lab: Lab) {
    let world = World::limited(lab, 1).await;
    // It would refuse the step after which there is still more to give.
    world.lab.run("drop schema guard cascade").await;
    let (_, [_]) = world.running_keyed(["a"]).await;
    let _: [i64; 1200] = world.keyed(["a"; 1200]).await;
    while world.lab.count("jobkit.ready").await > 0 {
        assert_eq!(world.call(claim(2, next_n(), 200)).await, "");
    }
    world.call(limit_group("100000")).await;
    for unblocked in ["1000", "200", "0"] {
        assert_eq!(world.call(sweep()).await, unblocked);
    }
    world.lab.check_invariants().await;
}
