//! Claims against each other, against the reaper of their worker, and against promotions.

use jobkit_tests::Lab;

use super::calls::{
    Keyed, Scan, claim, claim_beside_marks, claim_marked, claim_where, deregister, heartbeat,
    orphaned_claims, promote, reap_claim, reap_workers, settle,
};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    two_claims_share_nothing,
    two_claims_from_the_marks_share_nothing,
    two_claims_beside_the_marks_share_nothing,
    a_claim_from_the_marks_finds_every_priority,
    what_a_claim_gave_up_is_found_from_the_start,
    a_claim_says_what_came_to_no_job,
    a_claim_says_where_each_lane_begins,
    ten_claimers_take_each_job_once,
    a_claim_in_flight_keeps_its_worker,
    a_claim_in_flight_holds_up_no_heartbeat,
    a_worker_that_ends_waits_for_its_claim_in_flight,
    a_claim_behind_the_reap_of_its_worker_fails,
    a_claim_behind_the_end_of_its_worker_fails,
    a_claim_without_a_lease_is_refused,
    two_promotions_share_nothing,
    a_thousand_due_jobs_are_promoted_in_batches,
    a_promotion_in_flight_is_not_claimed,
    t13_a_due_job_that_cannot_be_promoted_holds_back_no_other,
    t74_a_claim_touches_no_attempts,
];

/// T70, T71: the second claim takes what the first left, without waiting.
pub(crate) async fn two_claims_share_nothing(lab: Lab) {
    share_nothing(lab, claim).await;
}

/// T70, T71: the same for scans that begin at the low-water marks.
pub(crate) async fn two_claims_from_the_marks_share_nothing(lab: Lab) {
    share_nothing(lab, claim_marked).await;
}

/// T70, T71: the same for scans of what is between those.
pub(crate) async fn two_claims_beside_the_marks_share_nothing(lab: Lab) {
    share_nothing(lab, claim_beside_marks).await;
}

async fn share_nothing(lab: Lab, look: fn(i64, i64, i32) -> String) {
    let world = World::new(lab).await;
    for end in ENDS {
        let [x, y, z] = world.ready().await;
        let first = world.hold(look(1, next_n(), 2)).await;
        assert_eq!(first.answer, list(&[x, y]));
        assert_eq!(first.bystander(look(2, next_n(), 5)).await, list(&[z]));
        assert_eq!(first.bystander(look(2, next_n(), 5)).await, "");
        first.end(end).await;
        let left = world.call(claim(2, next_n(), 5)).await;
        assert_eq!(left, end.pick("", &list(&[x, y])));
    }
    assert_eq!(world.lab.count("jobkit.ready").await, 0);
    world.lab.check_invariants().await;
}

/// A scan above the marks passes over what somebody had begun to take, and so does one beside them.
/// One from the start does not; and none waits for it.
pub(crate) async fn what_a_claim_gave_up_is_found_from_the_start(lab: Lab) {
    let world = World::limited(lab, 9).await;
    for marked in [claim_marked, claim_beside_marks] {
        let jobs: [i64; 2] = world.ready().await;
        let [beside] = world.keyed([Keyed { queue: "other", ..Keyed::from("k") }]).await;
        let first = world.hold(claim(1, next_n(), 2)).await;
        assert_eq!(first.answer, list(&jobs));
        let scan = Scan { queues: "default,other", slots: "5,5", ..Scan::default() };
        assert_eq!(first.bystander(claim_where(2, next_n(), &scan)).await, list(&[beside]));
        first.end(End::Rollback).await;
        assert_eq!(world.call(marked(2, next_n(), 5)).await, "");
        assert_eq!(world.call(claim_where(2, next_n(), &scan)).await, list(&jobs));
    }
    world.lab.check_invariants().await;
}

