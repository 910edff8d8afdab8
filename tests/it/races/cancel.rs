//! A cancel beside everything that moves a job: the mark ends what the taking misses.

use jobkit_tests::Lab;

use super::calls::{cancel_mark, cancel_take, claim, promote, reap_claim, settle};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    a_marked_job_is_handed_out_only_to_be_cancelled,
    a_claim_in_flight_is_not_waited_for_by_a_cancel,
    a_mark_on_a_running_job_turns_every_wait_into_an_end,
    a_retry_behind_a_mark_ends_the_job,
    a_mark_behind_a_retry_finds_the_job_waiting,
    a_mark_behind_a_finish_finds_no_job,
    a_finish_behind_a_mark_is_a_finish,
    a_reap_behind_a_mark_ends_the_job,
    a_cancelled_job_on_its_way_out_is_not_claimed,
    two_cancels_end_a_job_once,
    a_promotion_in_flight_is_not_waited_for_by_a_cancel,
];

/// T102: marked and not yet taken, the job is claimed as cancelled, and a retry ends it.
pub(crate) async fn a_marked_job_is_handed_out_only_to_be_cancelled(lab: Lab) {
    let world = World::new(lab).await;
    let [x] = world.ready().await;
    assert_eq!(world.call(cancel_mark(x)).await, "true");
    let n = next_n();
    assert_eq!(world.call(claim(1, n, 1)).await, format!("{x}!"));
    assert_eq!(world.call(settle(1, n, x, "retry")).await, format!("{x} cancel"));
    world.expect(x, "cancel").await;
    world.lab.check_invariants().await;
}

/// T102: both halves of a cancel pass beside a claim in flight. After its commit the mark ends the
/// job; after its rollback the job waits again, and is taken.
pub(crate) async fn a_claim_in_flight_is_not_waited_for_by_a_cancel(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let [x] = world.ready().await;
        let n = next_n();
        let claimed = world.hold(claim(1, n, 1)).await;
        assert_eq!(claimed.answer, list(&[x]));
        assert_eq!(claimed.bystander(cancel_mark(x)).await, "true");
        assert_eq!(claimed.bystander(cancel_take(x)).await, "false");
        claimed.end(end).await;
        if end == End::Commit {
            assert_eq!(world.call(cancel_take(x)).await, "false");
            assert_eq!(world.call(settle(1, n, x, "retry")).await, format!("{x} cancel"));
        }
        assert_eq!(world.call(cancel_take(x)).await, "true");
        world.expect(x, "cancel").await;
        assert_eq!(world.failures(x).await, "");
    }
    world.lab.check_invariants().await;
}

/// T102: after the mark a retry, a snooze and a release end the job; a finish is a finish.
pub(crate) async fn a_mark_on_a_running_job_turns_every_wait_into_an_end(lab: Lab) {
    let world = World::new(lab).await;
    for (outcome, ending) in [
        ("retry", "cancel"),
        ("snooze", "cancel"),
        ("release", "cancel"),
        ("finish", "finish"),
        ("discard", "discard"),
        ("bury", "exhausted"),
    ] {
        let (n, [x]) = world.running().await;
        assert_eq!(world.call(cancel_mark(x)).await, "true");
        assert_eq!(world.call(cancel_take(x)).await, "false");
        let told = if ending == "cancel" { format!("{x} cancel") } else { String::new() };
        assert_eq!(world.call(settle(1, n, x, outcome)).await, told, "{outcome}");
        world.expect(x, ending).await;
        assert_eq!(world.call(cancel_take(x)).await, "true");
    }
    world.lab.check_invariants().await;
}

/// T102: the mark in flight. The retry waits for it, and sees it.
pub(crate) async fn a_retry_behind_a_mark_ends_the_job(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["retry", "snooze", "release"] {
        for end in ENDS {
            world.clear().await;
            let (n, [x]) = world.running().await;
            let mark = world.hold(cancel_mark(x)).await;
            assert_eq!(mark.answer, "true");
            let settled = mark.waiter(settle(1, n, x, outcome)).await;
            mark.end(end).await;
            let told = format!("{x} cancel");
            assert_eq!(settled.answer().await.as_deref(), Ok(end.pick(&told, "")), "{outcome}");
            if end == End::Commit {
                world.expect(x, "cancel").await;
            } else {
                assert_ne!(world.place(x).await, "cancel", "{outcome}");
            }
            world.lab.check_invariants().await;
        }
    }
}

