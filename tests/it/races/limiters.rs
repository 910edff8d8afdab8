//! Slots of limiters. Time does not pass here: it is moved.

use jobkit_tests::{Lab, announce_group, announce_limiter};

use super::kit::{ENDS, World};
use crate::clock::step_back;

in_a_lab![
    t165_two_who_ask_for_a_slot_take_turns,
    t166_who_asks_behind_a_pause_has_a_slot_after_it,
    t166_a_pause_behind_a_slot_waits_for_it,
    a_burst_is_at_once_and_the_rest_by_the_rate,
    a_slot_too_far_away_is_kept_for_its_job,
    a_slot_that_was_missed_is_nobody_s,
    who_only_tries_takes_nothing,
    a_faster_rate_of_a_limiter_holds_at_once,
    a_limiter_at_rest_is_forgotten,
    what_was_kept_by_a_rate_goes_with_it,
    a_group_of_jobs_is_no_limiter,
    a_limiter_that_becomes_a_group_of_jobs_is_none,
    a_slot_kept_before_a_step_of_the_clock_is_void,
    who_tries_after_a_step_of_the_clock_has_a_slot_soon,
    a_pause_of_a_limiter_is_no_longer_for_a_step_of_the_clock,
];

/// One slot an hour, and so many at once after a rest.
async fn hourly(lab: Lab, burst: i32) -> World {
    let world = World::new(lab).await;
    world.lab.run(&announce_limiter("l", "1 h")).await;
    world.lab.run(&format!("update jobkit.limits set code_burst = {burst}")).await;
    world
}

/// What an operator says of the rate of the limiter.
fn rate(rate: &str) -> String {
    format!(r#"select jobkit.set_limit('limiter', 'l', null, '{{"rate": {rate}}}')::text"#)
}

/// "60 min, kept": when the slot of a job comes, and whether it is taken, kept or neither.
fn ask(job: i64) -> String {
    asks(job, "'1 min'")
}

fn asks(job: i64, most: &str) -> String {
    format!(
        "select coalesce(string_agg(format('%s min, %s', round(extract(epoch from wait) / 60),
            case when taken then 'taken' when {most}::interval is not null then 'kept'
                else 'free then' end), ''), 'unknown')
        from jobkit.take_slot('l', 'k', {job}, {most})"
    )
}

fn pause(time: &str) -> String {
    format!("select (jobkit.pause_key('l', 'k', '{time}') is not null)::text")
}

const NOW: &str = "0 min, taken";

impl World {
    /// Lets so many minutes pass for the limiter.
    async fn minutes_later(&self, minutes: u32) {
        let passed = format!("interval '{minutes} min'");
        self.lab
            .run(&format!(
                "update jobkit.due_keys set due_at = due_at - {passed};
                update jobkit.kept_slots set slot_at = slot_at - {passed};
                update jobkit.semaphores
                set tat = tat - {passed}, paused_until = paused_until - {passed}"
            ))
            .await;
    }

    async fn rest(&self) {
        self.lab.run("delete from jobkit.semaphores; delete from jobkit.kept_slots").await;
    }
}

pub(crate) async fn t165_two_who_ask_for_a_slot_take_turns(lab: Lab) {
    let world = hourly(lab, 2).await;
    for end in ENDS {
        assert_eq!(world.call(ask(9)).await, NOW);
        let first = world.hold(ask(1)).await;
        assert_eq!(first.answer, NOW);
        let second = first.waiter(ask(2)).await;
        first.end(end).await;
        let answer = second.answer().await;
        assert_eq!(answer.as_deref(), Ok(end.pick("60 min, kept", NOW)));
        assert_eq!(world.call(ask(3)).await, end.pick("120 min, kept", "60 min, kept"));
        world.lab.check_invariants().await;
        world.rest().await;
    }
}

pub(crate) async fn t166_who_asks_behind_a_pause_has_a_slot_after_it(lab: Lab) {
    let world = hourly(lab, 2).await;
    for end in ENDS {
        let first = world.hold(pause("3 h")).await;
        let second = first.waiter(ask(1)).await;
        first.end(end).await;
        let answer = second.answer().await;
        assert_eq!(answer.as_deref(), Ok(end.pick("180 min, kept", NOW)));
        // From its end on the limiter has rested.
        assert_eq!(world.call(ask(2)).await, end.pick("180 min, kept", NOW));
        assert_eq!(world.call(ask(3)).await, end.pick("240 min, kept", "60 min, kept"));
        world.lab.check_invariants().await;
        world.rest().await;
    }
}

