//! Where REPEATABLE READ is a database's default, whatever waits and then reads refuses.

use jobkit_tests::Lab;

use super::stage;

/// A call of each function that needs READ COMMITTED, on a stage where all would do something.
const CALLS: &[(&str, &str)] = &[
    ("acknowledge", "'no_worker', '', now(), 'seen'"),
    ("announce_limits", "'[{\"scope\": \"group\", \"name\": \"g\", \"running\": 7}]'"),
    ("announce_subscriptions", "array['t'], array['act'], array[null]"),
    ("await_jobs", "array[2]::bigint[]"),
    ("cancel_batch", "1"),
    ("cancel_take", "array[2], 'cancel', 'unwanted'"),
    ("claim", "1, 9, array['act'], array['default'], array[1]"),
    ("complete", "1, 1, 1"),
    ("completion", "1, array[1], 1"),
    ("create_schedule", "'{}', '{}', 'somebody'"),
    ("decide_lock", ""),
    ("declaration", "'digest'"),
    ("declare_schedules", "'[]', '{}'"),
    ("delete_schedule", "'nightly', 'somebody'"),
    ("discard_dead_letter", "1, 'somebody'"),
    ("edit_schedule", "'nightly', '{}', null, 'somebody'"),
    ("finished_prepare", "9"),
    ("fire", "'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'"),
    ("grant_due", "9"),
    ("hasten_schedules", "'{}', '{}', '{}', '{}'"),
    ("limit_key", "'g', 'k', '{\"running\": 7}', null"),
    ("look_at_batches", "9"),
    ("mute_cause", "'f', '1 h'"),
    ("note_cause", "'f', 'known'"),
    ("operate", "1, 100"),
    ("operation_begin", "'cancel', '{}', null, null, 1, false, now(), 'once', 'somebody'"),
    ("operation_stop", "1, 'cancelled', null, 'somebody'"),
    ("part", "1, 1, 9, 1"),
    ("pause_key", "'g', 'k', '1 h'"),
    ("pause_limit", "'all', ''"),
    ("pause_schedule", "'nightly', 'somebody', ''"),
    ("reap_claim", "3, 4"),
    ("reap_workers", ""),
    ("release_lost", "1, 1, '{}', '{}'"),
    ("replay", "1"),
    ("replay_due", "9"),
    ("reschedule", "array[2]::bigint[], null"),
    ("reseal", "'job', '{2}', '{x}', '{y}', 'k', 'somebody'"),
    ("resume_key", "'g', 'k', null"),
    ("resume_limit", "'queue', 'other'"),
    ("resume_schedule", "'nightly', 'somebody'"),
    ("run_schedule", "'nightly', 'somebody'"),
    ("save_step", "1, 1, 1, 1, '', '7'"),
    ("set_aside", "1, '{act}', '{default}', '{9}'"),
    ("set_limit", "'group', 'g', null, '{\"running\": 7}'"),
    ("settle", "1, jobkit.outcomes(array[1], array[1], array['finish'])"),
    ("stop_worker", "1"),
    ("sweep", "'', '', 500"),
    ("sweep_unserved", "500"),
    ("take_slot", "'l', 'k', 1, '1 s'"),
    ("unacknowledge", "'no_worker', ''"),
    ("unsubscribe", "'t', 'act', 'somebody'"),
];

/// All rows of all tables.
async fn rows(lab: &Lab) -> Vec<String> {
    let sql = "select relname::text from pg_class
        where relnamespace = 'jobkit'::regnamespace and relkind = 'r' order by 1";
    let tables: Vec<String> = sqlx::query_scalar(sql).fetch_all(lab.pool()).await.unwrap();
    let mut found = Vec::new();
    for table in tables {
        let rows = "string_agg(t::text, ' ' order by t::text)";
        let sql = format!("select concat('{table}: ', {rows}) from jobkit.{table} t");
        found.push(lab.value(&sql).await);
    }
    found
}

async fn names(lab: &Lab) -> Vec<String> {
    let sql = "select proname::text from pg_proc
        where pronamespace = 'jobkit'::regnamespace
            and (prosrc like '%jobkit.require_read_committed()%'
                or prosrc like '%jobkit.decide_lock()%')
        order by proname";
    sqlx::query_scalar(sql).fetch_all(lab.pool()).await.unwrap()
}

/// Job 1 is running, 2 is ready, 3 blocked, 4 running for a dead worker; a queue is paused; there
/// is a dead letter, and an operation.
#[tokio::test]
async fn all_that_waits_and_then_reads_is_refused_and_changes_nothing() {
    let lab = stage().await;
    for sql in [
        "select scene.clear(1), scene.enqueue(1), scene.claim(1, 1)",
        "select scene.enqueue(2), scene.claim(2, 2), jobkit.cancel_mark(array[2])",
        "select jobkit.set_limit('key', 'g', 'k', '{\"running\": 2}'), scene.enqueue(1),
            scene.claim(3, 4, 9)",
        "select jobkit.deregister(3), jobkit.pause_limit('queue', 'other')",
        "insert into jobkit.dead_letters (id, kind, job_id, queue, priority, max_attempts, reason,
            error, fingerprint, errors, attempt, attempts, snoozes, created_at, first_failed_at,
            failed_at, replay_at, args)
        values (1, 'act', 9, 'default', 0, 3, 'dead', 'broken', '', '[]', 1, 1, 0, now(), now(),
            now(), now(), '1')",
        "insert into jobkit.due_keys (concurrency_group, concurrency_key, due_at)
        values ('g', 'k', now() - interval '1 s')",
        "insert into jobkit.operations (verb, filter, idempotency_key, total, up_to, until)
        values ('cancel', '{}', 'before', 1, 9, now())",
    ] {
        lab.run(sql).await;
    }
    let before = rows(&lab).await;
    let database: String = lab.value("select current_database()::text").await;
    let default = "set default_transaction_isolation = 'repeatable read'";
    lab.run(&format!("alter database {database} {default}")).await;
    // Connections made before have the old default.
    let lab = Lab::at(lab.url().to_owned()).await;

    assert_eq!(names(&lab).await, CALLS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (name, arguments) in CALLS {
        let mut session = lab.session("refused").await;
        let call = format!("select * from jobkit.{name}({arguments})");
        let error = session.run(&call).await.expect_err(&call);
        let state = error.as_database_error().and_then(|error| error.code()).unwrap().into_owned();
        assert_eq!(state, "JK002", "{call}: {error}");
    }
    assert_eq!(rows(&lab).await, before);
}