/// T102: the retry in flight. The mark waits for it; the job then waits for its time, and is taken.
pub(crate) async fn a_mark_behind_a_retry_finds_the_job_waiting(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (n, [x]) = world.running().await;
        let retry = world.hold(settle(1, n, x, "retry")).await;
        let mark = retry.waiter(cancel_mark(x)).await;
        retry.end(end).await;
        assert_eq!(mark.answer().await.as_deref(), Ok("true"));
        assert_eq!(world.call(cancel_take(x)).await, end.pick("true", "false"));
        if end == End::Rollback {
            assert_eq!(world.call(settle(1, n, x, "retry")).await, format!("{x} cancel"));
        }
        world.expect(x, "cancel").await;
    }
    world.lab.check_invariants().await;
}

/// T101: the job has ended when the mark gets there.
pub(crate) async fn a_mark_behind_a_finish_finds_no_job(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (n, [x]) = world.running().await;
        let finish = world.hold(settle(1, n, x, "finish")).await;
        let mark = finish.waiter(cancel_mark(x)).await;
        finish.end(end).await;
        assert_eq!(mark.answer().await.as_deref(), Ok(end.pick("false", "true")));
        assert_eq!(world.call(cancel_take(x)).await, end.pick("true", "false"));
        world.expect(x, end.pick("finish", &format!("running 1/{n}, charged 0"))).await;
    }
    world.lab.check_invariants().await;
}

/// T101: work that is done is done, whatever was asked meanwhile.
pub(crate) async fn a_finish_behind_a_mark_is_a_finish(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (n, [x]) = world.running().await;
        let mark = world.hold(cancel_mark(x)).await;
        let finish = mark.waiter(settle(1, n, x, "finish")).await;
        mark.end(end).await;
        assert_eq!(finish.answer().await.as_deref(), Ok(""));
        world.expect(x, "finish").await;
    }
    world.lab.check_invariants().await;
}

/// T102: the worker died, and its job is being cancelled while it is reaped.
pub(crate) async fn a_reap_behind_a_mark_ends_the_job(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        world.register(1).await;
        let (n, [x]) = world.running().await;
        world.bury_worker(1).await;
        let mark = world.hold(cancel_mark(x)).await;
        let reap = mark.waiter(reap_claim(1, n)).await;
        mark.end(end).await;
        assert_eq!(reap.answer().await.as_deref(), Ok("1"));
        world.expect(x, end.pick("cancel", "ready, charged 1")).await;
    }
    world.lab.check_invariants().await;
}

/// A job that a cancel is just taking is claimed by nobody, unless the cancel comes to nothing.
pub(crate) async fn a_cancelled_job_on_its_way_out_is_not_claimed(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let [x] = world.ready().await;
        assert_eq!(world.call(cancel_mark(x)).await, "true");
        let taken = world.hold(cancel_take(x)).await;
        assert_eq!(taken.answer, "true");
        assert_eq!(taken.bystander(claim(1, next_n(), 1)).await, "");
        taken.end(end).await;
        let marked = format!("{x}!");
        assert_eq!(world.call(claim(1, next_n(), 1)).await, end.pick("", &marked));
    }
    world.lab.check_invariants().await;
}

/// Two operators at one job: the second one neither waits nor takes.
pub(crate) async fn two_cancels_end_a_job_once(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let [x] = world.ready().await;
        assert_eq!(world.call(cancel_mark(x)).await, "true");
        let first = world.hold(cancel_take(x)).await;
        assert_eq!(first.bystander(cancel_take(x)).await, "false");
        first.end(end).await;
        assert_eq!(world.call(cancel_take(x)).await, "true");
        world.expect(x, "cancel").await;
    }
    world.lab.check_invariants().await;
}

/// A promotion holds the row of `scheduled`; the cancel passes it by and is repeated.
pub(crate) async fn a_promotion_in_flight_is_not_waited_for_by_a_cancel(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let [x] = world.due().await;
        let promotion = world.hold(promote(10)).await;
        assert_eq!(promotion.answer, "1");
        assert_eq!(promotion.bystander(cancel_mark(x)).await, "true");
        assert_eq!(promotion.bystander(cancel_take(x)).await, "false");
        promotion.end(end).await;
        assert_eq!(world.call(cancel_take(x)).await, "true");
        world.expect(x, "cancel").await;
    }
    world.lab.check_invariants().await;
}
