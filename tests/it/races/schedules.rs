//! Two who fire one schedule, and operators beside them.

use jobkit_tests::Lab;

use super::kit::{ENDS, End, World};

in_a_lab![
    t89_a_second_one_who_fires_passes_over_what_the_first_has_in_hand,
    t89_what_was_decided_is_not_decided_again,
    t90_an_edit_waits_for_whoever_fires,
    t90_an_edit_of_something_else_keeps_the_advance,
    t90_whoever_fires_passes_over_what_is_being_edited,
    t91_two_binaries_that_declare_at_once_take_turns,
    t170_what_was_decided_by_other_times_is_decided_anew,
    t250_an_edit_beside_a_fire_that_fails_loses_nothing,
    t251_a_deletion_waits_for_whoever_fires_and_records_what_is_due,
    t252_a_declaration_of_other_times_waits_for_whoever_fires,
    t253_what_has_moved_on_or_is_in_hand_is_not_hastened,
    t254_an_instant_that_a_wrong_clock_skipped_is_decided_when_it_comes,
    t255_an_older_declaration_changes_nothing_while_a_newer_lives,
    t257_whatever_is_due_when_times_change_is_recorded,
    t258_a_row_that_stands_for_many_ends_where_a_wrong_clock_began,
    a_death_between_the_jobs_and_the_advance_leaves_nothing,
    a_pause_between_the_look_and_the_firing_is_heeded,
    a_resume_waits_until_everything_of_the_pause_is_decided,
    a_job_that_runs_is_a_reason_to_skip,
];

/// A schedule of the kind `act` that is due at noon.
async fn schedule(world: &World, name: &str, overlap: &str) {
    let sql = format!(
        "insert into jobkit.schedules (name, times, next_at, catch_up, catch_up_max,
            catch_up_window, overlap, jitter, kind, queue, priority, max_attempts, args)
        values ('{name}', '@hourly', '2026-01-01 12:00Z', 'latest', 1, '0', '{overlap}', '0',
            'act', 'default', 0, 3, '{{}}')"
    );
    world.lab.run(&sql).await;
}

/// Fires one instant of a schedule that was seen due at `seen`, on the hour.
fn fire(name: &str, seen: u32, instant: u32, next: u32) -> String {
    let at = |hour| format!("array['2026-01-01 {hour}:00Z'::timestamptz]");
    format!(
        "select fired || ' fired, ' || skipped || ' skipped' from jobkit.fire(array['{name}'], {},
            {}, array['{name}'], {}, array[null], array[null::timestamptz], array['@hourly'])",
        at(seen),
        at(next),
        at(instant)
    )
}

const FIRED: &str = "1 fired, 0 skipped";
const SKIPPED: &str = "0 fired, 1 skipped";
const NOTHING: &str = "0 fired, 0 skipped";

/// Its jobs, its runs, and when it is due: "1 jobs, 1 runs, next 13".
async fn told(world: &World, name: &str) -> String {
    let sql = format!(
        "select format('%s jobs, %s runs, next %s',
            (select count(*) from jobkit.jobs where metadata->>'schedule' = '{name}'),
            (select count(*) from jobkit.schedule_runs where schedule = '{name}'),
            (select extract(hour from next_at at time zone 'UTC') from jobkit.schedules
                where name = '{name}'))"
    );
    world.lab.value(&sql).await
}

/// The rows that stand for more than one instant: "missed 12:00 to 13:59".
async fn spans(world: &World, name: &str) -> String {
    let at = |column| format!("to_char({column} at time zone 'UTC', 'HH24:MI')");
    let until = format!(
        "case when instant > now() - interval '1 min' then 'now' else {} end",
        at("instant")
    );
    let sql = format!(
        "select string_agg(format('%s %s to %s', skipped, {}, {until}), ', ' order by instant)
        from jobkit.schedule_runs where schedule = '{name}' and since is not null",
        at("since")
    );
    world.lab.value::<Option<String>>(&sql).await.unwrap_or_default()
}

