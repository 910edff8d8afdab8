//! The reaper against heartbeats, late outcomes, and other reapers.

use jobkit_tests::Lab;

use super::calls::{
    enqueue_with, heartbeat, orphaned_claims, promote, reap_claim, reap_workers, release_lost,
    settle, stop_worker,
};
use super::kit::{ENDS, End, World};

in_a_lab![
    a_claim_being_settled_is_not_reaped,
    an_outcome_behind_a_reap_is_lost,
    a_claim_is_reaped_once,
    a_claim_of_a_living_worker_is_not_reaped,
    a_heartbeat_in_flight_keeps_its_worker,
    a_heartbeat_behind_a_reap_finds_no_worker,
    a_beat_waits_for_no_other_worker,
    two_reapers_take_a_worker_once,
    a_worker_with_a_lease_is_not_reaped,
    nobody_is_reaped_within_a_lease_of_the_servers_start,
    a_claim_being_settled_is_not_given_back,
    an_outcome_behind_a_give_back_is_lost,
    a_claim_held_or_not_concluded_is_not_given_back,
    t54_two_reapers_bury_a_job_once,
    t55_a_heap_of_exhausted_jobs_is_buried_whole,
    t56_a_burial_that_fails_keeps_the_job_and_holds_up_no_other,
    t81_deaths_use_up_the_attempts,
    a_worker_reaps_others_once_its_own_lease_has_lasted,
    a_job_lost_alone_uses_up_its_attempts,
    a_claim_is_taken_back_in_parts,
];

/// Leases that outlast the test once they are renewed, and are over since the server's start.
async fn long_leases(world: &World) {
    world.lab.until("pg_postmaster_start_time() + interval '20 s' < clock_timestamp()").await;
    world.lab.run("update jobkit.workers set lease = '20 s'").await;
}

/// T16, T78: the outcome that came first counts; the reaper takes what it left.
pub(crate) async fn a_claim_being_settled_is_not_reaped(lab: Lab) {
    let world = World::new(lab).await;
    let (n, [x, y]) = world.running().await;
    world.bury_worker(1).await;
    let outcome = world.hold(settle(1, n, x, "finish")).await;
    assert_eq!(outcome.answer, "");
    assert_eq!(outcome.bystander(reap_claim(1, n)).await, "0");
    outcome.end(End::Rollback).await;
    let outcome = world.hold(settle(1, n, x, "finish")).await;
    assert_eq!(outcome.bystander(reap_claim(1, n)).await, "0");
    outcome.end(End::Commit).await;
    assert_eq!(world.call(orphaned_claims()).await, format!("1/{n}"));
    assert_eq!(world.call(reap_claim(1, n)).await, "1");
    world.expect(x, "finish").await;
    world.expect(y, "ready, charged 1").await;
    world.lab.check_invariants().await;
}

/// T15, T17: the reaper came first. The late outcome writes nothing, and nothing is charged twice.
pub(crate) async fn an_outcome_behind_a_reap_is_lost(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["finish", "retry", "bury", "snooze", "release"] {
        for end in [End::Rollback, End::Commit] {
            world.clear().await;
            world.register(1).await;
            let (n, [x, y]) = world.running().await;
            world.bury_worker(1).await;
            let reap = world.hold(reap_claim(1, n)).await;
            assert_eq!(reap.answer, "2");
            let late = reap.waiter(settle(1, n, x, outcome)).await;
            reap.end(end).await;
            let lost = format!("{x} lost");
            assert_eq!(late.answer().await.as_deref(), Ok(end.pick(&lost, "")), "{outcome}");
            if end == End::Commit {
                world.expect(x, "ready, charged 1").await;
                world.expect(y, "ready, charged 1").await;
                assert_eq!(world.failures(x).await, "crash", "{outcome}");
            } else {
                world.expect(y, &format!("running 1/{n}, charged 0")).await;
                assert_eq!(world.call(reap_claim(1, n)).await, "1", "{outcome}");
            }
            world.lab.check_invariants().await;
        }
    }
}

/// T18: two reapers at one claim. Its jobs are charged once.
pub(crate) async fn a_claim_is_reaped_once(lab: Lab) {
    let world = World::new(lab).await;
    for end in [End::Rollback, End::Commit] {
        world.clear().await;
        world.register(1).await;
        let (n, [x, y, z]) = world.running().await;
        world.bury_worker(1).await;
        let first = world.hold(reap_claim(1, n)).await;
        assert_eq!(first.answer, "3");
        assert_eq!(first.bystander(reap_claim(1, n)).await, "0");
        first.end(end).await;
        assert_eq!(world.call(reap_claim(1, n)).await, end.pick("0", "3"));
        for job in [x, y, z] {
            world.expect(job, "ready, charged 1").await;
            assert_eq!(world.failures(job).await, "crash");
        }
        world.lab.check_invariants().await;
    }
}

