//! Who frees a permit runs the next job of the key itself, in the same transaction: as a claim
//! would, and only where a claim could.

use jobkit_tests::Lab;

use super::calls::{
    Keyed, Scan, claim, claim_where, limit_group, limit_key, orphaned_claims, pause, reap_claim,
    reap_workers, release_lost, replay, settle, settle_and_claim,
};
use super::kit::{ENDS, World, list, next_n};

in_a_lab![
    the_next_job_belongs_to_who_freed_the_permit,
    the_blocked_job_of_the_best_priority_goes_along,
    two_who_end_at_once_take_two,
    a_finish_behind_a_claim_that_blocks_takes_what_that_blocked,
    after_a_lowered_limit_nobody_goes_along,
    after_a_raised_limit_all_that_fit_follow,
    a_settle_under_another_claim_passes_nothing_on,
    a_job_that_is_given_back_comes_before_younger_ones,
    a_permit_is_held_since_it_was_passed_on,
    a_replay_that_goes_along_resolves_its_dead_letter,
    the_search_begins_behind_dead_entries_that_made_it_slow,
    as_many_go_along_as_there_is_room_for,
    a_job_of_another_kind_or_queue_is_left_to_those_who_serve_it,
    a_job_of_another_version_is_left_to_those_who_know_it,
    a_crash_suspect_is_left_to_a_claim,
    payloads_beyond_the_limit_of_an_answer_are_left,
    a_worker_that_stops_or_has_no_lease_takes_nothing,
    a_paused_queue_hands_nothing_over,
    an_answer_that_was_lost_is_given_back,
    a_reaper_passes_over_a_worker_that_takes_over,
    a_worker_that_is_just_being_reaped_takes_nothing,
];

const READY: &str = "ready with permit, charged 0";

/// Room for ten jobs of the usual queue.
const ROOM: &[(&str, i32)] = &[("default", 10)];

/// Nothing of it is seen before the commit, and nothing is left of it after a rollback.
pub(crate) async fn the_next_job_belongs_to_who_freed_the_permit(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for (outcome, place) in [("finish", "finish"), ("retry", "scheduled, charged 1")] {
        for end in ENDS {
            world.clear().await;
            let (n, [x]) = world.running_keyed(["a"]).await;
            let [y, z] = world.blocked(["a", "a"]).await;
            let next = next_n();
            let settle = settle_and_claim(1, n, &[(x, outcome)], next, ROOM);
            let settle = world.hold(settle).await;
            assert_eq!(settle.answer, format!("{y} claim"), "{outcome}");
            world.expect_key("a", &[x], &[y, z]).await;
            settle.end(end).await;
            let running = format!("running 1/{n}, charged 0");
            world.expect(x, end.pick(place, &running)).await;
            let running = format!("running 1/{next}, charged 0");
            world.expect(y, end.pick(&running, "blocked, charged 0")).await;
            let (holder, blocked) = end.either((y, vec![z]), (x, vec![y, z]));
            world.expect_key("a", &[holder], &blocked).await;
        }
    }
}

pub(crate) async fn the_blocked_job_of_the_best_priority_goes_along(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let urgent = Keyed { priority: -1, ..Keyed::from("a") };
    let [y, z, u] = world.blocked(["a".into(), "a".into(), urgent]).await;
    let next = next_n();
    let settle = settle_and_claim(1, n, &[(x, "finish")], next, ROOM);
    assert_eq!(world.call(settle).await, format!("{u} claim"));
    world.expect_key("a", &[u], &[y, z]).await;
    let settle = settle_and_claim(1, next, &[(u, "finish")], next_n(), ROOM);
    assert_eq!(world.call(settle).await, format!("{y} claim"));
    world.expect_key("a", &[y], &[z]).await;
    world.lab.check_invariants().await;
}

