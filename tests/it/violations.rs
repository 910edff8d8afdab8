//! The promises of storage as queries: each violation, made by hand, is reported by
//! `jobkit.violations`, and the guard refuses its commit.

use std::collections::BTreeSet;

use jobkit_tests::{Lab, Session};

/// Job 2 is running and 3 is ready, both with a permit of two; 4 is blocked, 5 ready without a
/// permit, and 6 scheduled.
const STAGE: &str = "select scene.clear(2), scene.enqueue(4), scene.claim(1, 1), scene.claim(1, 2),
        scene.claim(2, 3), scene.finish(1, 1), scene.enqueue(2);
    update jobkit.jobs set run_at = '2100-01-01' where id = 6;
    delete from jobkit.ready where job_id = 6;
    insert into jobkit.scheduled (run_at, job_id) values ('2100-01-01', 6)";

/// What is done, what is wrong then, and with whom.
const CASES: &[(&str, &str, &str)] = &[
    ("delete from jobkit.scheduled", "live job in no place", "6"),
    (
        "insert into jobkit.scheduled select run_at, id from jobkit.jobs where id = 5",
        "live job in 2 places",
        "5",
    ),
    ("delete from jobkit.jobs where id = 5", "row of an ended job in ready", "5"),
    ("update jobkit.jobs set attempt = 3 where id = 5", "attempts beyond the limit", "5"),
    (
        "update jobkit.jobs set generation = 1 where id = 5",
        "incomplete concurrency key or replay",
        "5",
    ),
    (
        "update jobkit.jobs set unique_scope = 'act', unique_key = 'k', unique_while = 'queued'
        where id = 5",
        "unique key missing or incomplete",
        "5",
    ),
    ("update jobkit.jobs set run_at = now() where id = 6", "scheduled at another time", "6"),
    (
        "update jobkit.jobs set priority = 4 where id = 5",
        "a name, key, priority or limit out of range",
        "5",
    ),
    (
        "update jobkit.scheduled set retrying = true",
        "retrying flag does not match the attempts",
        "6",
    ),
    (
        "update jobkit.jobs set queue = 'other' where id = 5",
        "ready in another queue, priority, kind or key",
        "5",
    ),
    (
        "update jobkit.blocked_executions set priority = 1",
        "blocked in another queue, priority, kind or key",
        "4",
    ),
    (
        "delete from jobkit.permits where job_id = 3; update jobkit.semaphores set taken = 1",
        "ready with a permit it does not hold",
        "3",
    ),
    ("update jobkit.claims set keyed = false", "running without a permit", "2"),
    (
        "insert into jobkit.permits values (6, 'g', 'k');
        update jobkit.semaphores set taken = 3, override_limit = 3",
        "permit of a job that is neither running nor ready with it",
        "6",
    ),
    ("update jobkit.semaphores set taken = 3", "taken is not the number of permits", "g k"),
    ("insert into jobkit.semaphores values ('g', 'other')", "unused semaphore", "g other"),
    ("delete from jobkit.semaphores", "permits without a semaphore", "g k"),
    ("delete from jobkit.semaphores", "blocked executions without a semaphore", "g k"),
    ("update jobkit.semaphores set from_id = 5", "blocked before the start of the search", "g k"),
    (
        "update jobkit.semaphores set override_limit = 3",
        "a free permit and a blocked job to run",
        "g k",
    ),
    (
        "insert into jobkit.dead_letters (job_id, kind, queue, priority, reason, error, errors,
            fingerprint, attempt, attempts, max_attempts, snoozes, created_at, first_failed_at,
            failed_at, args)
        select id, kind, queue, priority, 'dead', '', '[]', '', 0, 0, 3, 0, now(), now(), now(),
            '{}'
        from jobkit.jobs where id = 5;
        update jobkit.jobs set attempt = 1 where id = 5",
        "ended and live",
        "5",
    ),
    (
        "insert into jobkit.batches (id, created_at, hold_dead, closed_at, ended_at)
        values (1, now(), false, now(), now());
        update jobkit.jobs set batch_id = 1 where id = 5;
        insert into jobkit.batch_counts (batch_id, outcome, jobs) values (1, 'add', 1)",
        "ended batch with a live member",
        "batch 1",
    ),
    (
        "insert into jobkit.batches (id, created_at, hold_dead, closed_at, ended_at)
        values (1, now(), true, now(), now());
        insert into jobkit.batch_holds (batch_id, job_id, dead_letter_id) values (1, 99, 99)",
        "ended batch with a dead letter that keeps it open",
        "batch 1",
    ),
    (
        "update jobkit.jobs set batch_id = 1 where id = 5",
        "member of a batch that does not exist",
        "batch 1",
    ),
    (
        "insert into jobkit.batches (id, created_at, hold_dead, closed_at)
        values (1, now(), false, now())",
        "empty batch that nobody will look at",
        "batch 1",
    ),
    (
        "insert into jobkit.batches (id, created_at, hold_dead, closed_at, ended_at, then_job)
        values (1, now(), false, now(), now(), 6);
        update jobkit.jobs set callback_of = 1, run_at = jobkit.parked() where id = 6;
        update jobkit.scheduled set run_at = jobkit.parked() where job_id = 6",
        "callback of an ended batch still waits for it",
        "batch 1",
    ),
    (
        "insert into jobkit.batches (id, created_at, hold_dead) values (1, now(), true);
        insert into jobkit.batch_holds (batch_id, job_id, dead_letter_id) values (1, 99, 99)",
        "kept open by a dead letter that is resolved or gone",
        "batch 1",
    ),
    (
        "insert into jobkit.batches (id, created_at, hold_dead) values (1, now(), false);
        insert into jobkit.batch_tallies (batch_id, outcome, jobs) values (1, 'add', 1)",
        "counts of a batch do not add up",
        "batch 1",
    ),
];

