//! What roles may not do.

use jobkit_tests::{Lab, Roles};

/// Refused to each of these roles (their first letters), so that 42501 is the answer: producer,
/// worker, viewer, operator.
const REFUSED: &[(&str, &str)] = &[
    // Nobody changes what an upgrade has made, or makes anything.
    ("pwvo", "create table jobkit.mine ()"),
    ("pwvo", "create function jobkit.mine() returns int language sql as 'select 1'"),
    ("pwvo", "drop table jobkit.jobs"),
    ("pwvo", "truncate jobkit.ready"),
    ("pwvo", "alter table jobkit.jobs add column mine int"),
    ("pwvo", "create trigger mine before insert on jobkit.jobs execute function now()"),
    ("pwvo", "drop function jobkit.versioned"),
    ("pwvo", "alter schema jobkit rename to mine"),
    ("pwvo", "update jobkit._migrations set version = 0"),
    ("pwvo", "delete from jobkit._migrations"),
    ("pwvo", "update jobkit.audit set actor = 'somebody'"),
    // A producer reads no job, and changes none.
    ("p", "select * from jobkit.jobs"),
    ("p", "select args from jobkit.jobs"),
    ("p", "select kind from jobkit.ready"),
    ("p", "select key from jobkit.unique_keys"),
    ("p", "update jobkit.jobs set queue = 'mine'"),
    ("p", "delete from jobkit.jobs"),
    ("p", "delete from jobkit.ready"),
    ("p", "delete from jobkit.unique_keys"),
    ("p", "select * from jobkit.finished"),
    ("p", "select * from jobkit.dead_letters"),
    ("p", "select * from jobkit.claims"),
    ("p", "select * from jobkit.workers"),
    ("p", "select * from jobkit.attempts"),
    ("p", "select * from jobkit.audit"),
    ("p", "select * from jobkit.measures"),
    ("p", "select * from jobkit.schedules"),
    ("p", "select * from jobkit.listed_jobs"),
    ("p", "select * from jobkit.shown_jobs"),
    ("p", "select * from jobkit.violations"),
    ("p", "insert into jobkit.kinds (kind) values ('mine')"),
    ("p", "update jobkit.kinds set redact = '{}'"),
    ("p", "insert into jobkit.audit (action, subject) values ('a', 'b')"),
    ("p", "select jobkit.pause('q', 'me', '')"),
    ("p", "select jobkit.finished_drop('2020-01-01')"),
    ("p", "select jobkit.replay_due(1)"),
    ("p", "begin; lock table jobkit.queues in exclusive mode"),
    // A viewer sees no payload, and changes nothing.
    ("v", "select args from jobkit.jobs"),
    ("v", "select metadata from jobkit.jobs"),
    ("v", "select j from jobkit.jobs j"),
    ("v", "select args from jobkit.finished"),
    ("v", "select args from jobkit.dead_letters"),
    ("v", "select metadata from jobkit.dead_letters"),
    ("v", "select args from jobkit.schedules"),
    ("v", "select detail from jobkit.audit"),
    ("v", "insert into jobkit.jobs (kind) values ('mine')"),
    ("v", "update jobkit.jobs set queue = 'mine'"),
    ("v", "delete from jobkit.jobs"),
    ("v", "insert into jobkit.audit (action, subject) values ('a', 'b')"),
    ("v", "delete from jobkit.dead_letters"),
    ("v", "delete from jobkit.finished"),
    ("v", "update jobkit.queues set paused_at = now()"),
    ("v", "update jobkit.workers set stop_requested_at = now()"),
    ("v", "delete from jobkit.workers"),
    ("v", "delete from jobkit.measures"),
    ("v", "insert into jobkit.operations default values"),
    ("v", "select jobkit.pause('q', 'me', '')"),
    ("v", "select jobkit.enqueue('of_roles')"),
    (
        "v",
        "select * from jobkit.enqueue_as_owner('{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}',
        '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')",
    ),
    ("v", "select jobkit.finished_drop('2020-01-01')"),
    ("v", "begin; lock table jobkit.queues in exclusive mode"),
    ("v", "select id from jobkit.jobs for update"),
    // An operator leaves the audit and what workers keep alone.
    ("o", "delete from jobkit.audit"),
    ("o", "delete from jobkit.finished"),
    ("o", "update jobkit.finished set outcome = 'finish'"),
    ("o", "delete from jobkit.measures"),
    ("o", "delete from jobkit.workers"),
    ("o", "delete from jobkit.claims"),
    ("o", "update jobkit.claims set job_ids = '{}'"),
    ("o", "insert into jobkit.attempts default values"),
    ("o", "update jobkit.kinds set redact = '{}'"),
];

#[tokio::test]
async fn roles_are_refused_what_they_do_not_need() {
    let roles = Roles::new(Lab::new().await).await;
    let mut checks = 0;
    for role in ["producer", "worker", "viewer", "operator"] {
        let mut session = roles.lab.session(role).await;
        session.run(&format!("set role {}{role}", roles.prefix)).await.unwrap();
        let refused = REFUSED.iter().filter(|(roles, _)| roles.contains(&role[..1]));
        for (_, statement) in refused {
            let error = session.run(statement).await.expect_err(statement);
            let code = error.as_database_error().and_then(|error| error.code());
            assert_eq!(code.as_deref(), Some("42501"), "{role}: {statement}: {error}");
            checks += 1;
            session.run("rollback").await.unwrap();
        }
    }
    assert!(checks >= 60, "{checks}");
    roles.end().await;
}

/// Whom nothing was granted, sees nothing.
#[tokio::test]
async fn whoever_has_no_role_is_a_stranger() {
    let roles = Roles::new(Lab::new().await).await;
    let stranger = format!("{}stranger", roles.prefix);
    roles.lab.run(&format!("create role {stranger}")).await;
    let mut session = roles.lab.session("stranger").await;
    session.run(&format!("set role {stranger}")).await.unwrap();
    for statement in ["select from jobkit._migrations", "select jobkit.contract()"] {
        let error = session.run(statement).await.expect_err(statement);
        let code = error.as_database_error().and_then(|error| error.code());
        assert_eq!(code.as_deref(), Some("42501"), "{statement}");
    }
    drop(session);
    roles.lab.run(&format!("drop role {stranger}")).await;
    roles.end().await;
}