/// Of what it picked: which got no permit, and what is gone. What went back is not told.
pub(crate) async fn a_claim_says_what_came_to_no_job(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.register_for(3, "default,other", "act").await;
    let count = || {
        format!(
            "select concat_ws(', ',
                string_agg(c.note #>> '{{waiting,0}}' || ': ' || (c.note #>> '{{waiting,1}}')
                    || ' wait', ', '),
                sum((c.note ->> 'gone')::integer) || ' gone', count(c.job_id) || ' jobs',
                count(c.note ->> 'scan_us') || ' scan')
            from jobkit.claim(3, {}, '{{act}}', '{{default,other}}', '{{9,9}}') c",
            next_n()
        )
    };
    assert_eq!(world.call(count()).await, "0 jobs, 1 scan");
    let [_, _, gone]: [i64; 3] = world.ready().await;
    world.lab.run_unguarded(&format!("delete from jobkit.jobs where id = {gone}")).await;
    let other = Keyed { queue: "other", ..Keyed::from("k") };
    let _: [i64; 2] = world.keyed([other, other]).await;
    assert_eq!(world.call(count()).await, "other: 1 wait, 1 gone, 3 jobs, 1 scan");
    let large = |key: &'static str| Keyed { size: 3 * 1024 * 1024, ..Keyed::from(key) };
    let _: [i64; 3] = world.keyed([large("a"), large("b"), large("c")]).await;
    assert_eq!(world.call(count()).await, "0 gone, 2 jobs, 1 scan");
    world.lab.check_invariants().await;
}

/// A job that holds a permit asks for none; the marks of its lane are its own.
pub(crate) async fn a_claim_says_where_each_lane_begins(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [holder]) = world.running_keyed(["a"]).await;
    assert_eq!(world.call(settle(1, n, holder, "release")).await, format!("{holder} unblock"));
    let [plain] = world.ready().await;
    let _: [i64; 2] = world.keyed(["b", "b"]).await;
    let lanes = format!(
        "select string_agg(c.note #>> '{{lowest,1}}' || ' from ' || (c.note #>> '{{lowest,2}}'),
                ', ' order by c.note #>> '{{lowest,1}}') || ', jobs: ' || count(c.job_id)
        from jobkit.claim(1, {}, '{{act}}', '{{default}}', '{{9}}') c",
        next_n()
    );
    assert_eq!(world.call(lanes).await, format!("6 from {holder}, 7 from {plain}, jobs: 3"));
    world.lab.check_invariants().await;
}

/// Whichever of them have marks, and in their order.
pub(crate) async fn a_claim_from_the_marks_finds_every_priority(lab: Lab) {
    let world = World::limited(lab, 100).await;
    for (first, last) in [(14, 13), (0, 13), (0, 1), (6, 7), (12, 13), (2, 11)] {
        let of = |priority| Keyed { priority, ..Keyed::from("k") };
        let [a, b, c, d, e, f, g] = world.keyed([3, -3, 0, 1, -1, 2, -2].map(of)).await;
        let take = |slots: i32| {
            format!(
                "select string_agg(c.job_id::text, ' ' order by c.job_id)
                from jobkit.claim(1, {}, '{{act}}', '{{default}}', '{{{slots}}}',
                    array_fill(0::bigint, array[14]), '{{{first}}}', '{{{last}}}') c",
                next_n()
            )
        };
        let mut taken = Vec::new();
        for slots in [1, 2, 1, 2, 1, 1] {
            taken.push(world.call(take(slots)).await);
        }
        let pairs = |x: i64, y: i64| list(&[x.min(y), x.max(y)]);
        let order = [list(&[b]), pairs(g, e), list(&[c]), pairs(d, f), list(&[a]), String::new()];
        assert_eq!(taken, order, "marks from {first} to {last}");
    }
    world.lab.check_invariants().await;
}

/// T71: ten claimers, ten jobs each, at once.
pub(crate) async fn ten_claimers_take_each_job_once(lab: Lab) {
    let world = World::new(lab).await;
    let jobs: [i64; 100] = world.ready().await;
    let mut claimers = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let mut session = world.lab.session("claimer").await;
        claimers.spawn(async move {
            session.value::<Option<String>>(&claim(1, next_n(), 10)).await.unwrap().unwrap()
        });
    }
    let taken = claimers.join_all().await.join(" ");
    let mut taken: Vec<i64> = taken.split(' ').map(|id| id.parse().unwrap()).collect();
    taken.sort_unstable();
    assert_eq!(taken, jobs);
    assert_eq!(world.lab.count("jobkit.ready").await, 0);
    world.lab.check_invariants().await;
}