pub(crate) async fn t89_a_second_one_who_fires_passes_over_what_the_first_has_in_hand(lab: Lab) {
    let world = World::new(lab).await;
    for (name, end) in ["a", "b"].into_iter().zip(ENDS) {
        schedule(&world, name, "allow").await;
        let first = world.hold(fire(name, 12, 12, 13)).await;
        assert_eq!(first.answer, FIRED);
        assert_eq!(first.bystander(fire(name, 12, 12, 13)).await, NOTHING);
        first.end(end).await;
        let again = world.call(fire(name, 12, 12, 13)).await;
        assert_eq!(again, end.pick(NOTHING, FIRED));
        assert_eq!(told(&world, name).await, "1 jobs, 1 runs, next 13");
    }
    world.lab.check_invariants().await;
}

/// Whatever somebody asks who saw an older state, or whose clock is wrong.
pub(crate) async fn t89_what_was_decided_is_not_decided_again(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "a", "allow").await;
    assert_eq!(world.call(fire("a", 12, 12, 14)).await, FIRED);
    // He saw it as it was before, and would put it back.
    assert_eq!(world.call(fire("a", 12, 12, 13)).await, NOTHING);
    assert_eq!(told(&world, "a").await, "1 jobs, 1 runs, next 14");
    // The history is pruned, and an operator put the schedule back.
    world.lab.run("delete from jobkit.schedule_runs").await;
    world.lab.run("update jobkit.schedules set next_at = '2026-01-01 12:00Z'").await;
    assert_eq!(world.call(fire("a", 12, 12, 14)).await, NOTHING);
    assert_eq!(told(&world, "a").await, "1 jobs, 0 runs, next 14");
    // The schedule is made anew, and knows of nothing; its history does.
    assert_eq!(world.call(fire("a", 14, 14, 15)).await, FIRED);
    world.lab.run("delete from jobkit.schedules").await;
    schedule(&world, "a", "allow").await;
    assert_eq!(world.call(fire("a", 12, 14, 15)).await, NOTHING);
    // What is not due by the database's clock is not fired.
    world.lab.run("update jobkit.schedules set next_at = '2100-01-01 12:00Z'").await;
    let future = fire("a", 12, 12, 13).replace("2026", "2100");
    assert_eq!(world.call(future).await, NOTHING);
    assert_eq!(world.lab.count("jobkit.jobs").await, 2);
    let kept = "next_at = '2100-01-01 12:00Z' and last_at < '2100-01-01'";
    assert_eq!(world.lab.count(&format!("jobkit.schedules where {kept}")).await, 1);
}

fn edit(name: &str) -> String {
    format!(
        "select jobkit.edit_schedule('{name}', jsonb_build_object('times', '30 * * * *', 'next_at',
            '2026-01-01 20:30Z'::timestamptz), null, 'me')::text"
    )
}

pub(crate) async fn t90_an_edit_waits_for_whoever_fires(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "a", "allow").await;
    let first = world.hold(fire("a", 12, 12, 13)).await;
    let second = first.waiter(edit("a")).await;
    first.end(End::Commit).await;
    assert_eq!(second.answer().await.as_deref(), Ok("true"));
    // At thirteen hours another is due, which nobody has decided.
    assert_eq!(told(&world, "a").await, "1 jobs, 2 runs, next 20");
}

/// It changes nothing that the firing has set.
pub(crate) async fn t90_an_edit_of_something_else_keeps_the_advance(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "a", "allow").await;
    let first = world.hold(fire("a", 12, 12, 13)).await;
    let slow = "select jobkit.edit_schedule('a', '{\"queue\": \"slow\"}', null, 'me')::text";
    let second = first.waiter(slow.to_owned()).await;
    first.end(End::Commit).await;
    assert_eq!(second.answer().await.as_deref(), Ok("true"));
    assert_eq!(told(&world, "a").await, "1 jobs, 1 runs, next 13");
}

pub(crate) async fn t90_whoever_fires_passes_over_what_is_being_edited(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "a", "allow").await;
    let first = world.hold(edit("a")).await;
    assert_eq!(first.bystander(fire("a", 12, 12, 13)).await, NOTHING);
    first.end(End::Commit).await;
    assert_eq!(world.call(fire("a", 12, 12, 13)).await, NOTHING, "seen before the edit");
    assert_eq!(told(&world, "a").await, "0 jobs, 1 runs, next 20");
}

