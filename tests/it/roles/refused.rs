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
    ("p", "select id from jobkit.jobs"),
    ("p", "select job_id from jobkit.ready"),
    ("p", "select job_id from jobkit.unique_keys"),
    ("p", "select * from jobkit.kinds"),
    ("p", "select * from jobkit.subscriptions"),
    ("p", "select * from jobkit.bounds"),
    ("p", "select * from jobkit.sleepers"),
    // It stores none past the functions, and gives no job another place, key or dead letter.
    ("p", "insert into jobkit.ready (queue, priority, job_id, kind) values ('q', 0, 1, 'k')"),
    (
        "p",
        "insert into jobkit.ready (queue, priority, without_permit, job_id, kind)
        values ('q', 0, false, 1, 'k')",
    ),
    ("p", "insert into jobkit.scheduled (run_at, job_id) values (now(), 1)"),
    ("p", "insert into jobkit.unique_keys (scope, key, job_id) values ('k', 'u', 1)"),
    (
        "p",
        "insert into jobkit.unique_keys (scope, key, job_id, held_until)
        values ('k', 'u', 0, 'infinity')",
    ),
    (
        "p",
        "insert into jobkit.jobs (kind, queue, priority, max_attempts, run_at, created_at, args)
        values ('k', 'q', 0, 1, now(), now(), '{}')",
    ),
    (
        "p",
        "insert into jobkit.jobs (id, kind, queue, priority, max_attempts, run_at, created_at,
        dead_letter_id, generation, args) values (7, 'k', 'q', 0, 1, now(), now(), 1, 0, '{}')",
    ),
    (
        "p",
        "insert into jobkit.permits (job_id, concurrency_group, concurrency_key)
        values (1, 'g', 'k')",
    ),
    ("p", "insert into jobkit.semaphores (concurrency_group, concurrency_key) values ('g', 'k')"),
    (
        "p",
        "insert into jobkit.blocked_executions (concurrency_group, concurrency_key, priority,
        job_id, queue, kind) values ('g', 'k', 0, 1, 'q', 'k')",
    ),
    (
        "p",
        "insert into jobkit.stuck_jobs (job_id, transition, error, since, tries, retry_at)
        values (1, 'claim', '', now(), 1, 'infinity')",
    ),
    ("p", "insert into jobkit.subscriptions (topic, kind) values ('t', 'k')"),
    ("p", "insert into jobkit.bounds (queue) values ('q')"),
    ("p", "select nextval('jobkit.jobs_id_seq')"),
    ("p", "select currval('jobkit.jobs_id_seq')"),
    ("p", "select setval('jobkit.jobs_id_seq', 1)"),
    ("p", "select last_value from jobkit.jobs_id_seq"),
    // Nor by the functions behind those.
    (
        "p",
        "select jobkit.insert_jobs(jobkit.new_jobs('{k}', '{q}', '{0}', '{1}', '{\"{}\"}'), '{7}')",
    ),
    (
        "p",
        "select jobkit.enqueue_by_key('each', jobkit.new_jobs('{k}', '{q}', '{0}', '{1}',
        '{\"{}\"}'))",
    ),
    ("p", "select jobkit.make_ready('{1}')"),
    ("p", "select jobkit.put_back(1, 'infinity')"),
    ("p", "select jobkit.take_free_keys('{k}', '{u}', '{1}', '{null}', false)"),
    ("p", "select jobkit.promote(10)"),
    ("p", "select jobkit.cancel_mark('{1}', 'me')"),
    ("p", "select jobkit.reschedule('{1}', now())"),
    ("p", "select jobkit.replay(1)"),
    ("p", "select jobkit.require_room('q')"),
    ("p", "select jobkit.register(1, 'mine', '{q}', '{k}', '1 h')"),
    ("p", "select jobkit.claim(1, 1, '{k}', '{q}', '{1}')"),
    ("p", "select jobkit.announce('{k}', '{q}', '{0}', '{1}', '{null}', '{null}', '{null}')"),
    ("p", "select jobkit.note('root', 'cancel', 'job', 1, '{}')"),
    ("p", "select jobkit.note_ended(1)"),
    ("p", "select jobkit.prune_audit('0', 1000000)"),
    ("p", "select jobkit.create_schedule('{}', '{}', 'me')"),
    ("p", "select jobkit.finished_prepare(1)"),
    ("p", "select jobkit.await_jobs('{1}')"),
    // The audit grows by functions alone, and nobody changes what is in it.
    ("pwvo", "insert into jobkit.audit (actor, action, subject) values ('root', 'a', 'b')"),
    ("pwvo", "insert into jobkit.audit (at, action, subject) values ('2020-01-01', 'a', 'b')"),
    (
        "pwvo",
        "insert into jobkit.audit (id, action, subject) overriding system value
        select 1, 'a', 'b'",
    ),
    ("pwvo", "update jobkit.audit set detail = '{}'"),
    ("pwvo", "update jobkit.audit set at = now()"),
    ("pwvo", "update jobkit.audit set subject_name = 'x' where false"),
    ("pwvo", "delete from jobkit.audit"),
    ("pwvo", "delete from jobkit.audit where false"),
    ("pwvo", "with d as (delete from jobkit.audit returning *) select count(*) from d"),
    ("pwvo", "truncate jobkit.audit"),
    (
        "pwvo",
        "merge into jobkit.audit a using (select 1) s on false
        when not matched then insert (action, subject) values ('a', 'b')",
    ),
    ("pwvo", "alter table jobkit.audit disable trigger all"),
    ("v", "select jobkit.note('root', 'cancel', 'job', 1, '{}')"),
    ("v", "select jobkit.note_ended(1)"),
    ("v", "select jobkit.prune_audit('0', 1000000)"),
    // Nobody takes the rights of another, or hands on what it has.
    ("pv", "grant select on jobkit.jobs to public"),
    ("pwvo", "alter table jobkit.jobs owner to current_user"),
    ("pwvo", "alter function jobkit.shows_payloads() owner to current_user"),
    (
        "pwvo",
        "create or replace function jobkit.shows_payloads() returns boolean language sql
        as 'select true'",
    ),
    ("pwvo", "create or replace view jobkit.shown_jobs as select * from jobkit.jobs"),
    ("pwvo", "create rule mine as on insert to jobkit.jobs do also select 1"),
    ("pwvo", "create policy mine on jobkit.jobs using (true)"),
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
    ("p", "select jobkit.pause_limit('queue', 'q', null, null, 'me', '')"),
    ("p", "select jobkit.finished_drop('2020-01-01')"),
    ("p", "select jobkit.replay_due(1)"),
    ("p", "begin; lock table jobkit.limits in exclusive mode"),
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
    ("v", "delete from jobkit.dead_letters"),
    ("v", "delete from jobkit.finished"),
    ("v", "update jobkit.limits set paused_at = now()"),
    ("v", "update jobkit.workers set stop_requested_at = now()"),
    ("v", "delete from jobkit.workers"),
    ("v", "delete from jobkit.measures"),
    ("v", "insert into jobkit.operations default values"),
    ("v", "select jobkit.pause_limit('queue', 'q', null, null, 'me', '')"),
    ("v", "select jobkit.enqueue('of_roles')"),
    ("v", "select * from jobkit.enqueue_unique(null)"),
    ("v", "select jobkit.enqueue_all(null)"),
    ("v", "select jobkit.publish('t')"),
    ("v", "select jobkit.fan_out('t', '{}', null, null)"),
    ("v", "select jobkit.require_room('q')"),
    ("v", "select jobkit.finished_drop('2020-01-01')"),
    ("v", "begin; lock table jobkit.limits in exclusive mode"),
    ("v", "select id from jobkit.jobs for update"),
    // An operator leaves the audit and what workers keep alone.
    ("o", "delete from jobkit.finished"),
    ("o", "update jobkit.finished set outcome = 'finish'"),
    ("o", "delete from jobkit.measures"),
    ("o", "delete from jobkit.workers"),
    ("o", "delete from jobkit.claims"),
    ("o", "update jobkit.claims set job_ids = '{}'"),
    ("o", "insert into jobkit.attempts default values"),
    ("o", "update jobkit.kinds set redact = '{}'"),
];

