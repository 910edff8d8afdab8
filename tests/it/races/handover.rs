//! A permit goes on in the transaction that ends, puts off or takes back its job: once, whoever
//! else is at it.

use jobkit_tests::Lab;

use super::calls::{
    cancel_mark, cancel_mark_all, cancel_take, cancel_take_all, claim, heartbeat, reap_claim,
    reap_workers, release_later, release_lost, reschedule, settle, settle_all, sweep,
    sweep_unserved,
};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    every_way_out_hands_the_permit_on,
    every_way_to_wait_gives_the_permit_up,
    two_jobs_of_a_batch_unblock_two,
    a_mixed_batch_frees_what_it_held,
    t14_a_finish_killed_before_its_commit_loses_no_permit,
    t15_a_finish_behind_a_reap_frees_nothing,
    t16_a_reap_beside_a_finish_frees_nothing,
    t17_a_failure_of_the_first_attempt_leaves_the_permit_of_the_second,
    t18_two_reapers_free_a_permit_once,
    t19_a_permit_does_not_expire_under_its_job,
    t20_a_late_outcome_takes_no_permit_from_the_next,
    t21_a_bulk_cancel_frees_as_many_as_it_took,
    t22_a_cancel_and_a_finish_unblock_a_job_once,
    t26_a_job_given_back_keeps_its_turn,
    t80_a_job_longer_than_the_lease_keeps_the_second_blocked,
    t96_a_worker_that_stops_keeps_its_permits_until_it_is_done,
    t101_a_cancel_behind_a_finish_takes_no_permit,
    t102_the_end_of_a_cancelled_job_hands_its_permit_on,
];

const READY: &str = "ready with permit, charged 0";
const BLOCKED: &str = "blocked, charged 0";

/// Nobody ever sees the permit free: the holder changes with the commit.
pub(crate) async fn every_way_out_hands_the_permit_on(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for (outcome, place) in [
        ("finish", "finish"),
        ("retry", "scheduled, charged 1"),
        ("snooze", "scheduled, charged 0"),
        ("bury", "exhausted"),
        ("discard", "discard"),
        ("cancel", "cancel"),
    ] {
        for end in ENDS {
            world.clear().await;
            let (n, [x]) = world.running_keyed(["a"]).await;
            let [y] = world.blocked(["a"]).await;
            let out = world.hold(settle(1, n, x, outcome)).await;
            assert_eq!(out.answer, format!("{y} unblock"), "{outcome}");
            world.expect_key("a", &[x], &[y]).await;
            out.end(end).await;
            let running = format!("running 1/{n}, charged 0");
            world.expect(x, end.pick(place, &running)).await;
            world.expect(y, end.pick(READY, BLOCKED)).await;
            world.expect_key("a", &[end.either(y, x)], end.either(&[], &[y])).await;
        }
    }
}

/// A job whose time is another one holds no permit: released for later, crashed twice in a row, or
/// put off while it was ready with its permit.
pub(crate) async fn every_way_to_wait_gives_the_permit_up(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for way in ["release", "crash", "reschedule"] {
        world.clear().await;
        world.register(1).await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        if way == "release" {
            assert_eq!(world.call(release_later(1, n, x)).await, format!("{y} unblock"));
        } else if way == "crash" {
            world.lab.run("update jobkit.jobs set crashes = 1").await;
            world.bury_worker(1).await;
            assert_eq!(world.call(reap_claim(1, n)).await, "1");
        } else {
            assert_eq!(world.call(settle(1, n, x, "release")).await, format!("{x} unblock"));
            world.expect(x, READY).await;
            assert_eq!(world.call(reschedule(&[x, y], "'1 hour'")).await, list(&[x, y]));
            world.expect(y, "scheduled, charged 0").await;
            world.expect_key("a", &[], &[]).await;
            continue;
        }
        world.expect(x, &format!("scheduled, charged {}", i32::from(way == "crash"))).await;
        world.expect(y, READY).await;
        world.expect_key("a", &[y], &[]).await;
    }
}

