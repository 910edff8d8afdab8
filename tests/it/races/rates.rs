//! Rates and pauses of concurrency keys. Time does not pass here: it is moved (`World::later`).

use jobkit_tests::Lab;

use super::calls::{claim, promote, settle, settle_and_claim};
use super::kit::{ENDS, World, list, next_n};
use crate::clock::step_back;

in_a_lab![
    a_claim_behind_a_claim_of_its_key_takes_only_the_slots_that_are_left,
    a_look_passes_over_a_key_in_other_hands,
    time_makes_room_for_as_many_as_slots,
    a_slot_is_dated_where_a_claim_takes_it,
    a_claim_that_comes_before_a_look_leaves_the_key_due,
    another_attempt_takes_another_slot,
    a_claim_behind_a_pause_of_its_key_gets_nothing,
    a_pause_takes_back_what_waits_with_a_permit_and_ends_by_itself,
    a_faster_rate_holds_at_once,
    an_idle_key_is_forgotten_when_its_slots_are_free_again,
    a_key_that_fails_holds_up_no_other,
    a_backlog_over_its_rate_is_set_aside_at_once,
    a_settle_hands_over_no_job_that_waits_for_a_slot,
    a_settle_passes_no_permit_past_the_rate,
    a_pause_behind_a_claim_waits_for_its_key,
    a_pause_lasts_no_longer_for_a_step_of_the_clock,
    a_slot_of_a_job_that_ends_unbegun_is_given_up,
    where_nobody_lives_to_give_a_permit_nothing_is_wrong,
];

const BLOCKED: &str = "blocked, charged 0";
const READY: &str = "ready with permit, charged 0";

/// One slot an hour, and two at once after a rest.
async fn hourly(lab: Lab) -> World {
    let world = World::limited(lab, 1000).await;
    world.call(rate("1 h", 2)).await;
    world
}