/// Whatever a reaper's list says, and whatever the lease: while the worker's row is there the claim
/// is the worker's.
pub(crate) async fn a_claim_of_a_living_worker_is_not_reaped(lab: Lab) {
    let world = World::new(lab).await;
    let (n, [x]) = world.running().await;
    for lapsed in [false, true] {
        if lapsed {
            world.lapse(1).await;
        }
        assert_eq!(world.call(orphaned_claims()).await, "");
        assert_eq!(world.call(reap_claim(1, n)).await, "0");
        world.expect(x, &format!("running 1/{n}, charged 0")).await;
    }
    world.lab.check_invariants().await;
}

/// T78: a beat that is being written saves a worker whose lease has lapsed.
pub(crate) async fn a_heartbeat_in_flight_keeps_its_worker(lab: Lab) {
    let world = World::new(lab).await;
    long_leases(&world).await;
    for end in ENDS {
        world.lapse(1).await;
        let beat = world.hold(heartbeat(1)).await;
        assert_eq!(beat.answer, "true");
        assert_eq!(beat.bystander(reap_workers()).await, "");
        beat.end(end).await;
        assert_eq!(world.call(reap_workers()).await, end.pick("", "1"));
    }
    assert_eq!(world.lab.count("jobkit.workers where id = 1").await, 0);
    world.lab.check_invariants().await;
}

/// The lease of another is too long, since the clock has stepped back, and somebody holds its row.
pub(crate) async fn a_beat_waits_for_no_other_worker(lab: Lab) {
    let world = World::new(lab).await;
    let stop = world.hold(stop_worker(1)).await;
    assert_eq!(stop.bystander(heartbeat(2)).await, "true");
    stop.end(End::Commit).await;
}

/// T95: the other way round. The beat learns that its worker is gone, and does not bring it back.
pub(crate) async fn a_heartbeat_behind_a_reap_finds_no_worker(lab: Lab) {
    let world = World::new(lab).await;
    long_leases(&world).await;
    for end in [End::Rollback, End::Commit] {
        world.lapse(1).await;
        let reap = world.hold(reap_workers()).await;
        assert_eq!(reap.answer, "1");
        let beat = reap.waiter(heartbeat(1)).await;
        reap.end(end).await;
        assert_eq!(beat.answer().await.as_deref(), Ok(end.pick("false", "true")));
    }
    assert_eq!(world.call(heartbeat(1)).await, "false");
    assert_eq!(world.lab.count("jobkit.workers where id = 1").await, 0);
    world.lab.check_invariants().await;
}

/// T18: two reapers at one worker. Neither waits, one has it.
pub(crate) async fn two_reapers_take_a_worker_once(lab: Lab) {
    let world = World::new(lab).await;
    world.lapse(1).await;
    for end in [End::Rollback, End::Commit] {
        let first = world.hold(reap_workers()).await;
        assert_eq!(first.answer, "1");
        assert_eq!(first.bystander(reap_workers()).await, "");
        first.end(end).await;
    }
    assert_eq!(world.call(reap_workers()).await, "");
    world.lab.check_invariants().await;
}

/// Only a lapsed lease is a reason, however many others have lapsed.
pub(crate) async fn a_worker_with_a_lease_is_not_reaped(lab: Lab) {
    let world = World::new(lab).await;
    world.lapse(2).await;
    assert_eq!(world.call(reap_workers()).await, "2");
    assert_eq!(world.call(reap_workers()).await, "");
    assert_eq!(world.lab.count("jobkit.workers where id = 1").await, 1);
}

/// Nobody could renew while the server was down.
pub(crate) async fn nobody_is_reaped_within_a_lease_of_the_servers_start(lab: Lab) {
    let world = World::new(lab).await;
    world.lab.run("update jobkit.workers set lease = '100 years' where id = 1").await;
    world.lapse(1).await;
    world.lapse(2).await;
    assert_eq!(world.call(reap_workers()).await, "2");
    assert_eq!(world.lab.count("jobkit.workers where id = 1").await, 1);
}

/// A claim whose reply was believed lost, while its outcome is being written.
pub(crate) async fn a_claim_being_settled_is_not_given_back(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x, y]) = world.running().await;
        let outcome = world.hold(settle(1, n, x, "finish")).await;
        assert_eq!(outcome.bystander(release_lost(1, n, &[])).await, "0");
        outcome.end(end).await;
        assert_eq!(world.call(release_lost(1, n, &[])).await, end.pick("1", "2"));
        world.expect(x, end.pick("finish", "ready, charged 0")).await;
        world.expect(y, "ready, charged 0").await;
        world.lab.check_invariants().await;
    }
}