/// Two permits come back at once, and two jobs are ready; a release among them takes its turn
/// before younger ones.
pub(crate) async fn two_jobs_of_a_batch_unblock_two(lab: Lab) {
    let world = World::limited(lab, 2).await;
    for (outcome, holders) in [("finish", [2, 3]), ("release", [1, 2])] {
        world.clear().await;
        let (n, [w, x]) = world.running_keyed(["a", "a"]).await;
        let [y, z] = world.blocked(["a", "a"]).await;
        let both = world.call(settle_all(1, n, &[(w, "finish"), (x, outcome)])).await;
        let jobs = [w, x, y, z];
        let holders = holders.map(|at| jobs[at]);
        assert_eq!(both, format!("{} unblock", holders[0]), "{outcome}");
        for job in holders {
            world.expect(job, READY).await;
        }
        let blocked = Vec::from_iter((outcome == "release").then_some(z));
        world.expect_key("a", &holders, &blocked).await;
    }
}

/// Jobs with keys and without, of several keys, settled in one call and in two.
pub(crate) async fn a_mixed_batch_frees_what_it_held(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let [p, q] = world.ready().await;
        let [a, b] = world.keyed(["a", "b"]).await;
        let n = world.claim(1, &[p, q, a, b]).await;
        let [next_a, next_b] = world.blocked(["a", "b"]).await;
        let first = world.hold(settle_all(1, n, &[(p, "finish"), (a, "finish")])).await;
        assert_eq!(first.answer, format!("{next_a} unblock"));
        let second = first.waiter(settle_all(1, n, &[(q, "retry"), (b, "retry")])).await;
        first.end(end).await;
        assert_eq!(second.answer().await, Ok(format!("{next_b} unblock")));
        world.expect(q, "scheduled, charged 1").await;
        let (holder, blocked) = end.either((next_a, vec![]), (a, vec![next_a]));
        world.expect_key("a", &[holder], &blocked).await;
        world.expect_key("b", &[next_b], &[]).await;
    }
}

/// T14. The finish had handed the permit on when its connection was cut, and its process with it.
pub(crate) async fn t14_a_finish_killed_before_its_commit_loses_no_permit(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    let finish = world.hold(settle(1, n, x, "finish")).await;
    assert_eq!(finish.answer, format!("{y} unblock"));
    finish.die().await;
    world.expect(x, &format!("running 1/{n}, charged 0")).await;
    world.expect_key("a", &[x], &[y]).await;
    world.lapse(1).await;
    assert_eq!(world.call(reap_workers()).await, "1");
    assert_eq!(world.call(reap_claim(1, n)).await, "1");
    world.expect(x, "ready with permit, charged 1").await;
    world.expect_key("a", &[x], &[y]).await;
    let again = world.claim(2, &[x]).await;
    assert_eq!(world.call(settle(2, again, x, "finish")).await, format!("{y} unblock"));
    world.expect_key("a", &[y], &[]).await;
}

/// T15. The reaper came first: the permit went back once, to the job itself, whose turn it is.
pub(crate) async fn t15_a_finish_behind_a_reap_frees_nothing(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in [End::Rollback, End::Commit] {
        world.clear().await;
        world.register(1).await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        world.bury_worker(1).await;
        let reap = world.hold(reap_claim(1, n)).await;
        assert_eq!(reap.answer, "1");
        let late = reap.waiter(settle(1, n, x, "finish")).await;
        reap.end(end).await;
        let told = end.either(format!("{x} lost"), format!("{y} unblock"));
        assert_eq!(late.answer().await, Ok(told));
        world.expect(x, end.pick("ready with permit, charged 1", "finish")).await;
        world.expect_key("a", &[end.either(x, y)], end.either(&[y], &[])).await;
    }
}

/// T16. The reverse.
pub(crate) async fn t16_a_reap_beside_a_finish_frees_nothing(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        world.register(1).await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        world.bury_worker(1).await;
        let finish = world.hold(settle(1, n, x, "finish")).await;
        assert_eq!(finish.bystander(reap_claim(1, n)).await, "0");
        finish.end(end).await;
        assert_eq!(world.call(reap_claim(1, n)).await, end.pick("0", "1"));
        world.expect(x, end.pick("finish", "ready with permit, charged 1")).await;
        world.expect_key("a", &[end.either(y, x)], end.either(&[], &[y])).await;
    }
}

/// T17. The job runs again elsewhere, with the permit it had.
pub(crate) async fn t17_a_failure_of_the_first_attempt_leaves_the_permit_of_the_second(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    world.bury_worker(1).await;
    assert_eq!(world.call(reap_claim(1, n)).await, "1");
    let again = world.claim(2, &[x]).await;
    for outcome in ["finish", "retry", "snooze", "bury", "release"] {
        assert_eq!(world.call(settle(1, n, x, outcome)).await, format!("{x} lost"));
        world.expect(x, &format!("running 2/{again}, charged 1")).await;
        world.expect_key("a", &[x], &[y]).await;
    }
}

