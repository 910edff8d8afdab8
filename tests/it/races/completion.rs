//! Success in a transaction of the handler, which stays open: beside the batch, reapers, outcomes,
//! cancels, and others of the key.

use jobkit_tests::Lab;

use super::calls::{cancel_mark, claim, heartbeat, pause, reap_claim, resume, settle, settle_all};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    t210_batch_mates_do_not_wait_for_a_transaction_left_open,
    t211_a_job_is_moved_beside_an_outcome_of_its_batch,
    t211_a_move_that_is_repeated_finds_the_job_moved,
    t212_a_completion_behind_a_reap_is_lost,
    t212_a_stale_attempt_completes_nothing,
    t213_a_reaper_passes_over_an_open_completion,
    t214_a_completion_behind_an_outcome_is_lost,
    t214_an_outcome_behind_a_completion_counts_after_a_rollback,
    t215_a_completion_behind_a_cancel_is_refused,
    t215_a_cancel_behind_a_completion_finds_the_job_or_none,
    t216_a_look_waits_for_nobody_and_tells_how_it_ended,
    t217_nobody_of_the_key_waits_and_the_permit_is_freed_after_the_commit,
    t218_of_two_completions_one_counts,
    completions_refuse_other_levels,
];

pub(crate) fn part(n: i64, own: i64, job: i64) -> String {
    format!("select coalesce(jobkit.part(1, {n}, {own}, {job})::text, 'lost')")
}

pub(crate) fn complete(n: i64, job: i64) -> String {
    format!("select jobkit.complete(1, {n}, {job}, '1 hour')")
}

fn look(n: i64, job: i64) -> String {
    format!("select concat_ws(' ', state, n) from jobkit.completion(1, '{{{n}}}', {job})")
}

impl World {
    /// As patient as it takes to see a wait.
    async fn completing(lab: Lab) -> Self {
        let world = Self::limited(lab, 1).await;
        for function in ["part", "complete"] {
            let patient = format!("alter function jobkit.{function} set lock_timeout = '1min'");
            world.lab.run(&patient).await;
        }
        world
    }

    /// The same with one job that runs in a claim of its own, without others and with them.
    async fn parted(&self) -> (i64, i64) {
        let (n, [x, _]) = self.running().await;
        let own = next_n();
        assert_eq!(self.call(part(n, own, x)).await, own.to_string());
        self.expect(x, &format!("running 1/{own}, charged 0")).await;
        (own, x)
    }
}

/// T210: the claim row is one for a batch, but not for the job that is completed.
pub(crate) async fn t210_batch_mates_do_not_wait_for_a_transaction_left_open(lab: Lab) {
    let world = World::completing(lab).await;
    for end in ENDS {
        let (n, [x, y, z]) = world.running().await;
        let own: i64 = world.call(part(n, next_n(), x)).await.parse().unwrap();
        let first = world.hold(complete(own, x)).await;
        assert_eq!(first.answer, "finish");
        assert_eq!(first.bystander(settle(1, n, y, "retry")).await, "");
        assert_eq!(first.bystander(heartbeat(1)).await, "true");
        // Claims and settles would queue up behind an operator who waits.
        first.bystander(pause("default")).await;
        first.bystander(resume("default")).await;
        world.last().await;
        assert_eq!(first.bystander(settle(1, n, z, "finish")).await, "");
        first.end(end).await;
        world.expect(x, end.pick("finish", &format!("running 1/{own}, charged 0"))).await;
        world.clear().await;
    }
    world.lab.check_invariants().await;
}

/// T211: whoever comes second sees what is left of the batch.
pub(crate) async fn t211_a_job_is_moved_beside_an_outcome_of_its_batch(lab: Lab) {
    let world = World::completing(lab).await;
    for end in ENDS {
        let (n, [x, y]) = world.running().await;
        let own = next_n();
        let first = world.hold(settle(1, n, y, "finish")).await;
        let second = first.waiter(part(n, own, x)).await;
        first.end(end).await;
        // The last of its claim has one of its own.
        let expected = end.either(n, own);
        assert_eq!(second.answer().await, Ok(expected.to_string()));
        world.expect(x, &format!("running 1/{expected}, charged 0")).await;
        assert_eq!(world.lab.count("jobkit.claims where job_ids = '{}'").await, 0);
        world.clear().await;

        let (n, [x, y]) = world.running().await;
        let own = next_n();
        let first = world.hold(part(n, own, x)).await;
        let both = settle_all(1, n, &[(x, "finish"), (y, "finish")]);
        let second = first.waiter(both).await;
        first.end(end).await;
        let lost = format!("{x} lost");
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick(&lost, "")));
        world.expect(y, "finish").await;
        world.expect(x, end.pick(&format!("running 1/{own}, charged 0"), "finish")).await;
        world.clear().await;
    }
    world.lab.check_invariants().await;
}

