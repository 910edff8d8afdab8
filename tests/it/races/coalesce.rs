//! Jobs that coalesce: of a key the newest that waits begins, and none before it is decided what
//! becomes of the older ones. Nobody waits for anybody.

use jobkit_tests::Lab;

use super::calls::{
    Coalescing, Scan, cancel_mark, claim, claim_ahead, claim_where, enqueue_coalescing, promote,
    settle, settle_all,
};
use super::kit::{ENDS, End, World, next_n};
use crate::clock::step_back;

in_a_lab![
    of_those_that_wait_the_newest_begins,
    two_claims_never_begin_an_older_one_beside_a_newer,
    a_claim_beside_a_retry_begins_nothing_newer,
    what_runs_does_not_run_again_after_a_newer_one,
    one_that_is_committed_late_runs_after_a_newer_one,
    what_is_due_coalesces_and_what_is_not_waits,
    blocked_ones_coalesce_behind_a_running_one,
    many_of_a_key_end_in_bounded_claims,
    a_cancelled_one_takes_nobody_along,
    a_newest_one_that_a_worker_does_not_know_is_left_to_others,
    queues_and_concurrency_keys_are_apart,
    none_is_claimed_ahead,
    a_dead_letter_coalesces_no_more,
    what_waited_before_a_step_back_coalesces,
];

fn ids(answer: &str) -> Vec<i64> {
    answer.split(' ').filter_map(|id| id.parse().ok()).collect()
}

impl World {
    /// Enqueues jobs of the key.
    async fn coalescing(&self, count: i32) -> Vec<i64> {
        ids(&self.call(enqueue_coalescing(count, Coalescing::default())).await)
    }

    /// Which job ran, or runs, instead of one.
    async fn instead(&self, job: i64) -> Option<i64> {
        let reason = format!("select max(reason) from jobkit.finished where job_id = {job}");
        let reason: Option<String> = self.lab.value(&reason).await;
        reason?.strip_prefix("coalesced into job ")?.parse().ok()
    }
}

pub(crate) async fn of_those_that_wait_the_newest_begins(lab: Lab) {
    let world = World::new(lab).await;
    let jobs = world.coalescing(3).await;
    let [other] = world.ready().await;
    let first = Coalescing { priority: -1, ..Coalescing::default() };
    let urgent = ids(&world.call(enqueue_coalescing(1, first)).await)[0];
    // One slot: the urgent one is picked, and it is the newest as well.
    assert_eq!(world.call(claim(1, next_n(), 1)).await, urgent.to_string());
    for job in jobs {
        assert_eq!(world.instead(job).await, Some(urgent));
    }
    let later = world.coalescing(2).await;
    let n = next_n();
    assert_eq!(world.call(claim(1, n, 9)).await, format!("{other} {}", later[1]));
    assert_eq!(world.call(settle(1, n, later[1], "finish")).await, "");
    world.expect(later[1], "finish").await;
    world.lab.check_invariants().await;
}

/// Of two claims the one that has the older job ends it, and the other leaves the newer one for the
/// next: it may be that the older one runs.
pub(crate) async fn two_claims_never_begin_an_older_one_beside_a_newer(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let a = world.coalescing(1).await[0];
        let first = world.hold(claim(1, next_n(), 9)).await;
        assert_eq!(first.answer, a.to_string());
        let newer = world.coalescing(2).await;
        assert_eq!(first.bystander(claim(2, next_n(), 9)).await, "");
        assert_eq!(world.instead(newer[0]).await, Some(newer[1]));
        world.expect(newer[1], "ready, charged 0").await;
        first.end(end).await;
        assert_eq!(world.call(claim(2, next_n(), 9)).await, newer[1].to_string());
        assert_eq!(world.instead(a).await, end.either(None, Some(newer[1])));
        world.lab.check_invariants().await;
        world.clear().await;
    }
    // The other way round: the older one is picked while the newer one is in other hands.
    let a = world.coalescing(1).await[0];
    let one = Coalescing { priority: -1, ..Coalescing::default() };
    let b = ids(&world.call(enqueue_coalescing(1, one)).await)[0];
    let select = format!("select job_id::text from jobkit.ready where job_id = {b} for update");
    let holder = world.hold(select).await;
    assert_eq!(holder.bystander(claim(1, next_n(), 1)).await, "");
    assert_eq!(world.instead(a).await, Some(b));
    holder.end(End::Rollback).await;
    assert_eq!(world.call(claim(1, next_n(), 1)).await, b.to_string());
    world.lab.check_invariants().await;
}