/// T18. The batch of a dead worker is taken back once, and its permits with it.
pub(crate) async fn t18_two_reapers_free_a_permit_once(lab: Lab) {
    let world = World::limited(lab, 3).await;
    for end in [End::Rollback, End::Commit] {
        world.clear().await;
        world.register(1).await;
        let (n, jobs) = world.running_keyed(["a", "a", "a"]).await;
        let [y] = world.blocked(["a"]).await;
        world.lab.run("update jobkit.jobs set max_attempts = 1 where attempt = 0").await;
        world.bury_worker(1).await;
        let first = world.hold(reap_claim(1, n)).await;
        assert_eq!(first.bystander(reap_claim(1, n)).await, "0");
        first.end(end).await;
        assert_eq!(world.call(reap_claim(1, n)).await, end.pick("0", "3"));
        for job in jobs {
            world.expect(job, "crashed").await;
        }
        world.expect_key("a", &[y], &[]).await;
    }
}

/// T19. However old the claim and the permit: while the worker is there nothing is taken.
pub(crate) async fn t19_a_permit_does_not_expire_under_its_job(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (_, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    world
        .lab
        .run(
            "update jobkit.claims set claimed_at = now() - interval '30 days';
            update jobkit.permits set since = now() - interval '30 days';
            update jobkit.blocked_executions set since = now() - interval '30 days'",
        )
        .await;
    for _ in 0..3 {
        assert_eq!(world.call(heartbeat(1)).await, "true");
        world.last().await;
        assert_eq!(world.call(sweep()).await, "0");
        assert_eq!(world.call(sweep_unserved()).await, "0");
        assert_eq!(world.call(claim(2, next_n(), 5)).await, "");
        world.expect_key("a", &[x], &[y]).await;
    }
}

/// T20. A silent worker's job waits for its backoff, the next one runs; then the late finish comes.
pub(crate) async fn t20_a_late_outcome_takes_no_permit_from_the_next(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    world.lab.run("update jobkit.jobs set crashes = 1").await;
    world.bury_worker(1).await;
    assert_eq!(world.call(reap_claim(1, n)).await, "1");
    world.claim(2, &[y]).await;
    let late = world.hold(settle(1, n, x, "finish")).await;
    assert_eq!(late.answer, format!("{x} lost"));
    let [z] = world.keyed(["a"]).await;
    assert_eq!(late.bystander(claim(2, next_n(), 1)).await, "");
    late.end(End::Commit).await;
    world.expect(x, "scheduled, charged 1").await;
    world.expect_key("a", &[y], &[z]).await;
}

/// T21. Five ready jobs hold permits and are cancelled together: three more can have them.
pub(crate) async fn t21_a_bulk_cancel_frees_as_many_as_it_took(lab: Lab) {
    let world = World::limited(lab, 5).await;
    for end in ENDS {
        world.clear().await;
        let (n, jobs) = world.running_keyed(["a"; 5]).await;
        let blocked = world.blocked(["a"; 3]).await;
        world.call(settle_all(1, n, &jobs.map(|job| (job, "release")))).await;
        world.expect_key("a", &jobs, &blocked).await;
        assert_eq!(world.call(cancel_mark_all(&jobs)).await, "5");
        let cancel = world.hold(cancel_take_all(&jobs)).await;
        assert_eq!(cancel.answer, list(&jobs));
        cancel.end(end).await;
        if end == End::Commit {
            world.expect_key("a", &blocked, &[]).await;
        } else {
            world.expect_key("a", &jobs, &blocked).await;
        }
    }
}

/// T22. The permit of the cancelled job and that of the finished one: the blocked job gets one.
pub(crate) async fn t22_a_cancel_and_a_finish_unblock_a_job_once(lab: Lab) {
    let world = World::limited(lab, 2).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let (other, [y]) = world.running_keyed(["a"]).await;
        let [z] = world.blocked(["a"]).await;
        assert_eq!(world.call(settle(1, other, y, "release")).await, format!("{y} unblock"));
        assert_eq!(world.call(cancel_mark(y)).await, "true");
        let cancel = world.hold(cancel_take(y)).await;
        let finish = cancel.waiter(settle(1, n, x, "finish")).await;
        cancel.end(end).await;
        let told = end.either(String::new(), format!("{z} unblock"));
        assert_eq!(finish.answer().await, Ok(told));
        world.expect(z, READY).await;
        world.expect_key("a", end.either(&[z], &[y, z]), &[]).await;
    }
}