/// T211: the answer was lost, or the job was.
pub(crate) async fn t211_a_move_that_is_repeated_finds_the_job_moved(lab: Lab) {
    let world = World::completing(lab).await;
    let (n, [x, y]) = world.running().await;
    let own = next_n();
    for _ in 0..2 {
        assert_eq!(world.call(part(n, own, x)).await, own.to_string());
    }
    world.call(settle(1, own, x, "release")).await;
    assert_eq!(world.call(part(n, own, x)).await, "lost");
    assert_eq!(world.call(part(n, next_n(), y)).await, n.to_string());
    world.lab.check_invariants().await;
}

/// T212: the worker has died and does not know it.
pub(crate) async fn t212_a_completion_behind_a_reap_is_lost(lab: Lab) {
    let world = World::completing(lab).await;
    for end in ENDS {
        world.register(1).await;
        let (own, x) = world.parted().await;
        world.bury_worker(1).await;
        let first = world.hold(reap_claim(1, own)).await;
        let second = first.waiter(complete(own, x)).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick("lost", "finish")));
        world.expect(x, end.pick("ready, charged 1", "finish")).await;
        world.clear().await;
    }
    world.lab.check_invariants().await;
}

/// T212: the job runs again, in another worker or under another claim of the same one.
pub(crate) async fn t212_a_stale_attempt_completes_nothing(lab: Lab) {
    let world = World::completing(lab).await;
    for worker in [1, 2] {
        let (own, x) = world.parted().await;
        world.call(settle(1, own, x, "release")).await;
        let again = next_n();
        assert_eq!(world.call(claim(worker, again, 100)).await, list(&[x]));
        assert_eq!(world.call(complete(own, x)).await, "lost");
        world.expect(x, &format!("running {worker}/{again}, charged 0")).await;
        world.clear().await;
    }
}

/// T213: it may commit yet. Once it is over the claim is there, or is not.
pub(crate) async fn t213_a_reaper_passes_over_an_open_completion(lab: Lab) {
    let world = World::completing(lab).await;
    for end in ENDS {
        for keyed in [false, true] {
            world.register(1).await;
            let (n, x) = if keyed {
                let (n, [x]) = world.running_keyed(["k"]).await;
                (n, x)
            } else {
                world.parted().await
            };
            let first = world.hold(complete(n, x)).await;
            world.bury_worker(1).await;
            assert_eq!(first.bystander(reap_claim(1, n)).await, "0");
            first.end(end).await;
            assert_eq!(world.call(reap_claim(1, n)).await, end.pick("0", "1"));
            let again = if keyed { "ready with permit, charged 1" } else { "ready, charged 1" };
            world.expect(x, end.pick("finish", again)).await;
            let permits = i64::from(keyed && end == End::Rollback);
            assert_eq!(world.lab.count("jobkit.permits").await, permits);
            world.clear().await;
        }
    }
    world.lab.check_invariants().await;
}

/// T214: a task that the handler left behind, or somebody else's outcome.
pub(crate) async fn t214_a_completion_behind_an_outcome_is_lost(lab: Lab) {
    let world = World::completing(lab).await;
    for outcome in ["finish", "retry", "release", "bury"] {
        for end in ENDS {
            let (own, x) = world.parted().await;
            let first = world.hold(settle(1, own, x, outcome)).await;
            let second = first.waiter(complete(own, x)).await;
            first.end(end).await;
            assert_eq!(second.answer().await.as_deref(), Ok(end.pick("lost", "finish")));
            world.clear().await;
        }
    }
    world.lab.check_invariants().await;
}

/// T214: the worker looks before it writes; if it did not, nothing would be repeated either.
pub(crate) async fn t214_an_outcome_behind_a_completion_counts_after_a_rollback(lab: Lab) {
    let world = World::completing(lab).await;
    for end in ENDS {
        let (own, x) = world.parted().await;
        let first = world.hold(complete(own, x)).await;
        let second = first.waiter(settle(1, own, x, "retry")).await;
        first.end(end).await;
        let lost = format!("{x} lost");
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick(&lost, "")));
        world.expect(x, end.pick("finish", "scheduled, charged 1")).await;
        world.clear().await;
    }
    world.lab.check_invariants().await;
}

/// T215: the mark was first: the effect is not wanted any more.
pub(crate) async fn t215_a_completion_behind_a_cancel_is_refused(lab: Lab) {
    let world = World::completing(lab).await;
    for end in ENDS {
        let (own, x) = world.parted().await;
        let first = world.hold(cancel_mark(x)).await;
        let second = first.waiter(complete(own, x)).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick("cancel", "finish")));
        let running = format!("running 1/{own}, charged 0");
        world.expect(x, end.pick(&running, "finish")).await;
        world.clear().await;
    }
    world.lab.check_invariants().await;
}