fn rate(every: &str, burst: i32) -> String {
    let rule = format!(r#"{{"rate": {{"every": "{every}", "burst": {burst}}}}}"#);
    format!("select jobkit.set_limit('group', 'g', null, '{rule}')::text")
}

fn pause(key: &str) -> String {
    format!("select (jobkit.pause_key('g', '{key}', '1 h') is not null)::text")
}

impl World {
    /// Lets so many hours pass for all keys.
    async fn later(&self, hours: u32) {
        let passed = format!("interval '{hours} h 1 s'");
        self.lab
            .run(&format!(
                "update jobkit.due_keys set due_at = clock_timestamp()
                    where due_at < clock_timestamp() + {passed};
                update jobkit.semaphores
                set tat = tat - {passed}, paused_until = paused_until - {passed}"
            ))
            .await;
    }
}

pub(crate) async fn a_claim_behind_a_claim_of_its_key_takes_only_the_slots_that_are_left(lab: Lab) {
    let world = hourly(lab).await;
    for end in ENDS {
        world.clear().await;
        let [x] = world.keyed(["a"]).await;
        let first = world.hold(claim(1, next_n(), 100)).await;
        let [y, z] = world.keyed(["a", "a"]).await;
        let second = first.waiter(claim(2, next_n(), 100)).await;
        first.end(end).await;
        let taken = end.either(list(&[y]), list(&[y, z]));
        assert_eq!(second.answer().await, Ok(taken));
        let (holders, blocked) = end.either(([x, y], vec![z]), ([y, z], vec![]));
        world.expect_key("a", &holders, &blocked).await;
    }
    world.lab.check_invariants().await;
}

pub(crate) async fn a_look_passes_over_a_key_in_other_hands(lab: Lab) {
    let world = hourly(lab).await;
    let [x, y, z] = world.keyed(["a"; 3]).await;
    assert_eq!(world.call(claim(1, next_n(), 100)).await, list(&[x, y]));
    world.later(1).await;
    let first = world.hold("select granted::text from jobkit.grant_due(10)".to_owned()).await;
    assert_eq!(world.call(promote(10)).await, "0");
    first.end(ENDS[0]).await;
    world.expect(z, READY).await;
    world.lab.check_invariants().await;
}

pub(crate) async fn time_makes_room_for_as_many_as_slots(lab: Lab) {
    let world = hourly(lab).await;
    let [x, y, z, v, w] = world.keyed(["a"; 5]).await;
    assert_eq!(world.call(claim(1, next_n(), 100)).await, list(&[x, y]));
    assert_eq!(world.call(promote(10)).await, "0");
    world.later(1).await;
    assert_eq!(world.call(promote(10)).await, "1");
    world.expect(z, READY).await;
    world.expect(v, BLOCKED).await;
    world.expect(w, BLOCKED).await;
    assert_eq!(world.call(claim(2, next_n(), 100)).await, list(&[z]));
    assert_eq!(world.call(promote(10)).await, "0");
    world.lab.check_invariants().await;
}

/// Whoever waited for a worker begins by the rate all the same: reserved slots do not pile up, and
/// two that begin leave none for a third.
pub(crate) async fn a_slot_is_dated_where_a_claim_takes_it(lab: Lab) {
    let world = hourly(lab).await;
    let [x, y, z, v, w] = world.keyed(["a"; 5]).await;
    assert_eq!(world.call(claim(1, next_n(), 100)).await, list(&[x, y]));
    for job in [z, v] {
        world.later(1).await;
        assert_eq!(world.call(promote(10)).await, "1");
        world.expect(job, READY).await;
    }
    world.later(9).await;
    assert_eq!(world.call(promote(10)).await, "0");
    assert_eq!(world.call(claim(2, next_n(), 100)).await, list(&[z, v]));
    assert_eq!(world.call(promote(10)).await, "0");
    world.expect(w, BLOCKED).await;
    world.later(1).await;
    assert_eq!(world.call(promote(10)).await, "1");
    world.lab.check_invariants().await;
}

/// The promoter is late, and a claim writes the times of the key before it looks.
pub(crate) async fn a_claim_that_comes_before_a_look_leaves_the_key_due(lab: Lab) {
    let world = hourly(lab).await;
    let [x, y, z, v] = world.keyed(["a"; 4]).await;
    assert_eq!(world.call(claim(1, next_n(), 100)).await, list(&[x, y]));
    world.later(1).await;
    assert_eq!(world.call(promote(10)).await, "1");
    world.later(1).await;
    assert_eq!(world.call(claim(2, next_n(), 100)).await, list(&[z]));
    world.expect(v, BLOCKED).await;
    assert_eq!(world.call(promote(10)).await, "1");
    world.expect(v, READY).await;
    assert_eq!(world.call(promote(10)).await, "0");
    world.lab.check_invariants().await;
}

pub(crate) async fn another_attempt_takes_another_slot(lab: Lab) {
    let world = hourly(lab).await;
    for outcome in ["retry", "release"] {
        world.clear().await;
        let (n, [x, y]) = world.running_keyed(["a", "a"]).await;
        world.call(settle(1, n, x, outcome)).await;
        world.an_hour_later().await;
        world.call(promote(10)).await;
        assert_eq!(world.call(claim(2, next_n(), 100)).await, "", "{outcome}");
        world.later(1).await;
        assert_eq!(world.call(promote(10)).await, "1");
        assert_eq!(world.call(claim(2, next_n(), 100)).await, list(&[x]), "{outcome}");
        world.expect_key("a", &[x, y], &[]).await;
    }
    world.lab.check_invariants().await;
}

pub(crate) async fn a_claim_behind_a_pause_of_its_key_gets_nothing(lab: Lab) {
    let world = World::limited(lab, 3).await;
    for end in ENDS {
        world.clear().await;
        let (n, [x]) = world.running_keyed(["a"]).await;
        let [y] = world.keyed(["a"]).await;
        let first = world.hold(pause("a")).await;
        let second = first.waiter(claim(2, next_n(), 100)).await;
        first.end(end).await;
        assert_eq!(second.answer().await, Ok(end.either(String::new(), list(&[y]))));
        // What runs goes on, and its end gives nobody its permit.
        assert_eq!(world.call(settle(1, n, x, "finish")).await, "");
        world.expect_key("a", end.either(&[], &[y]), end.either(&[y], &[])).await;
    }
    world.lab.check_invariants().await;
}

pub(crate) async fn a_pause_takes_back_what_waits_with_a_permit_and_ends_by_itself(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    world.call(settle(1, n, x, "finish")).await;
    world.expect(y, READY).await;
    assert_eq!(world.call(pause("a")).await, "true");
    world.expect(y, BLOCKED).await;
    // A shorter one changes nothing.
    world.call("select jobkit.pause_key('g', 'a', '1 s')::text".to_owned()).await;
    let long = "jobkit.semaphores where paused_until > now() + interval '50 min'";
    assert_eq!(world.lab.count(long).await, 1);
    world.later(1).await;
    assert_eq!(world.call(promote(10)).await, "1");
    world.expect(y, READY).await;
    assert_eq!(world.call(pause("a")).await, "true");
    let resume = "select jobkit.resume_limit('key', 'g', 'a')::text";
    assert_eq!(world.call(resume.to_owned()).await, "true");
    assert_eq!(world.call(resume.to_owned()).await, "false");
    world.expect(y, READY).await;
    world.lab.check_invariants().await;
}

pub(crate) async fn a_faster_rate_holds_at_once(lab: Lab) {
    let world = hourly(lab).await;
    let [x, y, z, v] = world.keyed(["a"; 4]).await;
    assert_eq!(world.call(claim(1, next_n(), 100)).await, list(&[x, y]));
    // Of the next slot nobody is told: the sweep sees that it is too far away.
    world.call(rate("1 ms", 1)).await;
    world.call(super::calls::sweep()).await;
    let due = "select count(*) from jobkit.due_keys where due_at < now() + interval '1 s'";
    assert_eq!(world.lab.value::<i64>(due).await, 1);
    world.lab.until("(select promoted from jobkit.promote(10)) > 0").await;
    world.expect(z, READY).await;
    world
        .call("select jobkit.set_limit('key', 'g', 'a', '{\"rate\": \"none\"}')::text".to_owned())
        .await;
    world.expect(v, READY).await;
    world.lab.check_invariants().await;
}

pub(crate) async fn an_idle_key_is_forgotten_when_its_slots_are_free_again(lab: Lab) {
    let world = hourly(lab).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    world.call(settle(1, n, x, "finish")).await;
    let [y, z] = world.keyed(["a", "a"]).await;
    assert_eq!(world.call(claim(1, next_n(), 100)).await, list(&[y]));
    world.expect(z, BLOCKED).await;
    world.clear().await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    world.call(settle(1, n, x, "finish")).await;
    assert_eq!(world.lab.count("jobkit.semaphores").await, 1);
    world.later(1).await;
    world.call(promote(10)).await;
    assert_eq!(world.lab.count("jobkit.semaphores").await, 0);
    assert_eq!(world.lab.count("jobkit.due_keys").await, 0);
    world.lab.check_invariants().await;
}

/// One of two keys cannot be written: the other is granted, and the first is tried again later.
pub(crate) async fn a_key_that_fails_holds_up_no_other(lab: Lab) {
    let world = hourly(lab).await;
    let jobs = world.keyed(["a", "a", "a", "b", "b", "b"]).await;
    world.call(claim(1, next_n(), 100)).await;
    world.later(1).await;
    world
        .lab
        .run(&format!(
            "create function fail() returns trigger language plpgsql as
                'begin raise exception ''no''; end';
            create trigger fail before insert on jobkit.permits for each row
                when (new.job_id = {}) execute function fail()",
            jobs[2]
        ))
        .await;
    assert_eq!(world.call(promote(10)).await, "1");
    world.expect(jobs[2], BLOCKED).await;
    world.expect(jobs[5], READY).await;
    world.lab.run("drop trigger fail on jobkit.permits").await;
    world.later(1).await;
    world.call(promote(10)).await;
    world.expect(jobs[2], READY).await;
    world.lab.check_invariants().await;
}

pub(crate) async fn a_backlog_over_its_rate_is_set_aside_at_once(lab: Lab) {
    let world = hourly(lab).await;
    let jobs = world.keyed(["a"; 6]).await;
    assert_eq!(world.call(claim(1, next_n(), 3)).await, list(&jobs[..2]));
    world.expect_key("a", &jobs[..2], &jobs[2..]).await;
}

/// A worker with room would take the next job with its permit: its slot is dated by a claim.
pub(crate) async fn a_settle_hands_over_no_job_that_waits_for_a_slot(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.call(rate("1 h", 3)).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    let next = settle_and_claim(1, n, &[(x, "finish")], next_n(), &[("default", 9)]);
    assert_eq!(world.call(next).await, format!("{y} unblock"));
    world.expect(y, READY).await;
    world.lab.check_invariants().await;
}

pub(crate) async fn a_settle_passes_no_permit_past_the_rate(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.call(rate("1 h", 1)).await;
    let (n, [x]) = world.running_keyed(["a"]).await;
    let [y] = world.blocked(["a"]).await;
    let next = settle_and_claim(1, n, &[(x, "finish")], next_n(), &[("default", 9)]);
    assert_eq!(world.call(next).await, "");
    world.expect(y, BLOCKED).await;
    world.later(1).await;
    world.call(promote(10)).await;
    world.expect(y, READY).await;
    world.lab.check_invariants().await;
}

pub(crate) async fn a_pause_behind_a_claim_waits_for_its_key(lab: Lab) {
    let world = World::limited(lab, 1).await;
    for end in ENDS {
        world.clear().await;
        let [x] = world.keyed(["a"]).await;
        let first = world.hold(claim(1, next_n(), 100)).await;
        let second = first.waiter(pause("a")).await;
        first.end(end).await;
        assert_eq!(second.answer().await, Ok("true".to_owned()));
        let [y] = world.keyed(["a"]).await;
        assert_eq!(world.call(claim(2, next_n(), 100)).await, "");
        world.expect_key("a", end.either(&[x], &[]), end.either(&[y], &[x, y])).await;
    }
}

/// The clock steps back by an hour under a pause of ten minutes: a sweep shortens it, once.
pub(crate) async fn a_pause_lasts_no_longer_for_a_step_of_the_clock(lab: Lab) {
    let world = World::limited(lab, 1).await;
    world.call("select jobkit.pause_key('g', 'a', '10 min')::text".to_owned()).await;
    let [y] = world.blocked(["a"]).await;
    step_back(&world.lab, "1 hour").await;
    for passed in [0, 3] {
        let minutes = format!("interval '{passed} min'");
        world
            .lab
            .run(&format!(
                "update jobkit.semaphores set paused_until = paused_until - {minutes};
                update jobkit.due_keys set due_at = due_at - {minutes}"
            ))
            .await;
        world.call(super::calls::sweep()).await;
        let left = format!(
            "jobkit.semaphores s join jobkit.due_keys d on d.due_at = s.paused_until
            where s.paused_until - clock_timestamp() + {minutes}
                between interval '9 min' and interval '10 min'"
        );
        assert_eq!(world.lab.count(&left).await, 1, "{passed}");
    }
    world.later(1).await;
    assert_eq!(world.call(promote(10)).await, "1");
    world.expect(y, READY).await;
    world.lab.check_invariants().await;
}

/// Somebody cancels it while it waits with its permit.
pub(crate) async fn a_slot_of_a_job_that_ends_unbegun_is_given_up(lab: Lab) {
    let world = hourly(lab).await;
    let [x, y, z, v] = world.keyed(["a"; 4]).await;
    assert_eq!(world.call(claim(1, next_n(), 100)).await, list(&[x, y]));
    world.later(1).await;
    assert_eq!(world.call(promote(10)).await, "1");
    let reserved = "select string_agg(job_id::text, ' ') from jobkit.reserved_slots".to_owned();
    assert_eq!(world.call(reserved.clone()).await, z.to_string());
    world.lab.run(&format!("select jobkit.cancel_mark('{{{z}}}')")).await;
    world.lab.run(&format!("select jobkit.cancel_take('{{{z}}}', 'cancel', 'enough')")).await;
    world.expect(v, READY).await;
    assert_eq!(world.call(reserved).await, v.to_string());
    world.lab.check_invariants().await;
}

/// All workers have died beside a key with a rate: its slot is free again, and nobody gives it out.
/// Nor has whoever lives had the time to, who has not beaten since.
pub(crate) async fn where_nobody_lives_to_give_a_permit_nothing_is_wrong(lab: Lab) {
    let world = hourly(lab).await;
    let (_, [_, _]) = world.running_keyed(["a", "a"]).await;
    let [_] = world.blocked(["a"]).await;
    let lab = &world.lab;
    let free = "jobkit.violations where what = 'a free permit and a blocked job to run'";
    let beat = async |ago: &str, lease: &str| {
        lab.run_unguarded(&format!(
            "update jobkit.workers set heartbeat_at = clock_timestamp() - interval '{ago}',
                lease_until = clock_timestamp() + interval '{lease}';
            update jobkit.due_keys set due_at = clock_timestamp() - interval '10 s';
            update jobkit.semaphores set tat = clock_timestamp() - interval '10 s'"
        ))
        .await;
        lab.count(free).await
    };
    assert_eq!(beat("20 s", "-1 s").await, 0, "killed, and its lease is over");
    let found = jobkit::Admin::new(lab.pool()).doctor().await.unwrap();
    let found = found.findings.iter().filter(|found| found.check.as_str() == "violations");
    assert_eq!(found.count(), 0);
    assert_eq!(beat("20 s", "10 s").await, 0, "killed just now");
    assert_eq!(beat("1 s", "10 s").await, 1, "one that lives sees to it");
}