/// New times may have the same next instant; which one comes after it, the old ones do not know.
pub(crate) async fn t170_what_was_decided_by_other_times_is_decided_anew(lab: Lab) {
    let world = World::new(lab).await;
    let by = |times: &str, next| fire("a", 12, 12, next).replace("@hourly", times);
    let edit = "update jobkit.schedules set times = '*/30 * * * *' where name = 'a'
        returning name";
    for end in ENDS {
        schedule(&world, "a", "allow").await;
        let first = world.hold(edit.to_owned()).await;
        assert_eq!(first.bystander(by("@hourly", 13)).await, NOTHING);
        first.end(end).await;
        assert_eq!(world.call(by("@hourly", 13)).await, end.pick(NOTHING, FIRED));
        assert_eq!(world.call(by("*/30 * * * *", 12)).await, end.pick(FIRED, NOTHING));
        world.lab.run("delete from jobkit.schedule_runs; delete from jobkit.schedules").await;
    }
}

fn declare(names: &[&str], times: &str) -> String {
    let schedule = |name: &&str| {
        format!(
            "jsonb_build_object('name', '{name}', 'times', '{times}', 'next_at',
                '2026-01-01 14:00Z'::timestamptz, 'catch_up', 'latest', 'catch_up_max', 1,
                'catch_up_window', '0', 'overlap', 'allow', 'jitter', '0', 'kind', 'act',
                'queue', 'default', 'priority', 0, 'max_attempts', 3)"
        )
    };
    let all: Vec<_> = names.iter().map(schedule).collect();
    let args = vec!["'{}'"; names.len()].join(",");
    format!(
        "select jobkit.declare_schedules(jsonb_build_array({}), array[{args}])::text",
        all.join(", ")
    )
}

/// In whatever order their lists have the names.
pub(crate) async fn t91_two_binaries_that_declare_at_once_take_turns(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "gone", "allow").await;
    for end in ENDS {
        let first = world.hold(declare(&["a"], "@hourly")).await;
        let second = first.waiter(declare(&["c", "b", "a"], "@daily")).await;
        let first = first.go_on(declare(&["b"], "@hourly")).await;
        first.end(end).await;
        assert!(second.answer().await.is_ok());
    }
    let names: String =
        world.lab.value("select string_agg(name, ' ' order by name) from jobkit.schedules").await;
    assert_eq!(names, "a b c gone", "nothing is deleted");
}

/// Asks for what is due to be decided first.
fn careful_edit(name: &str) -> String {
    edit(name).replace("'me')", "'me', false)")
}

pub(crate) async fn t250_an_edit_beside_a_fire_that_fails_loses_nothing(lab: Lab) {
    let world = World::new(lab).await;
    let fire = |name: &str| fire(name, 12, 12, 13).replace("2026-01-01 13", "2100-01-01 13");
    for (name, end) in ["a", "b"].into_iter().zip(ENDS) {
        schedule(&world, name, "allow").await;
        let first = world.hold(fire(name)).await;
        let second = first.waiter(careful_edit(name)).await;
        first.end(end).await;
        // After a rollback the instant is still to be decided: nothing is answered.
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick("true", "")));
        if end == End::Rollback {
            assert_eq!(told(&world, name).await, "0 jobs, 0 runs, next 12");
            assert_eq!(world.call(fire(name)).await, FIRED);
            assert_eq!(world.call(careful_edit(name)).await, "true");
        }
        assert_eq!(told(&world, name).await, "1 jobs, 1 runs, next 20");
    }
    // One that nobody can decide.
    schedule(&world, "c", "allow").await;
    assert_eq!(world.call(edit("c")).await, "true");
    assert_eq!(told(&world, "c").await, "0 jobs, 1 runs, next 20");
}

