//! Jobs that were left without attempts, and dead letters that replay themselves.

use jobkit_tests::Lab;

use super::calls::{
    cancel_mark, cancel_take, claim, enqueue, promote, reap_claim, replay, replay_due, replay_page,
    settle, settle_all,
};
use super::dead_letters::{clear, dead, expect_letter};
use super::kit::{ENDS, End, World, list, next_n};

in_a_lab![
    t53_a_dead_letter_replays_itself_when_its_time_has_come,
    t54_a_job_without_attempts_is_buried_once,
    t55_all_exhausted_jobs_are_moved_whatever_their_number,
    t57_a_job_without_queue_mates_or_lineage_is_moved,
    a_job_whose_attempts_were_raised_since_its_claim_goes_on,
    an_exhausted_job_hands_its_permit_on,
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

/// Claims all that is ready for worker 1. Of jobs that are wrong from the start the guard would
/// refuse that.
async fn claimed(world: &World) -> i64 {
    let n = next_n();
    world.lab.run_unguarded(&claim(1, n, 200)).await;
    n
}

/// The release of all of these, and what each becomes.
fn given_back(n: i64, jobs: &[i64], ending: &str) -> (String, String) {
    let outcomes: Vec<_> = jobs.iter().map(|job| (*job, "release")).collect();
    let endings: Vec<_> = jobs.iter().map(|job| format!("{job} {ending}")).collect();
    (settle_all(1, n, &outcomes), endings.join(", "))
}

/// T54. Whoever claims it gives it back, which ends it.
pub(crate) async fn t54_a_job_without_attempts_is_buried_once(lab: Lab) {
    let world = World::new(lab).await;
    for end in ENDS {
        clear(&world).await;
        let jobs = exhausted(&world, 1).await;
        let first = world.hold(claim(1, next_n(), 1)).await;
        assert_eq!(first.answer, list(&jobs));
        assert_eq!(first.bystander(claim(2, next_n(), 1)).await, "");
        first.end(End::Rollback).await;
        let n = claimed(&world).await;
        let (give_back, buried) = given_back(n, &jobs, "bury");
        let first = world.hold(give_back.clone()).await;
        assert_eq!(first.answer, buried);
        assert_eq!(first.bystander(reap_claim(1, n)).await, "0");
        let second = first.waiter(give_back).await;
        first.end(end).await;
        let (_, lost) = given_back(n, &jobs, "lost");
        assert_eq!(second.answer().await.as_deref(), Ok(end.pick(&lost, &buried)));
        world.expect(jobs[0], "exhausted").await;
        let once = "jobkit.dead_letters where (cycles, attempt) = (1, 3)";
        assert_eq!(world.lab.count(once).await, 1);
        assert_eq!(world.failures(jobs[0]).await, "", "no attempt is made up");
        world.lab.check_invariants().await;
    }
}

/// T55. Those that wait for their time end as well, once it has come.
pub(crate) async fn t55_all_exhausted_jobs_are_moved_whatever_their_number(lab: Lab) {
    let world = World::new(lab).await;
    let jobs = exhausted(&world, 150).await;
    world
        .lab
        .run_unguarded(
            "delete from jobkit.ready where job_id % 3 = 1;
            insert into jobkit.scheduled select run_at, id, true from jobkit.jobs where id % 3 = 1",
        )
        .await;
    let (ready, scheduled): (Vec<_>, Vec<_>) = jobs.iter().partition(|job| **job % 3 != 1);
    for part in [ready, scheduled] {
        let n = claimed(&world).await;
        let (give_back, buried) = given_back(n, &part, "bury");
        assert_eq!(world.call(give_back).await, buried);
        world.lab.run_unguarded(&promote(100)).await;
    }
    let moved = "select array_agg(d.job_id order by d.job_id) from jobkit.dead_letters d";
    assert_eq!(world.lab.value::<Vec<i64>>(moved).await, jobs);
    assert_eq!(world.lab.count("jobkit.jobs").await, 0);
    world.lab.check_invariants().await;
}

/// T57. Columns that may be null hide nothing: a dead letter without key or worker, and a job
/// without key, tags or errors.
pub(crate) async fn t57_a_job_without_queue_mates_or_lineage_is_moved(lab: Lab) {
    let world = World::new(lab).await;
    for errors in ["'first', 'last'", ""] {
        let jobs = exhausted(&world, 1).await;
        world
            .lab
            .run_unguarded(&format!(
                "insert into jobkit.attempts (job_id, attempt, outcome, error, ended_at)
                select {}, n, 'retry', error, now()
                from unnest(array[{errors}]::text[]) with ordinality e (error, n)",
                jobs[0]
            ))
            .await;
        let n = claimed(&world).await;
        let (give_back, buried) = given_back(n, &jobs, "bury");
        assert_eq!(world.call(give_back).await, buried);
    }
    let found = "string_agg(concat_ws(' ', key, worker_id, attempt, error), ', ' order by id)";
    let found = format!("select {found} from jobkit.dead_letters");
    let expected = "3 last, 3 it was found with no attempts left";
    assert_eq!(world.lab.value::<String>(&found).await, expected);
    assert_eq!(world.call(replay_page(10)).await, "2 replayed, 0 skipped");
}

/// What a job that is given back becomes is decided then: by what was done to it since its claim.
pub(crate) async fn a_job_whose_attempts_were_raised_since_its_claim_goes_on(lab: Lab) {
    let world = World::new(lab).await;
    let jobs = exhausted(&world, 2).await;
    let n = claimed(&world).await;
    world.lab.run_unguarded(&cancel_mark(jobs[0])).await;
    world.lab.run("update jobkit.jobs set max_attempts = 4").await;
    let (give_back, _) = given_back(n, &jobs, "");
    assert_eq!(world.call(give_back).await, format!("{} cancel", jobs[0]));
    world.expect(jobs[0], "cancel").await;
    world.expect(jobs[1], "ready, charged 3").await;
}

/// It got a permit when it was claimed, which it passes on.
pub(crate) async fn an_exhausted_job_hands_its_permit_on(lab: Lab) {
    let world = World::limited(lab, 1).await;
    let [x, y] = world.keyed(["a", "a"]).await;
    let spent = format!("update jobkit.jobs set attempt = max_attempts where id = {x}");
    world.lab.run_unguarded(&spent).await;
    let n = claimed(&world).await;
    world.expect(y, "blocked, charged 0").await;
    assert_eq!(world.call(settle(1, n, x, "release")).await, format!("{x} bury, {y} unblock"));
    world.expect(x, "exhausted").await;
    world.expect_key("a", &[y], &[]).await;
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
