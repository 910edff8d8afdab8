//! Jobs that are claimed before there is a slot for them: what may be, and what the death of their
//! worker costs them.

use jobkit::JobId;
use jobkit::admin::Count;
use jobkit::admin::explain::Reason;
use jobkit::admin::jobs::{JobQuery, Listing};
use jobkit_tests::Lab;

use super::calls::{
    Scan, cancel_mark, claim_ahead, claim_where, enqueue_with, heartbeat_begun, pause, reap_claim,
    release_lost, settle,
};
use super::kit::{End, World, list};

in_a_lab![
    what_is_claimed_ahead_is_a_claim_of_its_own,
    a_death_charges_nothing_that_may_not_have_begun,
    a_death_charges_what_a_heartbeat_said_has_begun,
    a_heartbeat_says_what_has_begun_beside_an_outcome,
    what_was_with_a_dead_worker_is_not_claimed_ahead,
    what_may_not_wait_has_a_slot_or_goes_back,
    a_key_is_not_claimed_ahead,
    each_queue_has_its_own_slots,
    what_waits_has_a_bound,
    an_answer_that_was_lost_gives_both_claims_back,
    an_outcome_of_a_job_claimed_ahead_behind_the_reap_is_lost,
    a_cancelled_job_claimed_ahead_ends_with_its_worker,
    workers_hear_of_a_cancel_and_of_a_pause,
    what_waits_for_a_slot_is_shown_as_ready,
];

/// The number of a claim; what is claimed ahead has the next one.
const N: i64 = 1_000_000;

/// Which jobs two claims hold.
async fn claims(world: &World) -> String {
    let held = "select coalesce(string_agg(c.n || case when c.ahead then ' ahead: ' else ': ' end
            || array_to_string(array(select unnest(c.job_ids) order by 1), ' '), ', '
            order by c.n), '') from jobkit.claims c";
    world.lab.value(held).await
}

/// Four jobs are claimed for two slots: the other two wait, in the order of their age.
pub(crate) async fn what_is_claimed_ahead_is_a_claim_of_its_own(lab: Lab) {
    let world = World::new(lab).await;
    let jobs: [i64; 5] = world.ready().await;
    let [a, b, c, d, e] = jobs;
    let answer = world.call(claim_ahead(1, N, 4, 2)).await;
    assert_eq!(answer, format!("{a} {b} {c}+ {d}+"));
    assert_eq!(claims(&world).await, format!("{N}: {a} {b}, {} ahead: {c} {d}", N + 1));
    world.expect(e, "ready, charged 0").await;
    assert_eq!(world.call(settle(1, N + 1, c, "finish")).await, "");
    assert_eq!(world.call(settle(1, N + 1, d, "retry")).await, "");
    world.expect(c, "finish").await;
    world.expect(d, "scheduled, charged 1").await;
    world.lab.check_invariants().await;
}

pub(crate) async fn a_death_charges_nothing_that_may_not_have_begun(lab: Lab) {
    let world = World::new(lab).await;
    let [begun, waiting] = world.ready().await;
    world.call(claim_ahead(1, N, 2, 1)).await;
    world.bury_worker(1).await;
    for n in [N, N + 1] {
        assert_eq!(world.call(reap_claim(1, n)).await, "1");
    }
    world.expect(begun, "ready, charged 1").await;
    world.expect(waiting, "ready, charged 0").await;
    assert_eq!((world.failures(begun).await, world.failures(waiting).await).1, "");
    assert_eq!(world.failures(begun).await, "crash");
    world.lab.check_invariants().await;
}

pub(crate) async fn a_death_charges_what_a_heartbeat_said_has_begun(lab: Lab) {
    let world = World::new(lab).await;
    let [x, y] = world.ready().await;
    world.call(claim_ahead(1, N, 1, 1)).await;
    world.call(claim_ahead(1, N + 2, 1, 1)).await;
    assert_eq!(world.call(heartbeat_begun(1, N + 2)).await, "true");
    world.bury_worker(1).await;
    for n in [N + 1, N + 3] {
        assert_eq!(world.call(reap_claim(1, n)).await, "1");
    }
    world.expect(x, "ready, charged 1").await;
    world.expect(y, "ready, charged 0").await;
    world.lab.check_invariants().await;
}

/// The beat waits for no outcome: the next one takes the mark from what that left.
pub(crate) async fn a_heartbeat_says_what_has_begun_beside_an_outcome(lab: Lab) {
    let world = World::new(lab).await;
    let [x, y] = world.ready().await;
    world.call(claim_ahead(1, N, 2, 2)).await;
    let outcome = world.hold(settle(1, N + 1, x, "finish")).await;
    assert_eq!(outcome.bystander(heartbeat_begun(1, N + 1)).await, "true");
    outcome.end(End::Commit).await;
    assert_eq!(claims(&world).await, format!("{} ahead: {y}", N + 1));
    assert_eq!(world.call(heartbeat_begun(1, N + 1)).await, "true");
    assert_eq!(claims(&world).await, format!("{}: {y}", N + 1));
    world.lab.check_invariants().await;
}

