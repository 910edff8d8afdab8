//! Checkpoints against outcomes, reapers and the pruner; reports of one attempt by two workers.

use jobkit_tests::Lab;

use super::calls::{claim, reap_claim, settle};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    a_checkpoint_behind_an_outcome_is_lost,
    an_outcome_behind_a_checkpoint_counts,
    a_checkpoint_behind_a_reap_is_lost,
    a_reaper_passes_over_a_claim_whose_job_is_at_a_checkpoint,
    a_stale_attempt_overwrites_no_newer_checkpoint,
    a_checkpoint_goes_with_its_job_and_not_before,
    of_two_runs_of_an_attempt_the_later_one_is_shown,
];

fn checkpoint(worker: i64, n: i64, job: i64, value: i32) -> String {
    format!("select jobkit.save_step({worker}, {n}, {job}, 1, '', '{value}')::text")
}

/// A report of the first attempt of a job, which began so many seconds ago.
fn report(worker: i64, job: i64, began: i64, done: i64) -> String {
    let began = began * 1_000_000;
    let row =
        format!(r#"{{"job": {job}, "attempt": 1, "began": {began}, "done": {done}, "at": 1}}"#);
    format!("select jobkit.report({worker}, '[{row}]')::text")
}

fn prune() -> String {
    "select jobkit.prune_steps(100)::text".to_owned()
}

impl World {
    /// What the next attempt of a job finds.
    async fn expect_checkpoint(&self, job: i64, value: &str) {
        let sql = format!(
            "select coalesce((
                select value::text from jobkit.steps where job_id = {job} and name = ''), '')"
        );
        assert_eq!(self.lab.value::<String>(&sql).await, value, "job {job}");
    }

    async fn expect_done(&self, job: i64, done: i64) {
        let sql = format!("select done from jobkit.reports where job_id = {job} and attempt = 1");
        assert_eq!(self.lab.value::<i64>(&sql).await, done, "job {job}");
    }
}

/// T190: the job is settled, and others of its claim are not: the claim is there, without it.
pub(crate) async fn a_checkpoint_behind_an_outcome_is_lost(lab: Lab) {
    let world = World::new(lab).await;
    for outcome in ["finish", "retry", "release", "snooze", "bury"] {
        for end in ENDS {
            let (n, [x, y]) = world.running().await;
            let first = world.hold(settle(1, n, x, outcome)).await;
            let second = first.waiter(checkpoint(1, n, x, 7)).await;
            first.end(end).await;
            assert_eq!(second.answer().await.as_deref(), Ok(end.pick("false", "true")));
            world.expect_checkpoint(x, end.pick("", "7")).await;
            assert_eq!(world.call(checkpoint(1, n, y, 8)).await, "true", "{outcome}");
            world.clear().await;
        }
    }
}

/// T191: whoever ends the job waits for the checkpoint, whether that is written or not.
pub(crate) async fn an_outcome_behind_a_checkpoint_counts(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        let (n, [x, y]) = world.running().await;
        let first = world.hold(checkpoint(1, n, x, 7)).await;
        assert_eq!(first.answer, "true");
        let second = first.waiter(settle(1, n, x, "release")).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(""));
        world.expect(x, "ready, charged 0").await;
        world.expect(y, &format!("running 1/{n}, charged 0")).await;
        world.expect_checkpoint(x, end.pick("7", "")).await;
        world.clear().await;
    }
    world.lab.check_invariants().await;
}

/// T192: the worker has died and does not know it.
pub(crate) async fn a_checkpoint_behind_a_reap_is_lost(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        world.register(1).await;
        let (n, [x]) = world.running().await;
        assert_eq!(world.call(checkpoint(1, n, x, 7)).await, "true");
        world.bury_worker(1).await;
        let first = world.hold(reap_claim(1, n)).await;
        let second = first.waiter(checkpoint(1, n, x, 8)).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick("false", "true")));
        world.expect_checkpoint(x, end.pick("7", "8")).await;
        world.clear().await;
    }
}

