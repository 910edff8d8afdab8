//! A queue that is paused, and workers that stop: nobody gets a permit that is of no use to him.

use jobkit_tests::Lab;

use super::calls::{
    Keyed, Scan, claim, claim_where, pause, reap_claim, resume, settle, settle_all, sweep,
    sweep_unserved,
};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    t27_a_kind_nobody_knows_any_more_blocks_no_other,
    t93_a_pause_waits_for_claims_in_flight,
    t93_a_claim_behind_a_pause_takes_nothing,
    a_pause_waits_for_grants_in_flight_and_takes_them_back,
    a_finish_behind_a_pause_passes_the_queue_over,
    a_pause_gives_the_permits_of_its_queue_to_others,
    a_claim_behind_a_resume_finds_the_queue,
    a_permit_that_a_claim_takes_is_not_taken_back,
    a_pause_gives_up_after_two_seconds,
    a_second_pause_keeps_the_time_of_the_first,
    kinds_nobody_serves_get_no_permit,
    workers_that_stop_get_no_permit,
    a_worker_that_left_loses_the_permits_of_its_ready_jobs,
    a_start_waits_for_those_who_decided_without_it,
];

pub(super) const READY: &str = "ready with permit, charged 0";
pub(super) const BLOCKED: &str = "blocked, charged 0";

/// A world where worker 3 serves a queue `other`, too, and worker 4 knows a kind `gone`.
pub(super) async fn wide(lab: Lab, limit: u32) -> World {
    let world = World::limited(lab, limit).await;
    world.register_for(3, "default,other", "act").await;
    world.register_for(4, "default", "gone").await;
    world
}

pub(super) fn other(key: &'static str) -> Keyed {
    Keyed { queue: "other", ..Keyed::from(key) }
}

pub(super) fn gone(key: &'static str) -> Keyed {
    Keyed { kind: "gone", ..Keyed::from(key) }
}

/// Blocks a job wherever it is; its key has no permit left.
pub(super) async fn block(world: &World, job: Keyed) -> i64 {
    let [job] = world.keyed([job]).await;
    let scan = Scan { queues: "default,other", slots: "9,9", kinds: "act,gone", ..Scan::default() };
    assert_eq!(world.call(claim_where(3, next_n(), &scan)).await, "");
    world.expect(job, BLOCKED).await;
    job
}

/// T27. The holder is dead and its kind removed: the job waits for a permit and for somebody who
/// knows it, in nobody's way.
pub(crate) async fn t27_a_kind_nobody_knows_any_more_blocks_no_other(lab: Lab) {
    let world = wide(lab, 1).await;
    let [x] = world.keyed([gone("x")]).await;
    let n = next_n();
    let scan = Scan { kinds: "gone", ..Scan::default() };
    assert_eq!(world.call(claim_where(4, n, &scan)).await, list(&[x]));
    let waiting = block(&world, gone("x")).await;
    let (healthy, [y]) = world.running_keyed(["y"]).await;
    let [z] = world.blocked(["y"]).await;
    world.bury_worker(4).await;
    assert_eq!(world.call(reap_claim(4, n)).await, "1");
    world.expect(x, "blocked, charged 1").await;
    world.expect_key("x", &[], &[x, waiting]).await;
    assert_eq!(world.call(sweep()).await, "0");
    assert_eq!(world.call(settle(1, healthy, y, "finish")).await, format!("{z} unblock"));
    // One of a kind that is known passes them.
    let [known] = world.keyed(["x"]).await;
    assert_eq!(world.call(claim(2, next_n(), 1)).await, list(&[z]));
    assert_eq!(world.call(claim(2, next_n(), 1)).await, list(&[known]));
    world.expect_key("x", &[known], &[x, waiting]).await;
    world.expect_key("y", &[z], &[]).await;
}

/// T93. What a claim took before the pause was there, runs. The pause is answered after that.
pub(crate) async fn t93_a_pause_waits_for_claims_in_flight(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        let [x] = world.ready().await;
        let n = next_n();
        let claimed = world.hold(claim(1, n, 1)).await;
        assert_eq!(claimed.answer, list(&[x]));
        let paused = claimed.waiter(pause("default")).await;
        claimed.end(end).await;
        assert_eq!(paused.answer().await.as_deref(), Ok("true"));
        world.expect(x, end.pick(&format!("running 1/{n}, charged 0"), "ready, charged 0")).await;
        assert_eq!(world.call(claim(1, next_n(), 1)).await, "");
        assert_eq!(world.call(resume("default")).await, "true");
        world.clear().await;
    }
    world.lab.check_invariants().await;
}