pub(crate) async fn t251_a_deletion_waits_for_whoever_fires_and_records_what_is_due(lab: Lab) {
    let world = World::new(lab).await;
    let delete = |name: &str| format!("select jobkit.delete_schedule('{name}', 'me')::text");
    for (name, end) in ["a", "b"].into_iter().zip(ENDS) {
        schedule(&world, name, "allow").await;
        let fire = fire(name, 12, 12, 13).replace("2026-01-01 13", "2100-01-01 13");
        let first = world.hold(fire).await;
        let second = first.waiter(delete(name)).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok("true"));
        let runs = format!("select skipped from jobkit.schedule_runs where schedule = '{name}'");
        assert_eq!(world.call(runs).await, end.pick("", "missed"));
        assert_eq!(spans(&world, name).await, end.pick("", "missed 12:00 to now"));
    }
    // What is about to be fired is not missed.
    schedule(&world, "c", "allow").await;
    let stopped = world.hold_before("fire", "v_jobs := jobkit.enqueue_scheduled(").await;
    let firing = stopped.next(fire("c", 12, 12, 13)).await;
    let deleting = firing.waiter(delete("c")).await;
    stopped.end(End::Commit).await;
    let fired = firing.held().await;
    assert_eq!(fired.answer, FIRED);
    fired.end(End::Commit).await;
    assert_eq!(deleting.answer().await.as_deref(), Ok("true"));
}

pub(crate) async fn t252_a_declaration_of_other_times_waits_for_whoever_fires(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "a", "allow").await;
    let stopped = world.hold_before("fire", "v_jobs := jobkit.enqueue_scheduled(").await;
    let fire = fire("a", 12, 12, 13).replace("2026-01-01 13", "2100-01-01 13");
    let firing = stopped.next(fire).await;
    let declaring = firing.waiter(declare(&["a"], "@daily")).await;
    stopped.end(End::Commit).await;
    let fired = firing.held().await;
    assert_eq!(fired.answer, FIRED);
    fired.end(End::Commit).await;
    assert_eq!(declaring.answer().await.as_deref(), Ok("(a,@hourly,@daily,f)"));
    assert_eq!(told(&world, "a").await, "1 jobs, 1 runs, next 14");
}

fn hasten(name: &str, seen: u32) -> String {
    format!(
        "select jobkit.hasten_schedules(array['{name}'],
            array['2026-01-01 {seen}:00Z'::timestamptz], array['@hourly'],
            array['2026-01-01 11:00Z'::timestamptz])"
    )
}

pub(crate) async fn t253_what_has_moved_on_or_is_in_hand_is_not_hastened(lab: Lab) {
    let world = World::new(lab).await;
    for (name, end) in ["a", "b"].into_iter().zip(ENDS) {
        schedule(&world, name, "allow").await;
        let first = world.hold(fire(name, 12, 12, 13)).await;
        assert_eq!(first.bystander(hasten(name, 12)).await, "");
        first.end(end).await;
        assert_eq!(world.call(hasten(name, 12)).await, end.pick("", name));
        assert_eq!(world.call(hasten(name, 11)).await, "", "it is no later");
    }
    assert_eq!(told(&world, "a").await, "1 jobs, 1 runs, next 13");
    assert_eq!(told(&world, "b").await, "0 jobs, 0 runs, next 11");
}

/// It was a day ahead, and went back: two instants that it skipped, and one that it fired.
pub(crate) async fn t254_an_instant_that_a_wrong_clock_skipped_is_decided_when_it_comes(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "a", "allow").await;
    let ahead = "update jobkit.schedules set last_at = '2100-01-01 15:00Z'";
    let runs = "insert into jobkit.schedule_runs (schedule, instant, skipped, job_id, decided_at)
        values ('a', '2026-01-01 11:00Z', 'missed', null, '2100-01-01 15:00Z'),
            ('a', '2026-01-01 12:00Z', 'missed', null, '2100-01-01 15:00Z'),
            ('a', '2026-01-01 13:00Z', null, 7, '2100-01-01 15:00Z'),
            ('a', '2026-01-01 14:00Z', 'missed', null, '2100-01-01 15:00Z')";
    world.lab.run(&format!("{ahead}; {runs}")).await;
    // What is before the next instant was missed; what is from there on has not come yet.
    assert_eq!(world.call(fire("a", 12, 12, 13)).await, FIRED);
    assert_eq!(told(&world, "a").await, "1 jobs, 3 runs, next 13");
    assert_eq!(world.call(fire("a", 13, 13, 14)).await, NOTHING, "it was fired, by that clock");
    assert_eq!(world.call(fire("a", 14, 14, 15)).await, FIRED);
    // An edit, or a look at all schedules, heals it as well.
    for heal in [edit("a"), hasten("a", 12), declare(&["a"], "@daily")] {
        world.lab.run("delete from jobkit.schedule_runs; delete from jobkit.schedules").await;
        schedule(&world, "a", "allow").await;
        world.lab.run(ahead).await;
        world.call(heal.clone()).await;
        let kept = "jobkit.schedules where last_at >= next_at";
        assert_eq!(world.lab.count(kept).await, 0, "{heal}");
    }
}

