//! A job that follows another one of its unique key: when it runs, and which queue it gets into.

use jobkit_tests::Lab;

use super::calls::{Once, cancel_mark, claim, enqueue_unique, promote, settle};
use super::kit::{End, World, next_n};
use super::unique::{id, once};
use super::unique_late::{duplicate, late, sweep};

in_a_lab![
    one_that_follows_keeps_the_time_it_was_asked_for,
    the_newest_says_when_one_that_follows_runs,
    the_soonest_says_when_one_that_follows_runs,
    a_duplicate_in_a_full_queue_refuses_no_batch,
    one_that_follows_is_let_into_a_full_queue,
];

/// A duplicate that is to run in an hour.
fn in_an_hour(holds: &'static str, on_duplicate: &'static str) -> String {
    let delay = "1 hour";
    enqueue_unique(&[Once { holds, on_duplicate, payload: 1, delay, ..Once::of("k") }])
}

/// One that follows a job which is late, or in hand besides, or runs, or is cancelled while it
/// does; that job has ended since.
async fn followed(
    world: &World,
    holds: &'static str,
    behind: &str,
    on_duplicate: &'static str,
) -> i64 {
    let job = id(&world.call(duplicate(holds, "skip", 0)).await);
    late(world, job).await;
    let mut n = None;
    if matches!(behind, "runs" | "cancelled") {
        n = Some(world.claim(1, &[job]).await);
    }
    if behind == "cancelled" {
        world.call(cancel_mark(job)).await;
    }
    let lock = if behind == "in hand" { "for key share" } else { "" };
    let look = format!("select job_id::text from jobkit.ready where job_id = {job} {lock}");
    let holder = world.hold(look).await;
    let follower = id(&holder.bystander(in_an_hour(holds, on_duplicate)).await);
    holder.end(End::Commit).await;
    assert_ne!(follower, job);
    let n = match n {
        Some(n) => n,
        None => world.claim(1, &[job]).await,
    };
    world.call(settle(1, n, job, "finish")).await;
    world.call(sweep()).await;
    follower
}

/// It has its key until then.
pub(crate) async fn one_that_follows_keeps_the_time_it_was_asked_for(lab: Lab) {
    let world = World::new(lab).await;
    for (holds, behind, on_duplicate) in [
        ("queued", "late", "skip"),
        ("running", "late", "skip"),
        ("unfinished", "late", "skip"),
        ("unfinished", "in hand", "replace"),
        ("unfinished", "in hand", "debounce"),
        ("unfinished", "runs", "run_again"),
        ("unfinished", "cancelled", "skip"),
    ] {
        let what = format!("{holds} {behind} {on_duplicate}");
        let follower = followed(&world, holds, behind, on_duplicate).await;
        assert_eq!(world.call(claim(1, next_n(), 9)).await, "", "{what}");
        let then = "jobkit.scheduled s join jobkit.jobs j on j.id = s.job_id
            where s.run_at between now() + interval '55 min' and now() + interval '65 min'
                and j.due_since is null";
        assert_eq!(world.lab.count(then).await, 1, "{what}");
        assert_eq!(world.call(duplicate(holds, "skip", 2)).await, format!("existing {follower}"));
        world.an_hour_later().await;
        world.call(promote(9)).await;
        world.claim(1, &[follower]).await;
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// As of any job that is replaced.
pub(crate) async fn the_newest_says_when_one_that_follows_runs(lab: Lab) {
    let world = World::new(lab).await;
    for at_once in [true, false] {
        let job = id(&world.call(once("k")).await);
        let n = world.claim(1, &[job]).await;
        let now = duplicate("unfinished", "run_again", 2);
        let later = in_an_hour("unfinished", "run_again");
        let [first, second] = if at_once { [later, now] } else { [now, later] };
        let follower = id(&world.call(first).await);
        assert_eq!(world.call(second).await, format!("replaced {follower}"));
        world.call(settle(1, n, job, "finish")).await;
        let runs = if at_once { follower.to_string() } else { String::new() };
        assert_eq!(world.call(claim(1, next_n(), 9)).await, runs);
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// Whoever adds nothing to it has it run after its own commit, and no later than it asked for.
pub(crate) async fn the_soonest_says_when_one_that_follows_runs(lab: Lab) {
    let world = World::new(lab).await;
    for (second, runs) in [("null", true), ("2 hours", false)] {
        let job = id(&world.call(once("k")).await);
        late(&world, job).await;
        let follower = id(&world.call(in_an_hour("unfinished", "skip")).await);
        let second = Once { payload: 2, delay: second, ..Once::of("k") };
        let answer = world.call(enqueue_unique(&[second])).await;
        assert_eq!(answer, format!("existing {follower}"));
        let n = world.claim(1, &[job]).await;
        world.call(settle(1, n, job, "finish")).await;
        world.call(sweep()).await;
        let runs = if runs { follower.to_string() } else { String::new() };
        assert_eq!(world.call(claim(1, next_n(), 9)).await, runs);
        let soon = "jobkit.scheduled where run_at > now() + interval '65 min'";
        assert_eq!(world.lab.count(soon).await, 0);
        world.lab.check_invariants().await;
        world.clear().await;
    }
}

/// Of a batch only what is added needs room.
pub(crate) async fn a_duplicate_in_a_full_queue_refuses_no_batch(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(once("k")).await);
    world.lab.run("select jobkit.set_limit('queue', 'default', null, '{\"waiting\": 1}')").await;
    assert_eq!(world.refusal(once("other")).await, "JK009");
    let elsewhere = Once { queue: "elsewhere", ..Once::of("new") };
    let answer = world.call(enqueue_unique(&[elsewhere, Once::of("k")])).await;
    assert!(answer.ends_with(&format!("existing {job}")), "{answer}");
    world.lab.run("select jobkit.set_limit('queue', 'default', null, '{\"waiting\": null}')").await;
    world.lab.check_invariants().await;
}

/// There is one for each job that is there already, and whoever skips is not refused.
pub(crate) async fn one_that_follows_is_let_into_a_full_queue(lab: Lab) {
    let world = World::new(lab).await;
    let job = id(&world.call(once("k")).await);
    world.lab.run("select jobkit.set_limit('queue', 'default', null, '{\"waiting\": 1}')").await;
    assert_eq!(world.refusal(once("other")).await, "JK009");
    assert_eq!(world.call(once("k")).await, format!("existing {job}"));
    late(&world, job).await;
    let follower = id(&world.call(once("k")).await);
    assert_ne!(follower, job);
    assert_eq!(world.call(once("k")).await, format!("existing {follower}"));
    let n = world.claim(1, &[job]).await;
    world.call(settle(1, n, job, "finish")).await;
    world.expect(follower, "ready, charged 0").await;
    world.lab.run("select jobkit.set_limit('queue', 'default', null, '{\"waiting\": null}')").await;
    world.lab.check_invariants().await;
}