/// A worker whose lease lapses while its claim is in flight is reaped the next time only: the claim
/// then has no worker, and is found.
pub(crate) async fn a_claim_in_flight_keeps_its_worker(lab: Lab) {
    let world = World::new(lab).await;
    let [x] = world.ready().await;
    for end in [End::Rollback, End::Commit] {
        let n = next_n();
        let first = world.hold(claim(1, n, 1)).await;
        assert_eq!(first.answer, list(&[x]));
        world.lapse(1).await;
        assert_eq!(first.bystander(reap_workers()).await, "");
        assert_eq!(first.bystander(orphaned_claims()).await, "");
        first.end(end).await;
        assert_eq!(world.call(reap_workers()).await, "1");
        assert_eq!(world.call(orphaned_claims()).await, end.pick(&format!("1/{n}"), ""));
        world.expect(x, end.pick(&format!("running 1/{n}, charged 0"), "ready, charged 0")).await;
        world.register(1).await;
    }
    world.lab.check_invariants().await;
}

/// The lease is renewed beside a claim of the same worker, however long that takes.
pub(crate) async fn a_claim_in_flight_holds_up_no_heartbeat(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let [x] = world.ready().await;
        let n = next_n();
        let first = world.hold(claim(1, n, 1)).await;
        assert_eq!(first.bystander(heartbeat(1)).await, "true");
        first.end(end).await;
        let place = end.pick(&format!("running 1/{n}, charged 0"), "ready, charged 0").to_owned();
        world.expect(x, &place).await;
        world.lab.run("update jobkit.workers set lease_until = now() + interval '1 day'").await;
    }
    world.lab.check_invariants().await;
}

/// A claim that was given up by its worker, but not by the server. When the worker goes, the claim
/// is found without one; it is never left without being found.
pub(crate) async fn a_worker_that_ends_waits_for_its_claim_in_flight(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        world.clear().await;
        world.register(1).await;
        let [x] = world.ready().await;
        let n = next_n();
        let first = world.hold(claim(1, n, 1)).await;
        let gone = first.waiter(deregister(1)).await;
        first.end(end).await;
        assert_eq!(gone.answer().await.as_deref(), Ok(""));
        assert_eq!(world.call(orphaned_claims()).await, end.pick(&format!("1/{n}"), ""));
        assert_eq!(world.call(reap_claim(1, n)).await, end.pick("1", "0"));
        world.expect(x, end.pick("ready, charged 1", "ready, charged 0")).await;
        world.lab.check_invariants().await;
    }
}

/// A claim that read a valid lease before the reap committed finds its worker gone after it.
pub(crate) async fn a_claim_behind_the_reap_of_its_worker_fails(lab: Lab) {
    let world = World::new(lab).await;
    let [x] = world.ready().await;
    for end in [End::Rollback, End::Commit] {
        // Lapsed for the reaper only: the claim still sees the lease it had.
        let lapse = "update jobkit.workers set lease_until = now() - interval '1 s' where id = 1";
        let reap = world.hold_after(lapse, reap_workers()).await;
        assert_eq!(reap.answer, "1");
        behind(&world, reap, end, x).await;
    }
}

/// The same for a worker that ends in the orderly way.
pub(crate) async fn a_claim_behind_the_end_of_its_worker_fails(lab: Lab) {
    let world = World::new(lab).await;
    let [x] = world.ready().await;
    for end in [End::Rollback, End::Commit] {
        let gone = world.hold(deregister(1)).await;
        behind(&world, gone, end, x).await;
    }
}

async fn behind(world: &World, holder: super::kit::Holder<'_>, end: End, x: i64) {
    let n = next_n();
    let claimed = holder.waiter(claim(1, n, 1)).await;
    holder.end(end).await;
    if end == End::Commit {
        assert_eq!(claimed.answer().await, Err("JK001".to_owned()));
        world.expect(x, "ready, charged 0").await;
        assert_eq!(world.lab.count("jobkit.claims").await, 0);
    } else {
        assert_eq!(claimed.answer().await, Ok(list(&[x])));
        assert_eq!(world.call(settle(1, n, x, "release")).await, "");
    }
    assert_eq!(world.call(orphaned_claims()).await, "");
    world.lab.check_invariants().await;
}