/// T215: the completion was first: there is nothing left to cancel, unless it is rolled back.
pub(crate) async fn t215_a_cancel_behind_a_completion_finds_the_job_or_none(lab: Lab) {
    let world = World::completing(lab).await;
    for end in ENDS {
        let (own, x) = world.parted().await;
        let first = world.hold(complete(own, x)).await;
        let second = first.waiter(cancel_mark(x)).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick("false", "true")));
        world.clear().await;
    }
    world.lab.check_invariants().await;
}

/// T216: as long as it is open nobody may say what came of it.
pub(crate) async fn t216_a_look_waits_for_nobody_and_tells_how_it_ended(lab: Lab) {
    let world = World::completing(lab).await;
    for end in ENDS {
        for keyed in [false, true] {
            let (n, x) = if keyed {
                let (n, [x]) = world.running_keyed(["k"]).await;
                (n, x)
            } else {
                world.parted().await
            };
            let held = format!("held {n}");
            assert_eq!(world.call(look(n, x)).await, held);
            let first = world.hold(complete(n, x)).await;
            assert_eq!(first.bystander(look(n, x)).await, "open");
            first.end(end).await;
            let finish = if keyed { format!("finish {n}") } else { "finish".to_owned() };
            assert_eq!(world.call(look(n, x)).await, end.pick(&finish, &held));
            world.clear().await;
        }
    }
    // Of a worker that was reaped nobody knows.
    let (own, x) = world.parted().await;
    world.bury_worker(1).await;
    assert_eq!(world.call(reap_claim(1, own)).await, "1");
    assert_eq!(world.call(look(own, x)).await, "lost");
}

/// T217: neither a claim that wants the key nor the end of another job of it.
pub(crate) async fn t217_nobody_of_the_key_waits_and_the_permit_is_freed_after_the_commit(
    lab: Lab,
) {
    let world = World::completing(lab).await;
    for end in ENDS {
        for dies in [false, true] {
            world.register(1).await;
            let (n, [x, y]) = world.running_keyed(["k", "other"]).await;
            let own: i64 = world.call(part(n, next_n(), x)).await.parse().unwrap();
            let first = world.hold(complete(own, x)).await;
            let [z] = world.keyed(["k"]).await;
            assert_eq!(first.bystander(claim(2, next_n(), 100)).await, "");
            world.expect(z, "blocked, charged 0").await;
            assert_eq!(first.bystander(settle(1, n, y, "finish")).await, "");
            first.end(end).await;
            world.expect_key("k", &[x], &[z]).await;
            if dies {
                world.bury_worker(1).await;
                assert_eq!(world.call(reap_claim(1, own)).await, end.pick("0", "1"));
            } else {
                let answer = world.call(settle(1, own, x, "finish")).await;
                let (lost, z) = (format!("{x} lost, {z} unblock"), format!("{z} unblock"));
                assert_eq!(answer, end.pick(&lost, &z));
            }
            if dies && end == End::Rollback {
                // It is the older one.
                world.expect(x, "ready with permit, charged 1").await;
                world.expect_key("k", &[x], &[z]).await;
            } else {
                world.expect(x, "finish").await;
                world.expect(z, "ready with permit, charged 0").await;
                world.expect_key("k", &[z], &[]).await;
            }
            world.clear().await;
        }
    }
}

/// T218: two transactions of one handler.
pub(crate) async fn t218_of_two_completions_one_counts(lab: Lab) {
    let world = World::completing(lab).await;
    for end in ENDS {
        let (n, [x]) = world.running_keyed(["k"]).await;
        let first = world.hold(complete(n, x)).await;
        let second = first.waiter(complete(n, x)).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick("lost", "finish")));
        assert_eq!(world.lab.count(&format!("jobkit.finished where job_id = {x}")).await, 1);
        world.clear().await;
    }
    world.lab.check_invariants().await;
}

pub(crate) async fn completions_refuse_other_levels(lab: Lab) {
    let world = World::completing(lab).await;
    let (n, [x, y]) = world.running().await;
    for call in [part(n, next_n(), x), complete(n, y), look(n, x)] {
        for level in ["repeatable read", "serializable"] {
            let at = format!("set transaction isolation level {level}");
            assert_eq!(world.refusal_after(&at, call.clone()).await, "JK002", "{level}: {call}");
        }
    }
    assert_eq!(world.call(claim(2, next_n(), 100)).await, list(&[]));
    world.hold(complete(n, y)).await.end(End::Rollback).await;
    world.expect(y, &format!("running 1/{n}, charged 0")).await;
}