/// T93. The other way round.
pub(crate) async fn t93_a_claim_behind_a_pause_takes_nothing(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.register_for(3, "default,other", "act").await;
    for end in ENDS {
        let [plain] = world.ready().await;
        let [x, y] = world.keyed([Keyed::from("a"), other("b")]).await;
        let both = Scan { queues: "default,other", slots: "5,5", ..Scan::default() };
        let paused = world.hold(pause("default")).await;
        assert_eq!(paused.answer, "true");
        let claimed = paused.waiter(claim_where(3, next_n(), &both)).await;
        paused.end(end).await;
        let all = [plain, x, y];
        assert_eq!(claimed.answer().await, Ok(list(end.either(&all[2..], &all))));
        world.expect_key("a", end.either(&[], &[x]), &[]).await;
        assert_eq!(world.call(resume("default")).await, end.pick("true", "false"));
        world.clear().await;
    }
}

/// A job that a finish makes ready just then waits for its permit again, and the permit goes on.
pub(crate) async fn a_pause_waits_for_grants_in_flight_and_takes_them_back(lab: Lab) {
    let world = wide(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let y = block(&world, other("a")).await;
        let z = block(&world, Keyed::from("a")).await;
        let finish = world.hold(settle(1, n, x, "finish")).await;
        assert_eq!(finish.answer, format!("{y} unblock"));
        let paused = finish.waiter(pause("other")).await;
        finish.end(end).await;
        assert_eq!(paused.answer().await.as_deref(), Ok("true"));
        world.expect(y, BLOCKED).await;
        world.expect(z, end.pick(READY, BLOCKED)).await;
        let (holder, blocked) = end.either((z, vec![y]), (x, vec![y, z]));
        world.expect_key("a", &[holder], &blocked).await;
        assert_eq!(world.call(resume("other")).await, "true");
    }
}

/// The finish waits for the pause, and gives the permit to the next that may run: one who is
/// younger, where the queue of the older is paused.
pub(crate) async fn a_finish_behind_a_pause_passes_the_queue_over(lab: Lab) {
    let world = wide(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let y = block(&world, other("a")).await;
        let z = block(&world, Keyed::from("a")).await;
        let paused = world.hold(pause("other")).await;
        let finish = paused.waiter(settle(1, n, x, "finish")).await;
        paused.end(end).await;
        let next = end.either(z, y);
        assert_eq!(finish.answer().await, Ok(format!("{next} unblock")));
        world.expect_key("a", &[next], &[end.either(y, z)]).await;
        world.call(resume("other")).await;
    }
}

/// Ready with a permit when the pause comes. After the resume the sweep looks after what is left.
pub(crate) async fn a_pause_gives_the_permits_of_its_queue_to_others(lab: Lab) {
    let world = wide(lab, 2).await;
    let (n, [v, w]) = world.running_keyed(["a", "a"]).await;
    let x = block(&world, other("a")).await;
    let y = block(&world, Keyed::from("a")).await;
    let z = block(&world, other("a")).await;
    let both = settle_all(1, n, &[(v, "finish"), (w, "finish")]);
    assert_eq!(world.call(both).await, format!("{x} unblock, {y} unblock"));
    world.expect_key("a", &[x, y], &[z]).await;
    assert_eq!(world.call(pause("other")).await, "true");
    world.expect(x, BLOCKED).await;
    world.expect_key("a", &[y], &[x, z]).await;
    for job in [x, z] {
        assert_eq!(world.call(sweep()).await, "0");
        world.expect(job, BLOCKED).await;
    }
    assert_eq!(world.call(resume("other")).await, "true");
    assert_eq!(world.call(sweep()).await, "1");
    world.expect_key("a", &[x, y], &[z]).await;
}

/// The claim sees the queue once the resume has committed.
pub(crate) async fn a_claim_behind_a_resume_finds_the_queue(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        let [x] = world.keyed(["a"]).await;
        assert_eq!(world.call(pause("default")).await, "true");
        let resumed = world.hold(resume("default")).await;
        assert_eq!(resumed.answer, "true");
        let claimed = resumed.waiter(claim(1, next_n(), 1)).await;
        resumed.end(end).await;
        assert_eq!(claimed.answer().await.as_deref(), Ok(end.pick(&list(&[x]), "")));
        world.call(resume("default")).await;
        world.expect_key("a", end.either(&[x], &[]), &[]).await;
        world.clear().await;
    }
}

/// The sweep listed the job as one nobody serves; meanwhile a worker came and is claiming it, or
/// came and has not got round to it.
pub(crate) async fn a_permit_that_a_claim_takes_is_not_taken_back(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        assert_eq!(world.call(settle(1, n, x, "finish")).await, format!("{y} unblock"));
        let take_back = format!("select jobkit.take_back(array[{y}])::text");
        let since = format!("select since::text from jobkit.permits where job_id = {y}");
        let granted = world.call(since.clone()).await;
        assert_eq!(world.call(take_back.clone()).await, "0");
        assert_eq!(world.call(since).await, granted, "it is the same permit");
        world.expect_key("a", &[y], &[]).await;
        let claimed = world.hold(claim(1, next_n(), 1)).await;
        assert_eq!(claimed.answer, list(&[y]));
        world.lab.run("update jobkit.workers set stopping = true").await;
        // It neither waits for the row of the claim, nor takes the permit.
        assert_eq!(claimed.bystander(take_back.clone()).await, "0");
        claimed.end(end).await;
        world.expect_key("a", &[y], &[]).await;
        assert_eq!(world.call(take_back).await, end.pick("0", "1"));
        world.expect_key("a", end.either(&[y], &[]), end.either(&[], &[y])).await;
        world.lab.run("update jobkit.workers set stopping = false").await;
        assert_eq!(world.call(sweep()).await, end.pick("0", "1"));
        world.expect_key("a", &[y], &[]).await;
    }
}