/// The same with tables that no guard watches: they only ever grow.
const UNGUARDED: &[(&str, &str, &str)] = &[
    (
        "insert into jobkit.attempts (job_id, attempt, outcome, error, ended_at)
        values (99, 1, 'retry', '', now())",
        "attempts of an ended job",
        "99",
    ),
    (
        "insert into jobkit.dead_letters (job_id, kind, queue, priority, reason, error, errors,
            fingerprint, attempt, attempts, max_attempts, snoozes, created_at, first_failed_at,
            failed_at, args)
        select 99, kind, queue, priority, 'dead', '', '[]', '', 0, 0, 3, 0, now(), now(), now(),
            '{}'
        from jobkit.jobs where id in (4, 5)",
        "ended twice",
        "99",
    ),
    (
        "insert into jobkit.dead_letters (job_id, kind, queue, priority, reason, error, errors,
            fingerprint, attempt, attempts, max_attempts, snoozes, created_at, first_failed_at,
            failed_at, args, state, replay_id)
        select 99, kind, queue, priority, 'dead', '', '[]', '', 0, 0, 3, 0, now(), now(), now(),
            '{}', 'replaying', 98
        from jobkit.jobs where id = 4",
        "replays a dead letter and is gone",
        "98",
    ),
];

async fn stage() -> Lab {
    let lab = Lab::new().await;
    lab.run(include_str!("../isolation/scene.sql")).await;
    lab.run(STAGE).await;
    lab.check_invariants().await;
    lab
}

async fn violations(session: &mut Session) -> Vec<(String, String)> {
    let sql = "select what, who from jobkit.violations";
    sqlx::query_as(sql).fetch_all(&mut session.connection).await.unwrap()
}

#[tokio::test]
async fn each_violation_is_reported() {
    let lab = stage().await;
    let mut session = lab.session("vandal").await;
    for (sql, what, who) in CASES.iter().chain(UNGUARDED) {
        session.run(&format!("begin; {sql}")).await.unwrap();
        let found = violations(&mut session).await;
        assert!(found.contains(&((*what).to_owned(), (*who).to_owned())), "{sql}: {found:?}");
        session.run("rollback").await.unwrap();
    }
    lab.check_invariants().await;
}

/// All texts of the views are parts of what is reported here.
#[tokio::test]
async fn no_violation_goes_untested() {
    let lab = Lab::new().await;
    let sql = r"select t.text from pg_views v,
            regexp_matches(v.definition, '''([^'']* [^'']*)''::text', 'g') as t (text)
        where v.viewname in ('job_violations', 'key_violations', 'batch_violations')";
    let texts: Vec<Vec<String>> = sqlx::query_scalar(sql).fetch_all(lab.pool()).await.unwrap();
    let texts: BTreeSet<String> = texts.into_iter().flatten().collect();
    assert!(texts.len() > 15, "the views were not read: {texts:?}");
    let tested = |text: &&String| {
        !CASES.iter().chain(UNGUARDED).any(|(_, what, _)| what.contains(text.as_str()))
    };
    assert_eq!(texts.iter().filter(tested).collect::<Vec<_>>(), [""; 0]);
}

#[tokio::test]
async fn the_guard_refuses_each_violation() {
    let lab = stage().await;
    lab.guard().await;
    let mut session = lab.session("vandal").await;
    for (sql, ..) in CASES {
        session.run(&format!("begin; {sql}")).await.unwrap();
        let found = violations(&mut session).await;
        let error = session.run("commit").await.expect_err(sql);
        let error = error.into_database_error().unwrap();
        let name = |who: &str| match who.split_once(' ') {
            Some(("batch", _)) => "",
            Some(_) => "key ",
            None => "job ",
        };
        let mut messages =
            found.iter().map(|(what, who)| format!("guard: {what} ({}{who})", name(who)));
        assert_eq!(error.code().as_deref(), Some("JK099"), "{sql}: {error}");
        assert!(messages.any(|message| message == error.message()), "{sql}: {error}");
    }
    // Not wrong in itself, since a limit may be lowered; but nobody may bring it about.
    let one_more = "insert into jobkit.permits values (5, 'g', 'k');
        update jobkit.semaphores set taken = 3;
        update jobkit.ready set without_permit = false where job_id = 5";
    let error = session.run(one_more).await.unwrap_err().into_database_error().unwrap();
    assert_eq!(error.message(), "guard: a permit beyond the limit (key g k)");
    let alarms: i64 = lab.value("select last_value from guard.alarms").await;
    assert_eq!(usize::try_from(alarms).unwrap(), CASES.len() + 1);
}

/// What a worker could not see when it gave out permits is no fault of its.
#[tokio::test]
async fn the_guard_forgives_what_began_meanwhile() {
    let lab = stage().await;
    lab.guard().await;
    let blocked = "update jobkit.workers set stopping = true";
    lab.run(blocked).await;
    let mut first = lab.session("first").await;
    first.run("begin; select scene.finish(1, 2)").await.unwrap();
    lab.run("select scene.register(4)").await;
    first.run("commit").await.unwrap();
    lab.run(blocked).await;
    assert_eq!(lab.value::<String>("select scene.sweep()").await, "unblocked 0");
    lab.check_invariants().await;
    // With a server in sight it is one.
    lab.run("update jobkit.workers set stopping = false where id = 4").await;
    let error = lab.session("second").await.run("update jobkit.semaphores set from_id = 0").await;
    let error = error.unwrap_err().into_database_error().unwrap();
    assert_eq!(error.message(), "guard: a free permit and a blocked job to run (key g k)");
}