/// The second waits for the first, and finds what that left.
pub(crate) async fn two_who_end_at_once_take_two(lab: Lab) {
    let world = World::limited(lab, 2).await;
    for end in ENDS {
        world.clear().await;
        let (n, [v]) = world.running_keyed(["a"]).await;
        let (m, [w]) = world.running_keyed(["a"]).await;
        let [x, y, z] = world.blocked(["a", "a", "a"]).await;
        let next = next_n();
        let first = world.hold(settle_and_claim(1, n, &[(v, "finish")], next, ROOM)).await;
        assert_eq!(first.answer, format!("{x} claim"));
        let second = settle_and_claim(1, m, &[(w, "finish")], next_n(), ROOM);
        let second = first.waiter(second).await;
        first.end(end).await;
        assert_eq!(second.answer().await, Ok(format!("{} claim", end.either(y, x))));
        let (holders, blocked) = end.either(([x, y], vec![z]), ([v, x], vec![y, z]));
        world.expect_key("a", &holders, &blocked).await;
        world.lab.check_invariants().await;
    }
}

/// Of a key that had nothing blocked before, and of one that had.
pub(crate) async fn a_finish_behind_a_claim_that_blocks_takes_what_that_blocked(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for crowded in [false, true] {
        for end in ENDS {
            world.clear().await;
            let (n, [x]) = world.running_keyed(["a"]).await;
            let later = Keyed { priority: 1, ..Keyed::from("a") };
            let blocked = if crowded { world.blocked([later]).await.to_vec() } else { vec![] };
            let [y] = world.keyed(["a"]).await;
            let blocks = world.hold(claim(2, next_n(), 1)).await;
            assert_eq!(blocks.answer, "");
            let finish = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
            let finish = blocks.waiter(finish).await;
            blocks.end(end).await;
            let told = |job: &i64| format!("{job} claim");
            let otherwise = blocked.first().map(told).unwrap_or_default();
            assert_eq!(finish.answer().await, Ok(end.pick(&told(&y), &otherwise).to_owned()));
            world.lab.check_invariants().await;
        }
    }
}

pub(crate) async fn after_a_lowered_limit_nobody_goes_along(lab: Lab) {
    let world = World::limited(lab, 2).await;
    for group in [false, true] {
        world.clear().await;
        let (n, [w]) = world.running_keyed(["a"]).await;
        let (m, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        world.call(if group { limit_group("1") } else { limit_key("a", "1") }).await;
        let settle = settle_and_claim(1, n, &[(w, "finish")], next_n(), ROOM);
        assert_eq!(world.call(settle).await, "");
        world.expect_key("a", &[x], &[y]).await;
        let settle = settle_and_claim(1, m, &[(x, "finish")], next_n(), ROOM);
        assert_eq!(world.call(settle).await, format!("{y} claim"));
        world.expect_key("a", &[y], &[]).await;
    }
}

/// A default that a new binary announced frees more than the one permit that came back.
pub(crate) async fn after_a_raised_limit_all_that_fit_follow(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [w]) = world.running_keyed(["a"]).await;
    let [x, y, z] = world.blocked(["a", "a", "a"]).await;
    world.lab.run("update jobkit.limits set code_running = 2").await;
    let settle = settle_and_claim(1, n, &[(w, "finish")], next_n(), ROOM);
    assert_eq!(world.call(settle).await, format!("{x} claim, {y} claim"));
    world.expect_key("a", &[x, y], &[z]).await;
}

/// A worker that is mistaken about a claim has lost its jobs, not their permits.
pub(crate) async fn a_settle_under_another_claim_passes_nothing_on(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [w]) = world.running_keyed(["b"]).await;
    let (m, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    let settle = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
    assert_eq!(world.call(settle).await, format!("{x} lost"));
    world.expect(w, &format!("running 1/{n}, charged 0")).await;
    world.expect(x, &format!("running 1/{m}, charged 0")).await;
    world.expect_key("a", &[x], &[y]).await;
    world.lab.check_invariants().await;
}

pub(crate) async fn a_permit_is_held_since_it_was_passed_on(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    world.lab.run("update jobkit.permits set since = now() - interval '1 hour'").await;
    let settle = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
    assert_eq!(world.call(settle).await, format!("{y} claim"));
    let recent = "select since > now() - interval '1 minute' from jobkit.permits";
    assert!(world.lab.value::<bool>(recent).await);
}