/// While it waits, no claim begins: it must not wait for long.
pub(crate) async fn a_pause_gives_up_after_two_seconds(lab: Lab) {
    let world = World::new(lab).await;
    let [x] = world.ready().await;
    let claimed = world.hold(claim(1, next_n(), 1)).await;
    for call in [pause("default"), resume("default")] {
        assert_eq!(world.refusal(call).await, "55P03");
    }
    claimed.end(End::Rollback).await;
    assert_eq!(world.call(claim(1, next_n(), 1)).await, list(&[x]));
    world.lab.check_invariants().await;
}

/// Two operators at one queue.
pub(crate) async fn a_second_pause_keeps_the_time_of_the_first(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let since = "select paused_at::text from jobkit.limits where scope = 'queue'";
    for end in ENDS {
        let first = world.hold(pause("default")).await;
        assert_eq!(first.answer, "true");
        let first = first.go_on(since.to_owned()).await;
        let time = first.answer.clone();
        let second = first.waiter(pause("default")).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick("false", "true")));
        assert_eq!(world.call(since.to_owned()).await == time, end == End::Commit);
        assert_eq!(world.call(resume("default")).await, "true");
        assert_eq!(world.call(resume("default")).await, "false");
    }
}

/// The older job is of a kind that no worker knows; the younger one gets the permit.
pub(crate) async fn kinds_nobody_serves_get_no_permit(lab: Lab) {
    let world = wide(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let y = block(&world, gone("a")).await;
    let z = block(&world, Keyed::from("a")).await;
    world.bury_worker(4).await;
    assert_eq!(world.call(settle(1, n, x, "finish")).await, format!("{z} unblock"));
    world.expect_key("a", &[z], &[y]).await;
    let n = world.claim(1, &[z]).await;
    // The last permit comes back, and the key is remembered for what is blocked.
    assert_eq!(world.call(settle(1, n, z, "finish")).await, "");
    world.expect_key("a", &[], &[y]).await;
    assert_eq!(world.call(sweep()).await, "0");
    world.register_for(4, "default", "gone").await;
    assert_eq!(world.call(sweep()).await, "1");
    world.expect(y, READY).await;
    world.expect_key("a", &[y], &[]).await;
}

/// Only a worker that is stopping serves the older job.
pub(crate) async fn workers_that_stop_get_no_permit(lab: Lab) {
    let world = wide(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let y = block(&world, gone("a")).await;
        let z = block(&world, Keyed::from("a")).await;
        let stop = "select alive::text from jobkit.heartbeat(4, true)";
        let stopping = world.hold(stop.to_owned()).await;
        assert_eq!(stopping.answer, "true");
        stopping.end(end).await;
        let next = end.either(z, y);
        assert_eq!(world.call(settle(1, n, x, "finish")).await, format!("{next} unblock"));
        world.expect_key("a", &[next], &[end.either(y, z)]).await;
        world.call(stop.replace("true", "false")).await;
        world.last().await;
    }
}

/// It was ready with its permit when the last worker for it left: the sweep takes the permit back
/// and passes it on.
pub(crate) async fn a_worker_that_left_loses_the_permits_of_its_ready_jobs(lab: Lab) {
    let world = wide(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let y = block(&world, gone("a")).await;
    let z = block(&world, Keyed::from("a")).await;
    assert_eq!(world.call(settle(1, n, x, "finish")).await, format!("{y} unblock"));
    assert_eq!(world.call(sweep_unserved()).await, "0");
    world.expect_key("a", &[y], &[z]).await;
    world.bury_worker(4).await;
    assert_eq!(world.call(sweep_unserved()).await, "1");
    world.expect(y, BLOCKED).await;
    world.expect(z, READY).await;
    world.expect_key("a", &[z], &[y]).await;
}

/// A finish found nobody for the job. Meanwhile a worker for it has started, whose sweep finds the
/// permit only behind the finish.
pub(crate) async fn a_start_waits_for_those_who_decided_without_it(lab: Lab) {
    let world = wide(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let y = block(&world, gone("a")).await;
        world.bury_worker(4).await;
        let finish = world.hold(settle(1, n, x, "finish")).await;
        assert_eq!(finish.answer, "");
        world.register_for(4, "default", "gone").await;
        let starting = finish.waiter("select jobkit.sweep_start(0)::text".to_owned()).await;
        finish.end(end).await;
        assert_eq!(starting.answer().await.as_deref(), Ok(""));
        assert_eq!(world.call(sweep()).await, end.pick("1", "0"));
        world.expect(y, end.pick(READY, BLOCKED)).await;
    }
}
