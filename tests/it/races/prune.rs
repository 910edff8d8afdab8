//! Partitions of `finished` made and removed while jobs end and somebody reads.

use jobkit_tests::Lab;

use super::calls::{finished_prepare, settle};
use super::kit::{ENDS, End, World};

in_a_lab![
    two_services_make_a_partition_once,
    partitions_are_made_beside_readers_and_outcomes,
    a_reader_of_finished_stalls_the_pruner_but_no_outcome,
    a_detach_cut_short_is_finished_the_next_time,
    a_day_in_use_is_neither_forgotten_nor_dropped,
];

const READ: &str = "select count(*)::text from jobkit.finished";

/// The second one waits, and finds the days made.
pub(crate) async fn two_services_make_a_partition_once(lab: Lab) {
    let world = World::new(lab).await;
    // The wait is observed, and may take longer than the two seconds it is given otherwise.
    let patient = "alter function jobkit.finished_prepare(integer) set lock_timeout = '1min'";
    world.lab.run(patient).await;
    for (end, days, made) in [(End::Commit, 5, "3"), (End::Rollback, 9, "4")] {
        let first = world.hold(finished_prepare(days)).await;
        assert_eq!(first.answer, made);
        let second = first.waiter(finished_prepare(days)).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick("0", made)));
    }
    let parts = "pg_inherits where inhparent = 'jobkit.finished'::regclass";
    assert_eq!(world.lab.count(parts).await, 10);
    assert_eq!(world.lab.count("jobkit.finished_days").await, 10);
}

/// Neither a reader of `finished` nor an outcome in flight holds up new partitions, nor they them.
pub(crate) async fn partitions_are_made_beside_readers_and_outcomes(lab: Lab) {
    let world = World::new(lab).await;
    let (n, [x, y]) = world.running().await;
    let reader = world.hold(READ.to_owned()).await;
    assert_eq!(reader.bystander(finished_prepare(3)).await, "1");
    let outcome = world.hold(settle(1, n, x, "finish")).await;
    assert_eq!(outcome.bystander(finished_prepare(4)).await, "1");
    outcome.end(End::Commit).await;
    let making = world.hold(finished_prepare(5)).await;
    assert_eq!(making.answer, "1");
    assert_eq!(making.bystander(settle(1, n, y, "finish")).await, "");
    assert_eq!(making.bystander(READ.to_owned()).await, "2");
    making.end(End::Rollback).await;
    reader.end(End::Commit).await;
    world.lab.check_invariants().await;
}

/// T121: a report that reads `finished` for hours keeps the pruner waiting. Jobs go on ending.
pub(crate) async fn a_reader_of_finished_stalls_the_pruner_but_no_outcome(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        expired(&world).await;
        let (n, [x]) = world.running().await;
        let reader = world.hold(READ.to_owned()).await;
        let detach = world.call(DETACH.to_owned()).await;
        let pruner = reader.waiter(detach).await;
        assert_eq!(pruner.bystander(settle(1, n, x, "finish")).await, "");
        let seen = pruner.bystander(READ.to_owned()).await;
        assert_eq!(seen, world.lab.count("jobkit.finished").await.to_string());
        reader.end(end).await;
        assert_eq!(pruner.answer().await.as_deref(), Ok(""));
        assert_eq!(world.call(DETACH.to_owned()).await, "");
        let remove = "select remove from jobkit.finished_expired()";
        assert_eq!(world.call(world.call(remove.to_owned()).await).await, "");
        world.expect(x, "finish").await;
    }
    world.lab.check_invariants().await;
}

/// T121: the pruner gives up after its lock_timeout, and finishes when the reader has gone.
pub(crate) async fn a_detach_cut_short_is_finished_the_next_time(lab: Lab) {
    let world = World::new(lab).await;
    expired(&world).await;
    let (n, [x, y]) = world.running().await;
    let reader = world.hold(READ.to_owned()).await;
    let detach = world.call(DETACH.to_owned()).await;
    let mut pruner = world.lab.session("pruner").await;
    pruner.run("set lock_timeout = '50ms'").await.unwrap();
    let error = pruner.run(&detach).await.expect_err("the reader is there").to_string();
    assert!(error.contains("lock timeout"), "{error}");
    assert_eq!(reader.bystander(settle(1, n, x, "finish")).await, "");
    let detach = world.call(DETACH.to_owned()).await;
    assert!(detach.ends_with("finalize"), "{detach}");
    reader.end(End::Commit).await;
    pruner.run(&detach).await.unwrap();
    assert_eq!(world.call(settle(1, n, y, "finish")).await, "");
    assert_eq!(world.call(DETACH.to_owned()).await, "");
    world.lab.check_invariants().await;
}

/// Whoever may call the functions of the pruner, which run with their owner's rights.
pub(crate) async fn a_day_in_use_is_neither_forgotten_nor_dropped(lab: Lab) {
    let world = World::new(lab).await;
    expired(&world).await;
    let forget = "select jobkit.finished_forget((now() at time zone 'UTC')::date)::text";
    assert_eq!(world.call(forget.to_owned()).await, "");
    assert_eq!(world.lab.count("jobkit.finished_days").await, 3, "today is among them");
    let listed = "delete from jobkit.finished_days; insert into jobkit.finished_days values";
    let there = "pg_class where relname = 'finished_20200101'";
    for (days, left) in [("('2020-01-01')", 1), ("('2020-01-01'), ('2020-01-02')", 0)] {
        world.lab.run(&format!("{listed} {days}")).await;
        world.call("select jobkit.finished_drop('2020-01-01')::text".to_owned()).await;
        assert_eq!(world.lab.count(there).await, left, "the newest day stays");
    }
}

const DETACH: &str = "select detach from jobkit.finished_expired()";

/// A partition whose day has passed.
async fn expired(world: &World) {
    world
        .lab
        .run(
            "create table jobkit.finished_20200101 (like jobkit.finished including all);
            alter table jobkit.finished attach partition jobkit.finished_20200101
            for values from ('2020-01-01 00:00Z') to ('2020-01-02 00:00Z')",
        )
        .await;
}