pub(crate) async fn t255_an_older_declaration_changes_nothing_while_a_newer_lives(lab: Lab) {
    let world = World::new(lab).await;
    let by = |times: &str, number: &str| {
        declare(&["a"], times).replace("array['{}'])", &format!("array['{{}}'], {number})"))
    };
    let number = |digest: &str| format!("select jobkit.declaration('{digest}')::text");
    let (old, new) = (world.call(number("old")).await, world.call(number("new")).await);
    assert!(old.parse::<i64>().unwrap() < new.parse::<i64>().unwrap());
    assert_eq!(world.call(number("old")).await, old);
    assert_eq!(world.call(by("@daily", &old)).await, "");
    let newer = by("@hourly", &new).replace("2026-01-01 14:00Z", "2026-01-01 15:00Z");
    assert_eq!(world.call(newer).await, "(a,@daily,@hourly,f)");
    world.lab.run(&format!("update jobkit.workers set declaration = {new} where id = 1")).await;
    assert_eq!(world.call(by("@daily", &old)).await, "(a,@hourly,@daily,t)");
    // It neither misses what is due, which the newer one did.
    assert_eq!(told(&world, "a").await, "0 jobs, 1 runs, next 15");
    let times = "select times from jobkit.schedules";
    assert_eq!(world.lab.value::<String>(times).await, "@hourly");
    // It stops, or has died.
    world.lapse(1).await;
    assert_eq!(world.call(by("@daily", &old)).await, "(a,@hourly,@daily,f)");
    assert_eq!(world.lab.value::<String>(times).await, "@daily");
}

/// Nobody was awake for hours: what was due by the old times is missed, up to the first instant
/// that the new ones decide.
pub(crate) async fn t257_whatever_is_due_when_times_change_is_recorded(lab: Lab) {
    let world = World::new(lab).await;
    let next =
        |call: String, hour| call.replace("2026-01-01 14:00Z", &format!("2026-01-01 {hour}Z"));
    for (name, change, next) in [("a", declare(&["a"], "@daily"), 14), ("b", edit("b"), 20)] {
        schedule(&world, name, "allow").await;
        world.call(change).await;
        let until = if name == "a" { "13:59" } else { "20:29" };
        assert_eq!(spans(&world, name).await, format!("missed 12:00 to {until}"));
        assert_eq!(told(&world, name).await, format!("0 jobs, 1 runs, next {next}"));
    }
    let daily = |call: String| call.replace("@hourly", "@daily");
    assert_eq!(world.call(daily(fire("a", 14, 14, 15))).await, FIRED);
    // What the new times have as well is for them to decide.
    schedule(&world, "c", "allow").await;
    world.call(next(declare(&["c"], "@daily"), "12:00")).await;
    assert_eq!(told(&world, "c").await, "0 jobs, 0 runs, next 12");
    assert_eq!(world.call(daily(fire("c", 12, 12, 13))).await, FIRED);
    // The clock went on between the look at it and the declaration.
    world.call(next(declare(&["c"], "@hourly"), "12:30")).await;
    assert_eq!(told(&world, "c").await, "1 jobs, 2 runs, next 12");
    // Nothing of it is taken for what a clock has decided that was ahead.
    let ahead = "jobkit.schedules where last_at > now() or last_at >= next_at";
    assert_eq!(world.lab.count(ahead).await, 0);
}