pub(crate) async fn a_replay_that_goes_along_resolves_its_dead_letter(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [w]) = world.running_keyed(["a"]).await;
    world.call(settle(1, n, w, "bury")).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let letter: i64 = world.lab.value("select id from jobkit.dead_letters").await;
    let answer = world.call(replay(letter)).await;
    let y: i64 = answer.strip_prefix("replay ").unwrap().parse().unwrap();
    assert_eq!(world.call(claim(2, next_n(), 9)).await, "");
    let next = next_n();
    let settle = settle_and_claim(1, n, &[(x, "finish")], next, ROOM);
    assert_eq!(world.call(settle).await, format!("{y} claim"));
    world.call(settle_and_claim(1, next, &[(y, "finish")], next_n(), ROOM)).await;
    let state: String = world.lab.value("select state from jobkit.dead_letters").await;
    assert_eq!(state, "resolved");
    world.lab.check_invariants().await;
}

/// Any search is too slow for this one.
pub(crate) async fn the_search_begins_behind_dead_entries_that_made_it_slow(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.lab.mutate("pass_permit", "interval '700 us'", "interval '-1 s'").await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y, z] = world.blocked(["a", "a"]).await;
    let settle = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
    assert_eq!(world.call(settle).await, format!("{y} claim"));
    assert_eq!(world.lab.value::<i64>("select from_id from jobkit.semaphores").await, z);
    world.lab.check_invariants().await;
}

pub(crate) async fn a_job_that_is_given_back_comes_before_younger_ones(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    let settle = settle_and_claim(1, n, &[(x, "release")], next_n(), ROOM);
    assert_eq!(world.call(settle).await, format!("{x} claim"));
    world.expect_key("a", &[x], &[y]).await;
    world.lab.check_invariants().await;
}

/// The best first; the others are ready.
pub(crate) async fn as_many_go_along_as_there_is_room_for(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for room in 0..=3 {
        world.clear().await;
        let (n, jobs) = world.running_keyed(["a", "b", "c"]).await;
        let urgent = Keyed { priority: -1, ..Keyed::from("c") };
        let [a, b, c] = world.blocked(["a".into(), "b".into(), urgent]).await;
        let next = next_n();
        let outcomes = jobs.map(|job| (job, "finish"));
        let settle = settle_and_claim(1, n, &outcomes, next, &[("default", room)]);
        world.call(settle).await;
        for (place, job) in (0..).zip([c, a, b]) {
            let running = format!("running 1/{next}, charged 0");
            world.expect(job, if place < room { &running } else { READY }).await;
        }
        world.lab.check_invariants().await;
    }
    world.clear().await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    let settle = settle_and_claim(1, n, &[(x, "finish")], next_n(), &[("default", 0)]);
    assert_eq!(world.call(settle).await, format!("{y} unblock"));
}

pub(crate) async fn a_job_of_another_kind_or_queue_is_left_to_those_who_serve_it(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.register_for(3, "default,other", "act,do").await;
    let kind = Keyed { kind: "do", ..Keyed::from("a") };
    let queue = Keyed { queue: "other", ..Keyed::from("a") };
    for stranger in [kind, queue] {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.keyed([stranger]).await;
        world.lab.run(BLOCK).await;
        let settle = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
        assert_eq!(world.call(settle).await, format!("{y} unblock"));
        world.expect(y, READY).await;
    }
}

/// From where it is blocked to where it is claimed.
pub(crate) async fn a_job_of_another_version_is_left_to_those_who_know_it(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.register_for(3, "default", "act@2").await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.keyed(["a"]).await;
    world.lab.run(&format!("update jobkit.jobs set version = 2 where id = {y}; {BLOCK}")).await;
    let settle = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
    assert_eq!(world.call(settle).await, format!("{y} unblock"));
    world.expect(y, READY).await;
    assert_eq!(world.call(claim(1, next_n(), 10)).await, "");
    let newer = Scan { slots: "10", kinds: "act@2", ..Scan::default() };
    assert_eq!(world.call(claim_where(3, next_n(), &newer)).await, list(&[y]));
}

/// Blocks what is ready, whoever serves it.
const BLOCK: &str = "
    with job as (delete from jobkit.ready returning job_id)
    select jobkit.block(array_agg(job_id)) from job";

pub(crate) async fn a_crash_suspect_is_left_to_a_claim(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    world.lab.run(&format!("update jobkit.jobs set crashes = 2 where id = {y}")).await;
    let settle = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
    assert_eq!(world.call(settle).await, format!("{y} unblock"));
    assert_eq!(world.call(claim(1, next_n(), 10)).await, list(&[y]));
}

