//! Jobs that a crash left without attempts, and dead letters that replay themselves.

use jobkit_tests::Lab;

use super::calls::{
    cancel_mark, cancel_take, claim, enqueue, recover, replay, replay_due, replay_page,
};
use super::dead_letters::{clear, dead, expect_letter};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    t53_a_dead_letter_replays_itself_when_its_time_has_come,
    t54_two_recoveries_bury_a_job_once,
    t54_two_recoveries_bury_a_job_in_no_place_once,
    t55_all_exhausted_jobs_are_moved_whatever_their_number,
    t57_a_job_without_queue_mates_or_lineage_is_moved,
    a_recovery_leaves_alone_what_a_claim_holds,
    an_automatic_replay_passes_over_what_is_being_replayed,
];

/// T53. A replay that was cancelled leaves it to a human.
pub(crate) async fn t53_a_dead_letter_replays_itself_when_its_time_has_come(lab: Lab) {
    let world = World::new(lab).await;
    world.lab.run("update jobkit.kinds set auto_replay = '10 min', max_cycles = 10").await;
    let (letter, job) = dead(&world, "k").await;
    assert_eq!(world.call(replay_due()).await, "0");
    let later = "update jobkit.dead_letters set replay_at = replay_at - interval '10 min'";
    world.lab.run(later).await;
    assert_eq!(world.call(replay_due()).await, "1");
    assert_eq!(world.call(replay_due()).await, "0");
    let state = format!("replaying, 1 cycles, generation 1, last job {job}");
    expect_letter(&world, letter, &state).await;
    let replay: i64 = world.lab.value("select replay_id from jobkit.dead_letters").await;
    assert_eq!(world.call(cancel_mark(replay)).await, "true");
    assert_eq!(world.call(cancel_take(replay)).await, "true");
    assert_eq!(world.call(replay_due()).await, "0");
}

/// Jobs in `ready` that have no attempt left, as many as asked for.
async fn exhausted(world: &World, count: usize) -> Vec<i64> {
    let jobs = world.call(enqueue(count)).await;
    world.lab.run_unguarded("update jobkit.jobs set attempt = max_attempts").await;
    jobs.split(' ').map(|id| id.parse().unwrap()).collect()
}

pub(crate) async fn t54_two_recoveries_bury_a_job_once(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let jobs = exhausted(&world, 1).await;
        let first = world.hold(recover(&jobs)).await;
        assert_eq!(first.bystander(recover(&jobs)).await, "0");
        first.end(end).await;
        assert_eq!(world.call(recover(&jobs)).await, end.pick("0", "1"));
        assert_eq!(world.lab.count("jobkit.dead_letters where cycles = 1").await, 1);
        world.lab.check_invariants().await;
    }
}

/// T54. It has no row that one could pass over: the second waits for the job itself.
pub(crate) async fn t54_two_recoveries_bury_a_job_in_no_place_once(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let jobs = exhausted(&world, 1).await;
        world.lab.run_unguarded("delete from jobkit.ready").await;
        let first = world.hold(recover(&jobs)).await;
        assert_eq!(first.answer, "1");
        let second = first.waiter(recover(&jobs)).await;
        first.end(end).await;
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick("0", "1")));
        assert_eq!(world.lab.count("jobkit.dead_letters").await, 1);
        world.lab.check_invariants().await;
    }
}

/// T55. From every place, and from none.
pub(crate) async fn t55_all_exhausted_jobs_are_moved_whatever_their_number(lab: Lab) {
    let world = World::new(lab).await;
    let jobs = exhausted(&world, 150).await;
    world
        .lab
        .run_unguarded(
            "delete from jobkit.ready where job_id % 3 > 0;
            insert into jobkit.scheduled
            select run_at, id from jobkit.jobs where id % 3 = 1",
        )
        .await;
    assert_eq!(world.call(recover(&jobs)).await, "150");
    assert_eq!(world.lab.count("jobkit.dead_letters").await, 150);
    assert_eq!(world.lab.count("jobkit.jobs").await, 0);
    world.lab.check_invariants().await;
}

/// T57. Columns that may be null hide nothing: a dead letter without key or worker, and a job
/// without key, tags or errors.
pub(crate) async fn t57_a_job_without_queue_mates_or_lineage_is_moved(lab: Lab) {
    let world = World::new(lab).await;
    let jobs = exhausted(&world, 1).await;
    assert_eq!(world.call(recover(&jobs)).await, "1");
    let more = exhausted(&world, 1).await;
    let found = "select string_agg(e::text, ' ') from jobkit.exhausted(0, 10) e";
    assert_eq!(world.lab.value::<String>(found).await, list(&more));
    assert_eq!(world.call(recover(&more)).await, "1");
    assert_eq!(world.call(replay_page(10)).await, "2 replayed, 0 skipped");
}

/// Nor what is running.
pub(crate) async fn a_recovery_leaves_alone_what_a_claim_holds(lab: Lab) {
    let world = World::new(lab).await;
    let jobs = exhausted(&world, 2).await;
    let holder = world.hold(claim(1, next_n(), 1)).await;
    assert_eq!(holder.answer, jobs[0].to_string());
    assert_eq!(holder.bystander(recover(&jobs)).await, "1");
    holder.end(End::Rollback).await;
    assert_eq!(world.call(recover(&jobs)).await, "1");
    let (_, [running]) = world.running().await;
    let spent = format!("update jobkit.jobs set attempt = max_attempts where id = {running}");
    world.lab.run_unguarded(&spent).await;
    assert_eq!(world.call(recover(&[running])).await, "0");
    let found = "select count(*) from jobkit.exhausted(0, 10)";
    assert_eq!(world.lab.value::<i64>(found).await, 0);
}

pub(crate) async fn an_automatic_replay_passes_over_what_is_being_replayed(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let (letter, job) = dead(&world, "k").await;
        world.lab.run("update jobkit.dead_letters set replay_at = now()").await;
        let first = world.hold(replay(letter)).await;
        assert_eq!(first.bystander(replay_due()).await, "0");
        first.end(end).await;
        assert_eq!(world.call(replay_due()).await, end.pick("0", "1"));
        let state = format!("replaying, 1 cycles, generation 1, last job {job}");
        expect_letter(&world, letter, &state).await;
    }
}