/// A worker that did not renew in time takes nothing, before as after its reap.
pub(crate) async fn a_claim_without_a_lease_is_refused(lab: Lab) {
    let world = World::new(lab).await;
    let [x] = world.ready().await;
    world.lapse(1).await;
    assert_eq!(world.refusal(claim(1, next_n(), 1)).await, "JK001");
    assert_eq!(world.call(reap_workers()).await, "1");
    assert_eq!(world.refusal(claim(1, next_n(), 1)).await, "JK001");
    world.expect(x, "ready, charged 0").await;
    world.lab.check_invariants().await;
}

/// T119: the second promotion takes what the first left, without waiting.
pub(crate) async fn two_promotions_share_nothing(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let jobs: [i64; 3] = world.due().await;
        let first = world.hold(promote(2)).await;
        assert_eq!(first.answer, "2");
        assert_eq!(first.bystander(promote(10)).await, "1");
        first.end(end).await;
        assert_eq!(world.call(promote(10)).await, end.pick("0", "2"));
        for job in jobs {
            world.expect(job, "ready, charged 0").await;
        }
    }
    world.lab.check_invariants().await;
}

/// T119: a heap of retries, all due at once, is moved by as many batches as it takes, beside
/// another service that does the same.
pub(crate) async fn a_thousand_due_jobs_are_promoted_in_batches(lab: Lab) {
    let world = World::new(lab).await;
    let _jobs: [i64; 1000] = world.due().await;
    let other = world.hold(promote(300)).await;
    assert_eq!(other.answer, "300");
    for promoted in ["500", "200", "0"] {
        assert_eq!(other.bystander(promote(500)).await, promoted);
    }
    other.end(End::Commit).await;
    assert_eq!(world.lab.count("jobkit.ready").await, 1000);
    assert_eq!(world.lab.count("jobkit.scheduled").await, 0);
    world.lab.check_invariants().await;
}

/// A job on its way from `scheduled` to `ready` is nobody's until the promotion commits.
pub(crate) async fn a_promotion_in_flight_is_not_claimed(lab: Lab) {
    let world = World::new(lab).await;
    for end in [End::Rollback, End::Commit] {
        world.clear().await;
        let [x] = world.due().await;
        let promotion = world.hold(promote(10)).await;
        assert_eq!(promotion.answer, "1");
        assert_eq!(promotion.bystander(claim(1, next_n(), 1)).await, "");
        promotion.end(end).await;
        assert_eq!(world.call(claim(1, next_n(), 1)).await, end.pick(&list(&[x]), ""));
        world.lab.check_invariants().await;
    }
}

/// T13. The batch fails with its row; then each of the others is promoted, and it is put off.
pub(crate) async fn t13_a_due_job_that_cannot_be_promoted_holds_back_no_other(lab: Lab) {
    let world = World::new(lab).await;
    let [x, poison, y] = world.due().await;
    let refused = format!("alter table jobkit.ready add constraint no check (job_id <> {poison})");
    world.lab.run(&refused).await;
    let first = world.hold(promote(10)).await;
    assert_eq!(first.answer, "2");
    assert_eq!(first.bystander(promote(10)).await, "0");
    first.end(End::Commit).await;
    for job in [x, y] {
        world.expect(job, "ready, charged 0").await;
    }
    world.expect(poison, "scheduled, charged 0").await;
    assert_eq!(world.call(promote(10)).await, "0");
    world.lab.check_invariants().await;
}

/// T74. Whoever reads the record of attempts under a lock holds up no claim.
pub(crate) async fn t74_a_claim_touches_no_attempts(lab: Lab) {
    let world = World::new(lab).await;
    let (n, [x]) = world.running().await;
    assert_eq!(world.call(settle(1, n, x, "retry")).await, "");
    world.an_hour_later().await;
    assert_eq!(world.call(promote(1)).await, "1");
    let record = "select outcome from jobkit.attempts for update".to_owned();
    let reader = world.hold(record).await;
    assert_eq!(reader.answer, "retry");
    let n = next_n();
    assert_eq!(reader.bystander(claim(1, n, 1)).await, list(&[x]));
    assert_eq!(reader.bystander(settle(1, n, x, "release")).await, "");
    reader.end(End::Commit).await;
    world.expect(x, "ready, charged 1").await;
    assert_eq!(world.failures(x).await, "retry");
    world.lab.check_invariants().await;
}