/// A retry that is on its way may be seen by nobody else: nothing newer begins before.
pub(crate) async fn a_claim_beside_a_retry_begins_nothing_newer(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["retry", "snooze", "release", "finish"] {
        for end in ENDS {
            let job = world.coalescing(1).await[0];
            let n = world.claim(1, &[job]).await;
            // A second job, so that the outcome of the first holds its row.
            let settle = world.hold(settle_all(1, n, &[(job, outcome)])).await;
            let newer = world.coalescing(1).await[0];
            assert_eq!(settle.bystander(claim(2, next_n(), 9)).await, "");
            settle.end(end).await;
            assert_eq!(world.call(claim(2, next_n(), 9)).await, newer.to_string());
            let ended = end == End::Commit && outcome != "finish";
            assert_eq!(world.instead(job).await, ended.then_some(newer), "{outcome} {end:?}");
            world.lab.check_invariants().await;
            world.clear().await;
        }
    }
}

/// Whatever would let it run once more ends it.
pub(crate) async fn what_runs_does_not_run_again_after_a_newer_one(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["retry", "snooze", "release", "crash", "finish", "bury"] {
        let job = world.coalescing(1).await[0];
        let n = world.claim(1, &[job]).await;
        let newer = world.coalescing(1).await[0];
        let m = world.claim(2, &[newer]).await;
        assert_eq!(world.call(settle(2, m, newer, "finish")).await, "");
        match outcome {
            "crash" => world.crash(1, n).await,
            "finish" | "bury" => {
                assert_eq!(world.call(settle(1, n, job, outcome)).await, "");
            }
            _ => {
                let answer = world.call(settle(1, n, job, outcome)).await;
                assert_eq!(answer, format!("{job} supersede"), "{outcome}");
            }
        }
        if !matches!(outcome, "finish" | "bury") {
            assert_eq!(world.instead(job).await, Some(newer), "{outcome}");
        }
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// What a producer commits after a newer one has begun is not in what that one read: it runs.
pub(crate) async fn one_that_is_committed_late_runs_after_a_newer_one(lab: Lab) {
    let world = World::new(lab).await;
    for ended in [false, true] {
        let producer = world.hold(enqueue_coalescing(1, Coalescing::default())).await;
        let late = ids(&producer.answer)[0];
        let job = world.coalescing(1).await[0];
        assert!(late < job);
        let n = next_n();
        assert_eq!(producer.bystander(claim(1, n, 9)).await, job.to_string());
        if ended {
            assert_eq!(producer.bystander(settle(1, n, job, "finish")).await, "");
        }
        producer.end(End::Commit).await;
        assert_eq!(world.call(claim(2, next_n(), 9)).await, late.to_string());
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

pub(crate) async fn what_is_due_coalesces_and_what_is_not_waits(lab: Lab) {
    let world = World::new(lab).await;
    let later = Coalescing { delay: "1 hour", ..Coalescing::default() };
    let due = ids(&world.call(enqueue_coalescing(1, later)).await)[0];
    world.an_hour_later().await;
    let scheduled = ids(&world.call(enqueue_coalescing(1, later)).await)[0];
    let failed = world.coalescing(1).await[0];
    let n = world.claim(1, &[failed]).await;
    assert_eq!(world.instead(due).await, Some(failed));
    assert_eq!(world.call(settle(1, n, failed, "retry")).await, "");
    let newest = world.coalescing(1).await[0];
    assert_eq!(world.call(claim(1, next_n(), 9)).await, newest.to_string());
    assert_eq!(world.instead(failed).await, Some(newest));
    world.expect(scheduled, "scheduled, charged 0").await;
    // The newest of those that are due may still be in `scheduled`, and begins from there.
    let ready = world.coalescing(1).await[0];
    let due = ids(&world.call(enqueue_coalescing(1, later)).await)[0];
    world.an_hour_later().await;
    let promoter = world.hold(promote(10)).await;
    assert_eq!(promoter.bystander(claim(1, next_n(), 9)).await, "");
    promoter.end(End::Rollback).await;
    assert_eq!(world.instead(ready).await, Some(due));
    assert_eq!(world.call(promote(10)).await, "2");
    assert_eq!(world.call(claim(1, next_n(), 9)).await, due.to_string());
    assert_eq!(world.instead(scheduled).await, Some(due));
    world.lab.check_invariants().await;
}

/// With a concurrency key: while one runs, those that come become one.
pub(crate) async fn blocked_ones_coalesce_behind_a_running_one(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let keyed = Coalescing { key: "c", ..Coalescing::default() };
    let enqueue = async |count| ids(&world.call(enqueue_coalescing(count, keyed)).await);
    let first = enqueue(1).await[0];
    let n = world.claim(1, &[first]).await;
    let mut all = Vec::new();
    for _ in 0..3 {
        all.extend(enqueue(3).await);
        assert_eq!(world.call(claim(2, next_n(), 2)).await, "");
        // What was left by the slots is seen as well.
        world.expect_key("c", &[first], &all[all.len() - 1..]).await;
    }
    let last = all.pop().unwrap();
    for job in all {
        assert!(world.instead(job).await.is_some_and(|instead| instead > job));
    }
    world.call(settle(1, n, first, "finish")).await;
    assert_eq!(world.call(claim(1, next_n(), 9)).await, last.to_string());
    world.lab.check_invariants().await;
}

pub(crate) async fn many_of_a_key_end_in_bounded_claims(lab: Lab) {
    let world = World::new(lab).await;
    let jobs = world.coalescing(5000).await;
    let ended = "jobkit.finished where reason like 'coalesced%'";
    for round in 0..9 {
        let before = world.lab.count(ended).await;
        let answer = world.call(claim(1, next_n(), 500)).await;
        let now = world.lab.count(ended).await - before;
        assert!((1..1600).contains(&now), "{round}: {now}");
        if !answer.is_empty() {
            assert_eq!(answer, jobs[4999].to_string());
            assert_eq!(world.lab.count(ended).await, 4999);
            world.lab.check_invariants().await;
            return;
        }
    }
    panic!("the newest one never begins");
}

/// It is handed out to be ended, beside the one that runs.
pub(crate) async fn a_cancelled_one_takes_nobody_along(lab: Lab) {
    let world = World::new(lab).await;
    let jobs = world.coalescing(3).await;
    world.call(cancel_mark(jobs[2])).await;
    assert_eq!(world.call(claim(1, next_n(), 1)).await, jobs[1].to_string());
    assert_eq!(world.instead(jobs[0]).await, Some(jobs[1]));
    assert_eq!(world.call(claim(1, next_n(), 1)).await, format!("{}!", jobs[2]));
    world.clear().await;
    // One that is being cancelled stands in the way until that is decided, and nobody waits for it.
    for end in ENDS {
        let jobs = world.coalescing(2).await;
        let cancel = world.hold(cancel_mark(jobs[0])).await;
        assert_eq!(cancel.bystander(claim(1, next_n(), 9)).await, "");
        cancel.end(end).await;
        let all = format!("{}! {}", jobs[0], jobs[1]);
        let newest = jobs[1].to_string();
        assert_eq!(world.call(claim(1, next_n(), 9)).await, end.pick(&all, &newest));
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// The older one ends all the same: its payload is not the newest any more.
pub(crate) async fn a_newest_one_that_a_worker_does_not_know_is_left_to_others(lab: Lab) {
    let world = World::new(lab).await;
    let older = world.coalescing(1).await[0];
    let other = Coalescing { kind: "another", ..Coalescing::default() };
    let newest = ids(&world.call(enqueue_coalescing(1, other)).await)[0];
    assert_eq!(world.call(claim(1, next_n(), 9)).await, "");
    assert_eq!(world.instead(older).await, Some(newest));
    let both = Scan { kinds: "act,another", ..Scan::default() };
    assert_eq!(world.call(claim_where(1, next_n(), &both)).await, newest.to_string());
    world.lab.check_invariants().await;
}

pub(crate) async fn queues_and_concurrency_keys_are_apart(lab: Lab) {
    let world = World::limited(lab, 9).await;
    let jobs = [
        Coalescing::default(),
        Coalescing { queue: "other", ..Coalescing::default() },
        Coalescing { key: "c", ..Coalescing::default() },
        Coalescing { key: "d", ..Coalescing::default() },
    ];
    let mut all = Vec::new();
    for job in jobs {
        let two = ids(&world.call(enqueue_coalescing(2, job)).await);
        all.push(two[1].to_string());
    }
    let both = Scan { queues: "default,other", slots: "9,9", ..Scan::default() };
    let other = all.remove(1);
    assert_eq!(world.call(claim(1, next_n(), 9)).await, all.join(" "));
    assert_eq!(world.call(claim_where(1, next_n(), &both)).await, other);
    world.lab.check_invariants().await;
}

/// It would be older by the time that it begins.
pub(crate) async fn none_is_claimed_ahead(lab: Lab) {
    let world = World::new(lab).await;
    let [other] = world.ready().await;
    let jobs = world.coalescing(2).await;
    let answer = world.call(claim_ahead(1, next_n(), 3, 2)).await;
    assert_eq!(answer, format!("{other}+ {} cut", jobs[1]));
    assert_eq!(world.instead(jobs[0]).await, Some(jobs[1]));
    world.lab.check_invariants().await;
}

/// A replay has a new id and an old payload.
pub(crate) async fn a_dead_letter_coalesces_no_more(lab: Lab) {
    let world = World::new(lab).await;
    let dead = world.coalescing(1).await[0];
    let n = world.claim(1, &[dead]).await;
    world.call(settle(1, n, dead, "bury")).await;
    let job = world.coalescing(1).await[0];
    world.lab.run("select jobkit.replay(d.id) from jobkit.dead_letters d").await;
    let replay: i64 = world.lab.value("select max(id) from jobkit.jobs").await;
    assert_eq!(world.call(claim(1, next_n(), 9)).await, format!("{job} {replay}"));
    world.lab.check_invariants().await;
}

/// What is ready is due, whatever its time says; and what waits for its time is not.
pub(crate) async fn what_waited_before_a_step_back_coalesces(lab: Lab) {
    let world = World::new(lab).await;
    for by in ["1 hour", "1 day"] {
        let jobs = world.coalescing(3).await;
        let later = Coalescing { delay: "1 min", ..Coalescing::default() };
        let later = ids(&world.call(enqueue_coalescing(1, later)).await)[0];
        step_back(&world.lab, by).await;
        assert_eq!(world.call(claim(1, next_n(), 1)).await, jobs[2].to_string(), "{by}");
        assert_eq!(world.instead(jobs[0]).await, Some(jobs[2]));
        assert_eq!(world.instead(jobs[1]).await, Some(jobs[2]));
        world.expect(later, "scheduled, charged 0").await;
        world.lab.check_invariants().await;
        world.clear().await;
    }
}