/// The reverse: the outcome of a claim that was given back is lost, and nothing is charged.
pub(crate) async fn an_outcome_behind_a_give_back_is_lost(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["finish", "retry", "bury"] {
        for end in [End::Rollback, End::Commit] {
            world.clear().await;
            let (n, [x, y]) = world.running().await;
            let back = world.hold(release_lost(1, n, &[])).await;
            assert_eq!(back.answer, "2");
            let late = back.waiter(settle(1, n, x, outcome)).await;
            back.end(end).await;
            let lost = format!("{x} lost");
            assert_eq!(late.answer().await.as_deref(), Ok(end.pick(&lost, "")), "{outcome}");
            if end == End::Commit {
                world.expect(x, "ready, charged 0").await;
                assert_eq!(world.failures(x).await, "", "{outcome}");
            }
            let there = format!("running 1/{n}, charged 0");
            world.expect(y, end.pick("ready, charged 0", &there)).await;
            world.lab.check_invariants().await;
        }
    }
}

/// Only what a worker's beat says is concluded and does not name is given back.
pub(crate) async fn a_claim_held_or_not_concluded_is_not_given_back(lab: Lab) {
    let world = World::new(lab).await;
    let (held, [x]) = world.running().await;
    let (lost, [y]) = world.running().await;
    let (late, [z]) = world.running().await;
    assert_eq!(world.call(release_lost(1, lost, &[held])).await, "1");
    world.expect(x, &format!("running 1/{held}, charged 0")).await;
    world.expect(y, "ready, charged 0").await;
    world.expect(z, &format!("running 1/{late}, charged 0")).await;
    world.lab.check_invariants().await;
}

/// T54. A job that a crash left with no attempt to spare becomes one dead letter.
pub(crate) async fn t54_two_reapers_bury_a_job_once(lab: Lab) {
    let world = World::new(lab).await;
    let (n, x) = world.running_with(1).await;
    world.bury_worker(1).await;
    for end in [End::Rollback, End::Commit] {
        let first = world.hold(reap_claim(1, n)).await;
        assert_eq!(first.answer, "1");
        assert_eq!(first.bystander(reap_claim(1, n)).await, "0");
        first.end(end).await;
    }
    assert_eq!(world.call(reap_claim(1, n)).await, "0");
    world.expect(x, "crashed").await;
    assert_eq!(world.failures(x).await, "crash");
    assert_eq!(world.lab.count("jobkit.dead_letters").await, 1);
    world.lab.check_invariants().await;
}

/// T55. Nothing is deleted that was not moved.
pub(crate) async fn t55_a_heap_of_exhausted_jobs_is_buried_whole(lab: Lab) {
    let world = World::new(lab).await;
    let jobs = world.call(enqueue_with(150, 1, "null")).await;
    let jobs: Vec<i64> = jobs.split(' ').map(|id| id.parse().unwrap()).collect();
    let claims = [world.claim(1, &jobs[..100]).await, world.claim(1, &jobs[100..]).await];
    world.bury_worker(1).await;
    for (n, count) in claims.into_iter().zip(["100", "50"]) {
        assert_eq!(world.call(reap_claim(1, n)).await, count);
        world.lab.check_invariants().await;
    }
    assert_eq!(world.lab.count("jobkit.jobs").await, 0);
    assert_eq!(world.lab.count("jobkit.dead_letters").await, 150);
}

/// T56. The job stays claimed, and is tried again; the other claims of the worker are reaped.
pub(crate) async fn t56_a_burial_that_fails_keeps_the_job_and_holds_up_no_other(lab: Lab) {
    let world = World::new(lab).await;
    let (stuck, x) = world.running_with(1).await;
    let (other, y) = world.running_with(2).await;
    let refused =
        format!("alter table jobkit.dead_letters add constraint no check (job_id <> {x})");
    world.lab.run(&refused).await;
    world.bury_worker(1).await;
    assert_eq!(world.refusal(reap_claim(1, stuck)).await, "23514");
    assert_eq!(world.call(reap_claim(1, other)).await, "1");
    world.expect(x, &format!("running 1/{stuck}, charged 0")).await;
    world.expect(y, "ready, charged 1").await;
    world.lab.check_invariants().await;
    world.lab.run("alter table jobkit.dead_letters drop constraint no").await;
    assert_eq!(world.call(reap_claim(1, stuck)).await, "1");
    world.expect(x, "crashed").await;
    world.lab.check_invariants().await;
}