/// It may be what kills its workers: the next claim of it is one whose death is charged.
pub(crate) async fn what_was_with_a_dead_worker_is_not_claimed_ahead(lab: Lab) {
    let world = World::new(lab).await;
    let [x] = world.ready().await;
    world.call(claim_ahead(1, N, 1, 1)).await;
    world.bury_worker(1).await;
    assert_eq!(world.call(reap_claim(1, N + 1)).await, "1");
    let [y] = world.ready().await;
    assert_eq!(world.call(claim_ahead(2, N, 2, 2)).await, format!("{y}+ cut"));
    world.expect(x, "ready, charged 0").await;
    assert_eq!(world.call(claim_ahead(2, N + 2, 1, 0)).await, list(&[x]));
    world.bury_worker(2).await;
    assert_eq!(world.call(reap_claim(2, N + 2)).await, "1");
    world.expect(x, "scheduled, charged 1").await;
    world.lab.check_invariants().await;
}

/// A last attempt, and one that is only to be settled as cancelled.
pub(crate) async fn what_may_not_wait_has_a_slot_or_goes_back(lab: Lab) {
    let world = World::new(lab).await;
    let [a, b, cancelled] = world.ready().await;
    let last: i64 = world.call(enqueue_with(1, 1, "null")).await.parse().unwrap();
    world.call(cancel_mark(cancelled)).await;
    assert_eq!(world.call(claim_ahead(1, N, 4, 4)).await, format!("{a}+ {b}+ cut"));
    for job in [cancelled, last] {
        world.expect(job, "ready, charged 0").await;
    }
    let answer = world.call(claim_ahead(1, N + 2, 2, 1)).await;
    assert_eq!(answer, format!("{cancelled}! cut"));
    assert_eq!(world.call(claim_ahead(1, N + 4, 2, 1)).await, list(&[last]));
    world.lab.check_invariants().await;
}

/// Its permit would wait as well. One that has it already keeps it, in `ready`.
pub(crate) async fn a_key_is_not_claimed_ahead(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let [k] = world.keyed(["k"]).await;
    let [plain] = world.ready().await;
    assert_eq!(world.call(claim_ahead(1, N, 2, 2)).await, format!("{plain}+ cut"));
    world.expect(k, "ready, charged 0").await;
    world.expect_key("k", &[], &[]).await;
    assert_eq!(world.call(claim_ahead(1, N + 2, 1, 0)).await, list(&[k]));
    assert_eq!(world.call(settle(1, N + 2, k, "release")).await, format!("{k} unblock"));
    world.expect(k, "ready with permit, charged 0").await;
    assert_eq!(world.call(claim_ahead(1, N + 4, 1, 1)).await, "cut");
    world.expect(k, "ready with permit, charged 0").await;
    world.expect_key("k", &[k], &[]).await;
}

/// Free slots of one queue are of no use to another.
pub(crate) async fn each_queue_has_its_own_slots(lab: Lab) {
    let world = World::new(lab).await;
    let jobs: [i64; 4] = world.ready().await;
    let [a, b, c, d] = jobs;
    world
        .lab
        .run_unguarded(&format!(
            "update jobkit.jobs set queue = 'other' where id in ({c}, {d});
            update jobkit.ready set queue = 'other' where job_id in ({c}, {d})"
        ))
        .await;
    let scan = Scan { queues: "default,other", slots: "2,2", ..Scan::default() };
    let call = claim_where(1, N, &scan).replacen(") c", ", '{2,1}') c", 1);
    assert_eq!(world.call(call).await, list(&[a, b, c, d]));
    assert_eq!(claims(&world).await, format!("{N}: {c}, {} ahead: {a} {b} {d}", N + 1));
    world.lab.check_invariants().await;
}

/// A mebibyte of payload: the answer stays small.
pub(crate) async fn what_waits_has_a_bound(lab: Lab) {
    let world = World::new(lab).await;
    let jobs: [i64; 3] = world.ready().await;
    let large = "update jobkit.jobs set args = to_jsonb(repeat('x', 400000))";
    world.lab.run_unguarded(large).await;
    let [a, b, _] = jobs;
    assert_eq!(world.call(claim_ahead(1, N, 3, 3)).await, format!("{a}+ {b}+"));
    world.lab.check_invariants().await;
}