pub(crate) async fn payloads_beyond_the_limit_of_an_answer_are_left(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, jobs) = world.running_keyed(["a", "b", "c"]).await;
    let [a, b, c] = world.blocked(["a", "b", "c"]).await;
    let large = "update jobkit.jobs set args = to_jsonb(repeat('x', 4 * 1024 * 1024))";
    world.lab.run(large).await;
    let next = next_n();
    let settle = settle_and_claim(1, n, &jobs.map(|job| (job, "finish")), next, ROOM);
    assert_eq!(world.call(settle).await, format!("{a} claim, {b} unblock"));
    world.expect(c, READY).await;
    // Nor one that is too large all by itself.
    world.clear().await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    let larger = "update jobkit.jobs set args = to_jsonb(repeat('x', 9 * 1024 * 1024))";
    world.lab.run(larger).await;
    let settle = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
    assert_eq!(world.call(settle).await, format!("{y} unblock"));
}

pub(crate) async fn a_worker_that_stops_or_has_no_lease_takes_nothing(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for wrong in ["stopping = true", "lease_until = now() - interval '1 s'", "id = 99"] {
        world.clear().await;
        world.lab.run("delete from jobkit.workers where id in (1, 99)").await;
        world.register(1).await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        world.lab.run(&format!("update jobkit.workers set {wrong} where id = 1")).await;
        let settle = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
        assert_eq!(world.call(settle).await, format!("{y} unblock"), "{wrong}");
        world.expect(y, READY).await;
    }
}

pub(crate) async fn a_paused_queue_hands_nothing_over(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    world.call(pause("default")).await;
    let settle = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
    assert_eq!(world.call(settle).await, "");
    world.expect(y, "blocked, charged 0").await;
}

/// Its number is concluded and not held: the next heartbeat gives back what it claimed.
pub(crate) async fn an_answer_that_was_lost_is_given_back(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    let next = next_n();
    world.call(settle_and_claim(1, n, &[(x, "finish")], next, ROOM)).await;
    world.expect(y, &format!("running 1/{next}, charged 0")).await;
    // The settler repeats itself, and learns that it was done.
    let again = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
    assert_eq!(world.call(again).await, format!("{x} lost"));
    assert_eq!(world.call(release_lost(1, next, &[])).await, "1");
    world.expect(y, READY).await;
    world.expect_key("a", &[y], &[]).await;
}

/// A claim that committed after its worker was gone would be nobody's.
pub(crate) async fn a_reaper_passes_over_a_worker_that_takes_over(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        world.register(1).await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        let next = next_n();
        let settle = world.hold(settle_and_claim(1, n, &[(x, "finish")], next, ROOM)).await;
        assert_eq!(settle.answer, format!("{y} claim"));
        // Its lease lapses while the settle is under way: a beat would not wait either.
        world.lapse(1).await;
        assert_eq!(settle.bystander(reap_workers()).await, "");
        settle.end(end).await;
        assert_eq!(world.call(reap_workers()).await, "1");
        let left = end.either(next, n);
        assert_eq!(world.call(orphaned_claims()).await, format!("1/{left}"));
        assert_eq!(world.call(reap_claim(1, left)).await, "1");
        world.lab.check_invariants().await;
    }
}

/// Its settle waits for nobody, and counts; the permit goes to the others.
pub(crate) async fn a_worker_that_is_just_being_reaped_takes_nothing(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        world.register(1).await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.blocked(["a"]).await;
        // Its lease is still good by the row as it was, which is what is looked at first.
        let reap = "delete from jobkit.workers where id = 1 returning id::text";
        let reap = world.hold(reap.to_owned()).await;
        let settle = settle_and_claim(1, n, &[(x, "finish")], next_n(), ROOM);
        assert_eq!(reap.bystander(settle).await, format!("{y} unblock"));
        reap.end(end).await;
        world.expect(y, READY).await;
        world.lab.run("delete from jobkit.workers where id = 1").await;
        assert_eq!(world.call(orphaned_claims()).await, "");
        world.lab.check_invariants().await;
    }
}