/// What each role may do with no table at all, or with none but its own.
async fn matrix(roles: &Roles) -> Vec<(&'static str, String)> {
    let tables: Vec<(String, String)> = sqlx::query_as(
        "select c.relname::text, min(a.attname)::text from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
            and a.attidentity = ''
        where c.relnamespace = 'jobkit'::regnamespace and c.relkind in ('r', 'p')
            and not c.relispartition
        group by c.relname order by c.relname",
    )
    .fetch_all(roles.lab.direct())
    .await
    .unwrap();
    assert!(tables.len() >= 30, "{tables:?}");
    let mut statements = Vec::new();
    for (table, column) in &tables {
        let write = [
            format!("insert into jobkit.{table} default values"),
            format!("update jobkit.{table} set {column} = {column}"),
            format!("delete from jobkit.{table}"),
            format!("select from jobkit.{table} for update"),
            format!("lock table jobkit.{table} in row exclusive mode"),
        ];
        statements.extend(write.iter().map(|statement| ("pv", statement.clone())));
        statements.push(("pwvo", format!("truncate jobkit.{table}")));
        if table != "_migrations" {
            statements.push(("p", format!("select {column} from jobkit.{table}")));
        } else {
            statements.extend(write.map(|statement| ("wo", statement)));
        }
    }
    statements
}

