//! Payloads get another key while somebody has them in hand, or changes them; and what is refused.

use jobkit_tests::Lab;

use super::kit::World;

in_a_lab![
    what_somebody_has_in_hand_is_passed_over,
    what_has_changed_since_the_look_stays,
    t243_a_promote_passes_over_a_note_in_hand,
    what_lies_open_is_refused_whoever_names_the_kind,
];

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
    world.running::<1>().await;
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
    world.running::<1>().await;
    fill(&world).await;
    let lab = &world.lab;
    let old = "'{\"old\": 1}'";
    for (place, id) in [("job", JOB), ("dead_letter", LETTER), ("schedule", "select 'nightly'")] {
        let mut session = lab.session("reseal").await;
        assert_eq!(session.value::<i32>(&reseal(place, id, old)).await.unwrap(), 0, "{place}");
    }
    assert_eq!(lab.count("jobkit.audit where action = 'reseal'").await, 0);
}

/// A settle that notes such a job may hold keys, which a promote may want.
pub(crate) async fn t243_a_promote_passes_over_a_note_in_hand(lab: Lab) {
    let world = World::new(lab).await;
    let lab = &world.lab;
    lab.run(
        "insert into jobkit.stuck_jobs (job_id, transition, error, since, tries, retry_at)
        values (1, 'open', 'no key', now(), 1, now() - interval '1 h')",
    )
    .await;
    let mut holder = lab.session("holder").await;
    holder.run("begin; select from jobkit.stuck_jobs for update").await.unwrap();
    let mut other = lab.session("promote").await;
    other.run("set lock_timeout = '2s'").await.unwrap();
    other.run("select jobkit.promote(10)").await.unwrap();
    assert_eq!(lab.count("jobkit.stuck_jobs").await, 1);
    holder.run("rollback").await.unwrap();
    other.run("select jobkit.promote(10)").await.unwrap();
    assert_eq!(lab.count("jobkit.stuck_jobs").await, 0);
}

/// Producers in SQL, operators, schedules, those who publish.
pub(crate) async fn what_lies_open_is_refused_whoever_names_the_kind(lab: Lab) {
    let world = World::new(lab).await;
    world.running::<1>().await;
    fill(&world).await;
    let lab = &world.lab;
    let hidden = "update jobkit.kinds set encrypt = '{token}', redact = '{token}'";
    lab.run(&format!("{hidden} where kind = 'act'")).await;
    lab.run("insert into jobkit.subscriptions (topic, kind) values ('done', 'act')").await;
    let schedule = "jsonb_build_object('name', 'other', 'kind', 'act', 'times', '@daily',
        'next_at', now() + interval '1 h', 'catch_up', 'latest', 'catch_up_max', 1,
        'catch_up_window', '0', 'overlap', 'allow', 'jitter', '0')";
    let mut session = lab.session("producer").await;
    for call in [
        "jobkit.enqueue('act', $args)".to_owned(),
        "jobkit.publish('done', $args)".to_owned(),
        format!("jobkit.replay(({LETTER}), p_args => $args)"),
        format!("jobkit.create_schedule({schedule}, $args, 'ada')"),
        "jobkit.edit_schedule('nightly', '{}', $args, 'ada')".to_owned(),
    ] {
        let with = |args| format!("select {}", call.replace("$args", args));
        let open = session.run(&with(r#"'{"token": "s3cret"}'"#)).await;
        let open = open.expect_err(&call).into_database_error().unwrap();
        assert_eq!(open.code().as_deref(), Some("JK010"), "{call}: {open}");
        assert!(!open.to_string().contains("s3cret"), "{call}: {open}");
        let sealed = r#"'{"token": {"jobkit:sealed": "k.AAAA"}}'"#;
        session.run(&with(sealed)).await.unwrap_or_else(|error| panic!("{call}: {error}"));
    }
    lab.check_invariants().await;
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