pub(crate) async fn an_answer_that_was_lost_gives_both_claims_back(lab: Lab) {
    let world = World::new(lab).await;
    let jobs: [i64; 2] = world.ready().await;
    world.call(claim_ahead(1, N, 2, 1)).await;
    assert_eq!(world.call(release_lost(1, N, &[])).await, "1");
    assert_eq!(world.call(release_lost(1, N + 1, &[])).await, "1");
    for job in jobs {
        world.expect(job, "ready, charged 0").await;
    }
    world.lab.check_invariants().await;
}

pub(crate) async fn an_outcome_of_a_job_claimed_ahead_behind_the_reap_is_lost(lab: Lab) {
    let world = World::new(lab).await;
    for end in [End::Rollback, End::Commit] {
        world.clear().await;
        world.register(1).await;
        let [x] = world.ready().await;
        world.call(claim_ahead(1, N, 1, 1)).await;
        world.bury_worker(1).await;
        let reap = world.hold(reap_claim(1, N + 1)).await;
        assert_eq!(reap.answer, "1");
        let late = reap.waiter(settle(1, N + 1, x, "finish")).await;
        reap.end(end).await;
        assert_eq!(late.answer().await.as_deref(), Ok(end.pick(&format!("{x} lost"), "")));
        world.expect(x, end.pick("ready, charged 0", "finish")).await;
        world.lab.check_invariants().await;
    }
}

pub(crate) async fn a_cancelled_job_claimed_ahead_ends_with_its_worker(lab: Lab) {
    let world = World::new(lab).await;
    let [x] = world.ready().await;
    world.call(claim_ahead(1, N, 1, 1)).await;
    world.call(cancel_mark(x)).await;
    world.bury_worker(1).await;
    assert_eq!(world.call(reap_claim(1, N + 1)).await, "1");
    world.expect(x, "cancel").await;
    world.lab.check_invariants().await;
}

/// And only when there is something to give back.
pub(crate) async fn workers_hear_of_a_cancel_and_of_a_pause(lab: Lab) {
    let world = World::new(lab).await;
    let mut listener = sqlx::postgres::PgListener::connect(world.lab.url()).await.unwrap();
    listener.listen("jobkit").await.unwrap();
    let [x, y, z] = world.ready().await;
    world.call(claim_ahead(1, N, 2, 1)).await;
    world.call(cancel_mark(x)).await;
    world.call(cancel_mark(z)).await;
    world.call(cancel_mark(y)).await;
    world.call(pause("default")).await;
    world.call(settle(1, N + 1, y, "release")).await;
    world.call(pause("other")).await;
    world.lab.run("notify jobkit, 'end'").await;
    let mut heard = Vec::new();
    while heard.last().is_none_or(|heard| heard != "end") {
        heard.push(listener.recv().await.unwrap().payload().to_owned());
    }
    assert_eq!(heard, ["recall", "recall", "end"]);
}

/// A worker has two slots: what it claimed first has them, and the rest waits, wherever one looks.
pub(crate) async fn what_waits_for_a_slot_is_shown_as_ready(lab: Lab) {
    let world = World::new(lab).await;
    world.lab.run("update jobkit.workers set slots = '{2}'").await;
    let jobs: [i64; 4] = world.ready().await;
    world.call(claim_ahead(1, N, 1, 0)).await;
    world.call(claim_ahead(1, N + 2, 2, 2)).await;
    let admin = jobkit::Admin::new(world.lab.pool());
    for (shown, state) in jobs.into_iter().zip(["Running", "Running", "Ready", "Ready"]) {
        let job = admin.job(JobId(shown)).get().await.unwrap().unwrap();
        assert_eq!(format!("{:?}", job.summary.state), state, "{shown}");
    }
    let overview = admin.overview().await.unwrap();
    assert_eq!((overview.ready, overview.running), (Count::Exactly(2), 2));
    let worker = admin.worker(1).get().await.unwrap().unwrap();
    assert_eq!((worker.summary.running, worker.jobs.len()), (2, 2));
    for (listing, [first, last]) in
        [(Listing::Running, [jobs[0], jobs[1]]), (Listing::Ready, [jobs[2], jobs[3]])]
    {
        let query = JobQuery { listing, ..JobQuery::default() };
        let page = admin.jobs(&query, None, 10).await.unwrap();
        let ids: Vec<i64> = page.jobs.iter().map(|job| job.id.0).collect();
        assert_eq!(ids, [first, last]);
    }
    let waits = admin.job(JobId(jobs[2])).explain().await.unwrap().unwrap();
    assert_eq!(waits.reasons, [Reason::ClaimedAhead { worker: 1 }]);
    assert_eq!(waits.sentence, "Claimed by worker 1, where it waits for a slot");
}