pub(crate) async fn t166_a_pause_behind_a_slot_waits_for_it(lab: Lab) {
    let world = hourly(lab, 1).await;
    for end in ENDS {
        let first = world.hold(ask(1)).await;
        let second = first.waiter(pause("30 min")).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok("true"));
        assert_eq!(world.call(ask(2)).await, end.pick("60 min, kept", "30 min, kept"));
        // A slot that was kept and lies in a pause is nobody's: its job has the next.
        assert_eq!(world.call(pause("2 h")).await, "true");
        assert_eq!(world.call(ask(2)).await, "120 min, kept");
        world.lab.check_invariants().await;
        world.rest().await;
    }
}

pub(crate) async fn a_burst_is_at_once_and_the_rest_by_the_rate(lab: Lab) {
    let world = hourly(lab, 3).await;
    for job in 1..=3 {
        assert_eq!(world.call(ask(job)).await, NOW);
    }
    assert_eq!(world.call(ask(4)).await, "60 min, kept");
    assert_eq!(world.call(ask(5)).await, "120 min, kept");
    world.minutes_later(900).await;
    for job in 6..=8 {
        assert_eq!(world.call(ask(job)).await, NOW);
    }
    assert_eq!(world.call(ask(9)).await, "60 min, kept");
    world.lab.check_invariants().await;
}

/// It is the job's own: it asks again before it comes, and nobody is put off for that.
pub(crate) async fn a_slot_too_far_away_is_kept_for_its_job(lab: Lab) {
    let world = hourly(lab, 1).await;
    assert_eq!(world.call(ask(1)).await, NOW);
    assert_eq!(world.call(ask(2)).await, "60 min, kept");
    assert_eq!(world.call(ask(3)).await, "120 min, kept");
    assert_eq!(world.call(ask(2)).await, "60 min, kept");
    // What looks at the key meanwhile forgets none.
    assert_eq!(world.call(pause("0")).await, "true");
    world.minutes_later(59).await;
    assert_eq!(world.call(ask(2)).await, "1 min, taken");
    assert_eq!(world.call(ask(4)).await, "121 min, kept");
    world.minutes_later(60).await;
    assert_eq!(world.call(ask(3)).await, "1 min, taken");
    assert_eq!(world.lab.count("jobkit.kept_slots").await, 1);
    world.lab.check_invariants().await;
}

/// Slots do not pile up while nobody comes for them.
pub(crate) async fn a_slot_that_was_missed_is_nobody_s(lab: Lab) {
    let world = hourly(lab, 1).await;
    assert_eq!(world.call(ask(1)).await, NOW);
    for job in [2, 3, 4] {
        world.call(ask(job)).await;
    }
    world.minutes_later(300).await;
    assert_eq!(world.call(ask(2)).await, NOW);
    assert_eq!(world.call(ask(3)).await, "60 min, kept");
    assert_eq!(world.call(ask(4)).await, "120 min, kept");
    world.lab.check_invariants().await;
}

pub(crate) async fn who_only_tries_takes_nothing(lab: Lab) {
    let world = hourly(lab, 1).await;
    assert_eq!(world.call(asks(1, "null")).await, NOW);
    for job in [2, 3] {
        assert_eq!(world.call(asks(job, "null")).await, "60 min, free then");
    }
    assert_eq!(world.lab.count("jobkit.kept_slots").await, 0);
    assert_eq!(world.call(ask(4)).await, "60 min, kept");
    world.lab.check_invariants().await;
}