/// T81. Not an endless loop.
pub(crate) async fn t81_deaths_use_up_the_attempts(lab: Lab) {
    let world = World::new(lab).await;
    let (mut n, x) = world.running_with(2).await;
    for (place, failures) in [("ready, charged 1", "crash"), ("crashed", "crash crash")] {
        world.bury_worker(1).await;
        assert_eq!(world.call(reap_claim(1, n)).await, "1");
        world.expect(x, place).await;
        assert_eq!(world.failures(x).await, failures);
        world.register(1).await;
        if place != "crashed" {
            n = world.claim(1, &[x]).await;
        }
    }
    world.lab.check_invariants().await;
}

/// Thawed after more than a lease it finds everybody lapsed, itself among them: the others come
/// first, for as long as they need to renew theirs.
pub(crate) async fn a_worker_reaps_others_once_its_own_lease_has_lasted(lab: Lab) {
    let world = World::new(lab).await;
    let reap = || reap_workers().replace("reap_workers()", "reap_workers(2)");
    let steady = "steady_since = clock_timestamp() - interval '2 hours' where id = 2";
    world.lab.run(&format!("update jobkit.workers set lease = '1 hour', {steady}")).await;
    world.lapse(1).await;
    world.lapse(2).await;
    assert_eq!(world.call(reap()).await, "", "without a lease");
    assert_eq!(world.call(heartbeat(2)).await, "true");
    assert_eq!(world.call(reap()).await, "", "right after its lapse");
    world.lab.run(&format!("update jobkit.workers set {steady}")).await;
    assert_eq!(world.call(reap()).await, "1");
}

/// A payload that cuts each connection it comes through ends as a dead letter. What was not asked
/// for alone is not under suspicion.
pub(crate) async fn a_job_lost_alone_uses_up_its_attempts(lab: Lab) {
    let world = World::new(lab).await;
    let (mut alone, [x]) = world.running().await;
    let (other, [y]) = world.running().await;
    let lost = |concluded: i64, alone: i64| {
        release_lost(1, concluded, &[]).replace("'{}'", &format!("'{{{alone}}}'"))
    };
    assert_eq!(world.call(lost(other, alone)).await, "2");
    world.expect(x, "ready, charged 1").await;
    world.expect(y, "ready, charged 0").await;
    assert_eq!(world.failures(y).await, "");
    let both = world.claim(1, &[x, y]).await;
    assert_eq!(world.call(settle(1, both, y, "finish")).await, "");
    assert_eq!(world.call(settle(1, both, x, "release")).await, "");
    for place in ["scheduled, charged 2", "crashed"] {
        alone = world.claim(1, &[x]).await;
        assert_eq!(world.call(lost(alone, alone)).await, "1");
        world.expect(x, place).await;
        world.an_hour_later().await;
        world.call(promote(1)).await;
    }
    assert_eq!(world.failures(x).await, "crash crash crash");
    world.lab.check_invariants().await;
}

/// Where the whole cannot be: the rest stays in its claim, and counts as before.
pub(crate) async fn a_claim_is_taken_back_in_parts(lab: Lab) {
    let world = World::new(lab).await;
    let parts = |call: &str, n: i64, jobs: &[i64]| match call {
        "reap" => format!("select jobkit.reap_claim(1, {n}, array{jobs:?}::bigint[])::text"),
        _ => format!(
            "select jobkit.release_lost(1, {n}, '{{}}', '{{}}', array{jobs:?}::bigint[])::text"
        ),
    };
    for call in ["release", "reap"] {
        let (n, [x, y, z]) = world.running().await;
        if call == "reap" {
            world.bury_worker(1).await;
        }
        assert_eq!(world.call(parts(call, n, &[x, z])).await, "2");
        world.expect(y, &format!("running 1/{n}, charged 0")).await;
        world.lab.check_invariants().await;
        // Stuck, it is passed over; then not any more.
        world.lab.run(&format!("select jobkit.stick('reap', '{{{y}}}', '{{no}}', 2)")).await;
        assert_eq!(world.call(parts(call, n, &[y])).await, "0");
        assert_eq!(world.call(orphaned_claims()).await, "");
        world.lab.run("update jobkit.stuck_jobs set retry_at = clock_timestamp()").await;
        assert_eq!(world.call(parts(call, n, &[y])).await, "1");
        assert_eq!(world.lab.count("jobkit.claims").await, 0);
        assert_eq!(world.lab.count("jobkit.stuck_jobs").await, 0, "it went through");
        world.lab.check_invariants().await;
        world.clear().await;
    }
}