/// T193: the claim is taken back at the next look, and what was kept is kept.
pub(crate) async fn a_reaper_passes_over_a_claim_whose_job_is_at_a_checkpoint(lab: Lab) {
    let world = World::new(lab).await;
    let (n, [x]) = world.running().await;
    world.bury_worker(1).await;
    let first = world.hold(checkpoint(1, n, x, 7)).await;
    assert_eq!(first.bystander(reap_claim(1, n)).await, "0");
    first.end(End::Commit).await;
    assert_eq!(world.call(reap_claim(1, n)).await, "1");
    world.expect(x, "ready, charged 1").await;
    world.expect_checkpoint(x, "7").await;
    world.lab.check_invariants().await;
}

/// T192: the job runs again, in another worker or under another claim of the same one.
pub(crate) async fn a_stale_attempt_overwrites_no_newer_checkpoint(lab: Lab) {
    let world = World::new(lab).await;
    for worker in [1, 2] {
        let (n, [x]) = world.running().await;
        assert_eq!(world.call(checkpoint(1, n, x, 7)).await, "true");
        world.call(settle(1, n, x, "release")).await;
        let again = next_n();
        assert_eq!(world.call(claim(worker, again, 100)).await, list(&[x]));
        assert_eq!(world.call(checkpoint(worker, again, x, 9)).await, "true");
        assert_eq!(world.call(checkpoint(1, n, x, 8)).await, "false");
        world.expect_checkpoint(x, "9").await;
        world.clear().await;
    }
}

/// T194: neither the pruner nor a worker that tells of an end removes that of a live job.
pub(crate) async fn a_checkpoint_goes_with_its_job_and_not_before(lab: Lab) {
    let world = World::new(lab).await;
    let (n, [x, y]) = world.running().await;
    world.call(checkpoint(1, n, x, 7)).await;
    world.call(checkpoint(1, n, y, 7)).await;
    let over = format!("select jobkit.report(1, '[]', '{{{x},{y}}}', '{{{x},{y}}}')::text");
    let first = world.hold(checkpoint(1, n, x, 8)).await;
    assert_eq!(first.bystander(prune()).await, "0");
    first.bystander(over.clone()).await;
    first.end(End::Commit).await;
    world.expect_checkpoint(x, "8").await;
    let first = world.hold(settle(1, n, x, "finish")).await;
    assert_eq!(first.bystander(prune()).await, "0");
    first.end(End::Commit).await;
    assert_eq!(world.call(prune()).await, "1");
    world.call(settle(1, n, y, "retry")).await;
    world.call(over.clone()).await;
    world.expect_checkpoint(y, "7").await;
    let cancel = format!("array[{y}::bigint], 'cancel'");
    world.lab.run(&format!("select from jobkit.cancel_mark({cancel})")).await;
    world.lab.run(&format!("select from jobkit.cancel_take({cancel}, 'no')")).await;
    world.call(over).await;
    assert_eq!(world.lab.count("jobkit.steps").await, 0);
}

/// T195: an attempt was given back, and runs again under its number. What the first run said last
/// may be written after the first words of the second.
pub(crate) async fn of_two_runs_of_an_attempt_the_later_one_is_shown(lab: Lab) {
    let world = World::new(lab).await;
    world.lab.run("alter function jobkit.report set lock_timeout = '1min'").await;
    for end in ENDS {
        world.lab.run("delete from jobkit.reports").await;
        world.call(report(1, 7, 60, 1)).await;
        let second = world.hold(report(2, 7, 5, 2)).await;
        let first = second.waiter(report(1, 7, 60, 3)).await;
        second.end(end).await;
        first.answer().await.unwrap();
        world.expect_done(7, end.either(2, 3)).await;
        world.call(report(2, 7, 6, 4)).await;
        world.expect_done(7, 4).await;
        // What a worker says is newer than what it said.
        world.call(report(2, 7, 10, 5)).await;
        world.expect_done(7, 5).await;
    }
    // Both runs in one worker, told of at once.
    let both = report(1, 8, 60, 1);
    let both = both.replace("}]", r#"}, {"job": 8, "attempt": 1, "began": 5, "done": 2}]"#);
    world.call(both).await;
    world.expect_done(8, 2).await;
}