#[tokio::test]
async fn roles_are_refused_what_they_do_not_need() {
    let roles = Roles::new(Lab::new().await).await;
    let version: i32 =
        roles.lab.value("select current_setting('server_version_num')::integer").await;
    let mut statements = matrix(&roles).await;
    statements.extend(REFUSED.iter().map(|(roles, statement)| (*roles, (*statement).to_owned())));
    let (mut checks, mut wrong) = (0, Vec::new());
    for role in ["producer", "worker", "viewer", "operator"] {
        let mut session = roles.lab.session(role).await;
        session.run(&format!("set role {}{role}", roles.prefix)).await.unwrap();
        let refused = statements.iter().filter(|(roles, _)| roles.contains(&role[..1]));
        for (_, statement) in refused {
            if statement.starts_with("merge") && version < 150_000 {
                continue;
            }
            checks += 1;
            session.run("begin").await.unwrap();
            let answer = session.run(statement).await;
            let code = answer.as_ref().err().and_then(|error| error.as_database_error()?.code());
            if code.as_deref() != Some("42501") {
                wrong.push(format!("{role}: {statement}: {answer:?}"));
            }
            session.run("rollback").await.unwrap();
        }
    }
    assert!(wrong.is_empty(), "{} of {checks}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checks >= 700, "{checks}");
    roles.end().await;
}

/// Enqueues with values that would reach into the jobs of others, and how they are refused.
fn reaching() -> Vec<(String, &'static str)> {
    let all = "'{k}', '{q}', '{0}', '{1}', '{\"{}\"}'";
    let keyed = |options: &str, holds: &str, for_: &str, on_duplicate: &str| {
        format!(
            "select jobkit.enqueue_unique(jobkit.new_jobs({all}{options}, p_unique_scope => '{{k}}',
            p_unique_key => '{{u}}', p_unique_while => '{{{holds}}}',
            p_unique_for => '{{{for_}}}', p_on_duplicate => '{{{on_duplicate}}}'))"
        )
    };
    let half = "p_unique_scope => '{k}', p_unique_key => '{u}', p_unique_while => '{queued}'";
    vec![
        (keyed("", "unfinished", "infinity", "skip"), "22008"),
        (keyed("", "unfinished", "1000 y", "skip"), "JK008"),
        (keyed(", p_run_at => '{infinity}'", "unfinished", "null", "skip"), "JK008"),
        (keyed(", p_run_at => '{-infinity}'", "queued", "null", "replace"), "JK008"),
        (keyed(", p_delay => '{90000 y}'", "running", "null", "debounce"), "JK008"),
        (keyed("", "always", "null", "skip"), "JK008"),
        (keyed("", "unfinished", "null", "end"), "JK008"),
        (
            format!(
                "select jobkit.enqueue_unique(jobkit.new_jobs({all}, p_unique_key => '{{u}}'))"
            ),
            "JK008",
        ),
        // A key that nobody took.
        (format!("select jobkit.enqueue_all(jobkit.new_jobs({all}, {half}))"), "JK008"),
        (format!("select jobkit.store_all(jobkit.new_jobs({all}, {half}))"), "JK008"),
        (
            format!(
                "select jobkit.store_one(jobkit.new_job('k', 'q', 0::int2, 1::int2, '{{}}', {}))",
                half.replace("'{", "'").replace("}'", "'")
            ),
            "JK008",
        ),
    ]
}