pub(crate) async fn a_faster_rate_of_a_limiter_holds_at_once(lab: Lab) {
    let world = hourly(lab, 1).await;
    for job in 1..=5 {
        world.call(ask(job)).await;
    }
    world.call(rate(r#"{"every": "20 min", "burst": 1}"#)).await;
    // Whoever waits where he asked has been told, for a minute; what was kept is void.
    assert_eq!(world.call(ask(6)).await, "21 min, kept");
    assert_eq!(world.call(ask(5)).await, "41 min, kept");
    world.call(rate(r#""none""#)).await;
    assert_eq!(world.call(ask(5)).await, NOW);
    assert_eq!(world.call(ask(7)).await, NOW);
    world.lab.check_invariants().await;
}

pub(crate) async fn a_limiter_at_rest_is_forgotten(lab: Lab) {
    let world = hourly(lab, 1).await;
    for job in 1..=3 {
        world.call(ask(job)).await;
    }
    let look = || "select granted::text from jobkit.grant_due(10)".to_owned();
    world.minutes_later(61).await;
    world.call(look()).await;
    // The slot that has passed, of the two that were kept.
    assert_eq!(world.lab.count("jobkit.kept_slots").await, 1);
    world.lab.check_invariants().await;
    world.minutes_later(120).await;
    world.call(look()).await;
    for table in ["semaphores", "kept_slots", "due_keys"] {
        assert_eq!(world.lab.count(&format!("jobkit.{table}")).await, 0, "{table}");
    }
    assert_eq!(world.call(ask(4)).await, NOW);
    world.lab.check_invariants().await;
}

pub(crate) async fn what_was_kept_by_a_rate_goes_with_it(lab: Lab) {
    let world = hourly(lab, 1).await;
    for job in 1..=3 {
        world.call(ask(job)).await;
    }
    world.call(rate(r#""none""#)).await;
    world.minutes_later(61).await;
    world.call("select granted::text from jobkit.grant_due(10)".to_owned()).await;
    for table in ["semaphores", "kept_slots", "due_keys"] {
        assert_eq!(world.lab.count(&format!("jobkit.{table}")).await, 0, "{table}");
    }
    world.lab.check_invariants().await;
}

/// Its rate is gone by then: better no slot than any number of them.
pub(crate) async fn a_limiter_that_becomes_a_group_of_jobs_is_none(lab: Lab) {
    let world = hourly(lab, 1).await;
    assert_eq!(world.call(ask(1)).await, NOW);
    assert_eq!(world.call(announce_group("l", 2_147_483_647)).await, "1");
    assert_eq!(world.call(ask(2)).await, "unknown");
    let again = world.call(announce_group("l", 2_147_483_647)).await;
    assert_eq!(again, "0", "it is as it was said");
    world.lab.check_invariants().await;
}

pub(crate) async fn a_group_of_jobs_is_no_limiter(lab: Lab) {
    let world = World::limited(lab, 1).await;
    assert_eq!(world.call(ask(1)).await, "unknown");
    let group = ask(1).replace("'l'", "'g'");
    assert_eq!(world.call(group).await, "unknown");
    world.lab.run("update jobkit.kinds set concurrency_group = 'g'").await;
    assert_eq!(world.refusal(announce_limiter("g", "1 h")).await, "JK008");
}

/// Who would have come for the slots comes a day later.
pub(crate) async fn a_slot_kept_before_a_step_of_the_clock_is_void(lab: Lab) {
    let world = hourly(lab, 1).await;
    for job in 1..=5 {
        world.call(ask(job)).await;
    }
    step_back(&world.lab, "1 day").await;
    // Behind those who may wait for a slot where they asked, for a minute.
    assert_eq!(world.call(ask(5)).await, "61 min, kept");
    assert_eq!(world.call(ask(4)).await, "121 min, kept");
    assert_eq!(world.call(ask(5)).await, "61 min, kept");
    world.lab.check_invariants().await;
}

/// However often he does.
pub(crate) async fn who_tries_after_a_step_of_the_clock_has_a_slot_soon(lab: Lab) {
    let world = hourly(lab, 1).await;
    assert_eq!(world.call(asks(1, "null")).await, NOW);
    step_back(&world.lab, "1 day").await;
    for _ in 0..2 {
        assert_eq!(world.call(asks(2, "null")).await, "61 min, free then");
    }
    world.minutes_later(62).await;
    assert_eq!(world.call(asks(2, "null")).await, NOW);
    world.lab.check_invariants().await;
}

pub(crate) async fn a_pause_of_a_limiter_is_no_longer_for_a_step_of_the_clock(lab: Lab) {
    let world = hourly(lab, 1).await;
    world.call(pause("10 min")).await;
    step_back(&world.lab, "1 day").await;
    assert_eq!(world.call(ask(1)).await, "10 min, kept");
    assert_eq!(world.call(asks(2, "null")).await, "70 min, free then");
    world.minutes_later(11).await;
    assert_eq!(world.call(asks(2, "null")).await, "59 min, free then");
    world.lab.check_invariants().await;
}