/// It was days ahead for ten minutes, and found so much due that most of it is one row.
pub(crate) async fn t258_a_row_that_stands_for_many_ends_where_a_wrong_clock_began(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "a", "allow").await;
    world
        .lab
        .run(
            "update jobkit.schedules set last_at = '2100-01-01 15:00Z';
            insert into jobkit.schedule_runs (schedule, instant, skipped, since) values
                ('a', '2026-01-01 09:00Z', 'missed', '2026-01-01 07:00Z'),
                ('a', '2100-01-01 14:00Z', 'paused', '2100-01-01 14:00Z'),
                ('a', '2100-01-01 13:00Z', 'missed', '2026-01-01 10:00Z')",
        )
        .await;
    // Two hours went by since; of these nothing else tells.
    assert_eq!(world.call(fire("a", 12, 12, 13)).await, FIRED);
    assert_eq!(spans(&world, "a").await, "missed 07:00 to 09:00, missed 10:00 to 11:59");
    assert_eq!(told(&world, "a").await, "1 jobs, 3 runs, next 13");
    // A declaration of other times was missed by that clock, too.
    world.lab.run("delete from jobkit.schedule_runs; delete from jobkit.schedules").await;
    schedule(&world, "a", "allow").await;
    world.call(declare(&["a"], "@daily").replace("2026-01-01 14:00Z", "2026-01-02 14:00Z")).await;
    let decided = "select last_at = instant from jobkit.schedules, jobkit.schedule_runs";
    assert!(world.lab.value::<bool>(decided).await);
}

pub(crate) async fn a_death_between_the_jobs_and_the_advance_leaves_nothing(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "a", "allow").await;
    let stopped = world.hold_before("fire", "update jobkit.schedules s\n    set next_at").await;
    let firing = stopped.next(fire("a", 12, 12, 13)).await;
    let pid = firing.pid();
    world.lab.run(&format!("select pg_terminate_backend({pid})")).await;
    assert!(firing.answer().await.is_err());
    stopped.end(End::Rollback).await;
    assert_eq!(told(&world, "a").await, "0 jobs, 0 runs, next 12");
    assert_eq!(world.call(fire("a", 12, 12, 13)).await, FIRED);
    assert_eq!(told(&world, "a").await, "1 jobs, 1 runs, next 13");
    world.lab.check_invariants().await;
}

pub(crate) async fn a_pause_between_the_look_and_the_firing_is_heeded(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "a", "allow").await;
    let pause = "select jobkit.pause_schedule('a', 'me', 'why')::text".to_owned();
    assert_eq!(world.call(pause).await, "true");
    assert_eq!(world.call(fire("a", 12, 12, 13)).await, SKIPPED);
    assert_eq!(told(&world, "a").await, "0 jobs, 1 runs, next 13");
    let reason = "select skipped from jobkit.schedule_runs";
    assert_eq!(world.lab.value::<String>(reason).await, "paused");
}

pub(crate) async fn a_resume_waits_until_everything_of_the_pause_is_decided(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "a", "allow").await;
    let resume = "select jobkit.resume_schedule('a', 'me')".to_owned();
    assert_eq!(world.call(resume.clone()).await, "not paused");
    world.call("select jobkit.pause_schedule('a', 'me', 'why')::text".to_owned()).await;
    assert_eq!(world.call(resume.clone()).await, "due");
    // Whoever fires has it in hand: the resume waits, and is told of what he left.
    let first = world.hold(fire("a", 12, 12, 13).replace("2026-01-01 13", "2100-01-01 13")).await;
    let second = first.waiter(resume).await;
    first.end(End::Commit).await;
    assert_eq!(second.answer().await.as_deref(), Ok("resumed"));
}

pub(crate) async fn a_job_that_runs_is_a_reason_to_skip(lab: Lab) {
    let world = World::new(lab).await;
    schedule(&world, "a", "skip_if_running").await;
    assert_eq!(world.call(fire("a", 12, 12, 13)).await, FIRED);
    assert_eq!(world.call(fire("a", 13, 13, 14)).await, SKIPPED);
    let by_hand = || world.call("select jobkit.run_schedule('a', 'me')::text".to_owned());
    let job = by_hand().await;
    world.lab.run_unguarded(&format!("delete from jobkit.jobs where id = {job}")).await;
    world.lab.run_unguarded(&format!("delete from jobkit.ready where job_id = {job}")).await;
    assert_eq!(world.call(fire("a", 14, 14, 15)).await, SKIPPED, "the first one still runs");
    world.clear().await;
    by_hand().await;
    assert_eq!(world.call(fire("a", 15, 15, 16)).await, SKIPPED, "the one by hand");
    world.clear().await;
    assert_eq!(world.call(fire("a", 16, 16, 17)).await, FIRED);
}