/// What a producer may say, with values that would reach into the jobs of others.
#[tokio::test]
async fn producers_set_nothing_that_is_not_theirs() {
    let roles = Roles::new(Lab::new().await).await;
    let lab = &roles.lab;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts) values ('k', 'q', 0, 5);
        select jobkit.enqueue('k', '{\"mine\": true}')",
    )
    .await;
    let mut session = lab.session("producer").await;
    session.run(&format!("set role {}producer", roles.prefix)).await.unwrap();
    for (statement, code) in reaching() {
        let error = session.run(&statement).await.expect_err(&statement);
        let error = error.as_database_error().unwrap();
        let found = error.code().unwrap_or_default();
        // Up to PostgreSQL 16 no interval is infinite.
        let is_none = code == "22008" && (found.starts_with("22") || found == "JK008");
        assert!(found == code || is_none, "{statement}: {error}");
    }
    assert_eq!(lab.count("jobkit.jobs").await, 1);
    assert_eq!(lab.count("jobkit.unique_keys").await, 0);
    session
        .run("select jobkit.enqueue('k', p_unique_key => 'u', p_unique_for => '1 h')")
        .await
        .unwrap();
    let stored = "jobkit.jobs where id > 1 and attempt = 0 and crashes = 0 and snoozes = 0
        and cancel_requested_at is null and dead_letter_id is null and generation is null
        and awaited is not true
        and created_at between now() - interval '1 min' and now() + interval '1 min'";
    assert_eq!(lab.count(stored).await, 1);
    drop(session);
    roles.end().await;
}

/// It says when, and it goes when it is old: whatever the caller says.
#[tokio::test]
async fn the_audit_grows_by_functions_alone() {
    let roles = Roles::new(Lab::new().await).await;
    let lab = &roles.lab;
    for role in ["worker", "operator"] {
        let mut session = lab.session(role).await;
        session.run(&format!("set role {}{role}", roles.prefix)).await.unwrap();
        session.run("select jobkit.note('me', 'act', 'job', 7, '{}')").await.unwrap();
        session.run("select jobkit.prune_audit('0', 1000000)").await.unwrap();
        session.run("select jobkit.prune_audit('-1 y', 1000000)").await.unwrap();
        session.run("select jobkit.note_ended(1)").await.unwrap();
    }
    let young = "jobkit.audit where at between now() - interval '1 min' and now()";
    assert_eq!(lab.count(young).await, 2);
    lab.run("update jobkit.audit set at = now() - interval '2 days' where id = 1").await;
    let mut session = lab.session("pruner").await;
    session.run(&format!("set role {}worker", roles.prefix)).await.unwrap();
    session.run("select jobkit.prune_audit('3 days', 10)").await.unwrap();
    assert_eq!(lab.count("jobkit.audit").await, 2);
    session.run("select jobkit.prune_audit('1 day', 10)").await.unwrap();
    assert_eq!(lab.count("jobkit.audit").await, 1);
    // What an operation came to is filled in once, and in no other entry.
    lab.run(
        "insert into jobkit.operations (verb, filter, total, counted, up_to, until, after_id,
            idempotency_key, state, ended_at, audit_id)
        select 'cancel', '{}', 1, 1, 0, now(), 0, 'x', 'done', now(), id from jobkit.audit",
    )
    .await;
    session.run("select jobkit.note_ended(id) from jobkit.operations").await.unwrap();
    assert_eq!(lab.count("jobkit.audit where detail = '{}'").await, 1);
    drop(session);
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
