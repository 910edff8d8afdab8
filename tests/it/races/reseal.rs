//! Payloads get another key while somebody has them in hand, or changes them.

use jobkit_tests::Lab;

use super::kit::World;

in_a_lab![what_somebody_has_in_hand_is_passed_over, what_has_changed_since_the_look_stays];

/// What a page of one payload writes.
fn reseal(place: &str, id: &str, before: &str) -> String {
    format!(
        "select jobkit.reseal('{place}', array[({id})::text], array[{before}],
            array['{{\"new\": 1}}'], 'k', 'ada')"
    )
}

const JOB: &str = "select min(id) from jobkit.jobs";
const LETTER: &str = "select min(id) from jobkit.dead_letters";

/// A live job, a dead letter and a schedule, each locked by somebody: nobody waits.
pub(crate) async fn what_somebody_has_in_hand_is_passed_over(lab: Lab) {
    let world = World::new(lab).await;
    world.running().await;
    fill(&world).await;
    let lab = &world.lab;
    for (place, table, id) in [
        ("job", "jobs", JOB),
        ("dead_letter", "dead_letters", LETTER),
        ("schedule", "schedules", "select 'nightly'"),
    ] {
        let mut holder = lab.session("holder").await;
        holder.run(&format!("begin; select from jobkit.{table} for update")).await.unwrap();
        let mut other = lab.session("reseal").await;
        other.run("set lock_timeout = '2s'").await.unwrap();
        let key = if place == "schedule" { "name" } else { "id" };
        let same = format!("(select args::text from jobkit.{table} where {key} = ({id}))");
        let sql = reseal(place, id, &same);
        assert_eq!(other.value::<i32>(&sql).await.unwrap(), 0, "{place}");
        holder.run("rollback").await.unwrap();
        assert_eq!(other.value::<i32>(&sql).await.unwrap(), 1, "{place}");
    }
    assert_eq!(lab.count("jobkit.audit where action = 'reseal' and actor = 'ada'").await, 3);
    lab.check_invariants().await;
}

/// As when a job becomes a dead letter again, with a newer payload.
pub(crate) async fn what_has_changed_since_the_look_stays(lab: Lab) {
    let world = World::new(lab).await;
    world.running().await;
    fill(&world).await;
    let lab = &world.lab;
    let old = "'{\"old\": 1}'";
    for (place, id) in [("job", JOB), ("dead_letter", LETTER), ("schedule", "select 'nightly'")] {
        let mut session = lab.session("reseal").await;
        assert_eq!(session.value::<i32>(&reseal(place, id, old)).await.unwrap(), 0, "{place}");
    }
    assert_eq!(lab.count("jobkit.audit where action = 'reseal'").await, 0);
}

/// A dead letter and a schedule.
async fn fill(world: &World) {
    let copy = "kind, queue, priority, max_attempts";
    world
        .lab
        .run(&format!(
            "insert into jobkit.dead_letters (job_id, {copy}, reason, errors, attempt, attempts,
                snoozes, created_at, first_failed_at, failed_at, args, error, fingerprint)
            select -1, {copy}, 'dead', '[]', 1, 1, 0, now(), now(), now(), args, 'e', 'f'
            from jobkit.jobs limit 1;
            insert into jobkit.schedules (name, times, next_at, catch_up, catch_up_max,
                catch_up_window, overlap, jitter, {copy}, args)
            select 'nightly', '@daily', now() + '1 h', 'latest', 1, '0', 'allow', '0', {copy}, args
            from jobkit.jobs limit 1"
        ))
        .await;
}