/// T26. A worker that stops gives its job back; being the oldest, it gets its permit back.
pub(crate) async fn t26_a_job_given_back_keeps_its_turn(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for lost in [false, true] {
        for end in ENDS {
            world.clear().await;
            let (n, [x]) = world.running_keyed(["a"]).await;
            let [y] = world.keyed(["a"]).await;
            let back = if lost { release_lost(1, n, &[]) } else { settle(1, n, x, "release") };
            let back = world.hold(back).await;
            let claimed = back.waiter(claim(2, next_n(), 1)).await;
            back.end(end).await;
            assert_eq!(claimed.answer().await.as_deref(), Ok(""));
            world.expect(x, end.pick(READY, &format!("running 1/{n}, charged 0"))).await;
            assert_eq!(world.call(sweep()).await, "0");
            world.expect_key("a", &[x], &[y]).await;
        }
    }
}

/// T80. The beats of the worker keep the job; another node that starts takes nothing.
pub(crate) async fn t80_a_job_longer_than_the_lease_keeps_the_second_blocked(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.keyed(["a"]).await;
    for worker in 3..9 {
        world.register(worker).await;
        assert_eq!(world.call(heartbeat(1)).await, "true");
        world.lab.run("update jobkit.workers set lease_until = now() + interval '1 day'").await;
        assert_eq!(world.call(reap_workers()).await, "");
        assert_eq!(world.call(reap_claim(1, n)).await, "0");
        assert_eq!(world.call(sweep()).await, "0");
        assert_eq!(world.call(claim(worker, next_n(), 1)).await, "");
        world.expect_key("a", &[x], &[y]).await;
    }
}

/// T96. It serves no new job, and keeps what it has; the blocked job waits for another worker.
pub(crate) async fn t96_a_worker_that_stops_keeps_its_permits_until_it_is_done(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    world.bury_worker(2).await;
    world.call("select alive::text from jobkit.heartbeat(1, true)".to_owned()).await;
    world.lab.run("update jobkit.workers set lease_until = now() + interval '1 day'").await;
    assert_eq!(world.call(reap_workers()).await, "");
    assert_eq!(world.call(sweep()).await, "0");
    world.expect_key("a", &[x], &[y]).await;
    assert_eq!(world.call(settle(1, n, x, "finish")).await, "");
    world.expect_key("a", &[], &[y]).await;
    world.register(3).await;
    assert_eq!(world.call(sweep()).await, "1");
    world.expect_key("a", &[y], &[]).await;
}

/// T101. The job has ended when the cancel gets there, and its permit is somebody else's.
pub(crate) async fn t101_a_cancel_behind_a_finish_takes_no_permit(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    let finish = world.hold(settle(1, n, x, "finish")).await;
    let mark = finish.waiter(cancel_mark(x)).await;
    finish.end(End::Commit).await;
    assert_eq!(mark.answer().await.as_deref(), Ok("false"));
    assert_eq!(world.call(cancel_take(x)).await, "true");
    world.expect(x, "finish").await;
    world.expect(y, READY).await;
    world.expect_key("a", &[y], &[]).await;
}

/// T102. The mark does not take the permit of a running job; the end that follows does.
pub(crate) async fn t102_the_end_of_a_cancelled_job_hands_its_permit_on(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for outcome in ["cancel", "retry", "snooze", "release", "reap"] {
        world.clear().await;
        world.register(1).await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        assert_eq!(world.call(cancel_mark(x)).await, "true");
        assert_eq!(world.call(cancel_take(x)).await, "false");
        world.expect_key("a", &[x], &[y]).await;
        if outcome == "reap" {
            world.bury_worker(1).await;
            assert_eq!(world.call(reap_claim(1, n)).await, "1");
        } else {
            let told = world.call(settle(1, n, x, outcome)).await;
            let told = told.replace(&format!("{x} cancel, "), "");
            assert_eq!(told, format!("{y} unblock"), "{outcome}");
        }
        world.expect(x, "cancel").await;
        world.expect(y, READY).await;
        world.expect_key("a", &[y], &[]).await;
    }
}
