//! A schema of the caller's own, with everything that `pg_catalog` has: what runs with the rights
//! of the owner finds none of it.

use jobkit_tests::{Lab, Roles};

/// Functions and operators with the names and the types of those of `pg_catalog`. Each fails, and
/// so tells that it was called.
const HOSTILE: &str = "
create schema hostile;
grant usage on schema hostile to public;
do $$
declare
    v_made record;
    v_functions integer := 0;
    v_operators integer := 0;
    v_body constant text := 'begin raise exception ''captured'' using errcode = ''HK001''; end';
begin
    for v_made in
        select format('create function hostile.%I(%s) returns %s%s language plpgsql as %L',
            p.proname, oidvectortypes(p.proargtypes),
            case when p.proretset then 'setof ' else '' end, p.prorettype::regtype, v_body) as sql
        from pg_proc p
        where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f'
        union all select format('create function hostile.%s language plpgsql as %L', f, v_body)
        from unnest('{\"jsonb_build_object(text, jsonb) returns jsonb\",
            \"concat(text, text) returns text\"}'::text[]) f
    loop
        begin
            execute v_made.sql;
            v_functions := v_functions + 1;
        exception when others then
            -- Of a type that no function of ours may have.
        end;
    end loop;
    for v_made in
        select o.oprname as name, format('function = hostile.op_%s, leftarg = %s, rightarg = %s',
                o.oid, o.oprleft::regtype, o.oprright::regtype) as is,
            format('create function hostile.op_%s(%s, %s) returns %s language plpgsql as %L',
                o.oid, o.oprleft::regtype, o.oprright::regtype, o.oprresult::regtype, v_body)
                as sql
        from pg_operator o
        where o.oprnamespace = 'pg_catalog'::regnamespace and o.oprleft <> 0 and o.oprcode <> 0
    loop
        begin
            execute v_made.sql;
            execute format('create operator hostile.%s (%s)', v_made.name, v_made.is);
            v_operators := v_operators + 1;
        exception when others then
        end;
    end loop;
    if v_functions < 2000 or v_operators < 600 then
        raise exception '% functions, % operators', v_functions, v_operators;
    end if;
end
$$";

/// A row of each thing that a view shows.
const ROWS: &str = "
select jobkit.finished_prepare(15);
insert into jobkit.kinds (kind, queue, priority, max_attempts) values ('k', 'q', 0, 5);
insert into jobkit.batches (id, created_at, hold_dead)
values (8, now(), false), (9, now(), false);
insert into jobkit.subscriptions (topic, kind) values ('t', 'k');
insert into jobkit.sleepers (worker_id, until, queues) values (9, 'infinity', '{q}');
insert into jobkit.audit (action, subject, detail)
values ('a', 'b', '{\"args\": \"canary\"}'), ('a', 'b', '{}');
select jobkit.set_limit('queue', 'bounded', null, '{\"waiting\": 1000}', 'me');
select jobkit.enqueue('k', '{\"x\": \"canary\"}',
    p_metadata => '{\"b\": \"canary\"}', p_terms => '{\"expires\": 9}');
select jobkit.create_schedule('{\"name\": \"s\", \"times\": \"@hourly\", \"kind\": \"k\",
    \"catch_up\": \"none\", \"catch_up_max\": 1, \"catch_up_window\": \"1 h\",
    \"overlap\": \"allow\", \"jitter\": \"0\", \"metadata\": {\"b\": \"canary\"}}',
    '{\"x\": \"canary\"}', 'me');
select jobkit.bury(j, 1, 'exhausted', 'no', null) from jobkit.jobs j;
select jobkit.enqueue('k', '{\"x\": \"canary\"}',
    p_metadata => '{\"b\": \"canary\"}', p_terms => '{\"expires\": 9}');
insert into jobkit.finished (job_id, expires_at, finished_at, outcome, kind, queue, priority,
    attempt, max_attempts, run_at, created_at, snoozes, errors, args, metadata)
select j.id, now() + '1 h', now(), 'finish', j.kind, j.queue, 0, 1, 1, now(), now(), 0, '[]',
    j.args, j.metadata from jobkit.jobs j limit 1;
select jobkit.enqueue('k', '{\"x\": \"canary\"}',
    p_metadata => '{\"b\": \"canary\"}', p_terms => '{\"expires\": 9}')";

const JOB: &str = "'k', 'q', 0::int2, 3::int2, '{}'";

/// What runs with the rights of the owner, called in each way there is.
fn calls() -> Vec<(&'static str, String)> {
    let all = "'{k}', '{q}', '{0}', '{3}', '{\"{}\"}'";
    let unique = "p_unique_scope => '{k}', p_unique_key => '{u}', \
        p_unique_while => '{unfinished}', p_on_duplicate => '{skip}'";
    let one = |key: &str, holds: &str, options: &str| {
        format!(
            "jobkit.store_unique(jobkit.new_job({JOB}, p_unique_scope => 'k',
            p_unique_key => '{key}', p_unique_while => '{holds}'{options}))"
        )
    };
    let calls = [
        ("enqueue", "jobkit.enqueue('k', '{}')".to_owned()),
        ("enqueue", "jobkit.enqueue('k', p_queue => 'bounded', p_run_at => now())".to_owned()),
        ("enqueue", "jobkit.enqueue('k', p_unique_key => 'u', p_tags => '{a}')".to_owned()),
        ("enqueue", "jobkit.enqueue('k', p_coalesce_key => 'u')".to_owned()),
        ("enqueue_all", format!("jobkit.enqueue_all(jobkit.new_jobs({all}))")),
        ("enqueue_unique", format!("jobkit.enqueue_unique(jobkit.new_jobs({all}, {unique}))")),
        ("fan_out", "jobkit.fan_out('t', '{}', null, null)".to_owned()),
        ("publish", "jobkit.publish('t', '{}')".to_owned()),
        ("store_one", format!("jobkit.store_one(jobkit.new_job({JOB}))")),
        ("store_all", format!("jobkit.store_all(jobkit.new_jobs({all}))")),
        (
            "store_unique",
            one("u", "unfinished", ", p_unique_for => '1 h', p_on_duplicate => 'skip'"),
        ),
        ("store_unique", one("v", "coalesce", "")),
        ("open_batch", format!("jobkit.open_batch(jobkit.new_jobs({all}), '{{then}}')")),
        ("add_to_batch", format!("jobkit.add_to_batch(9, jobkit.new_jobs({all}))")),
        ("close_batch", "jobkit.close_batch(8)".to_owned()),
    ];
    let calls = calls.map(|(name, call)| (name, call.replace("now()", "pg_catalog.now()")));
    let others = [
        ("finished_prepare", "jobkit.finished_prepare(20)"),
        ("finished_drop", "jobkit.finished_drop('2020-01-01')"),
        ("finished_forget", "jobkit.finished_forget('2020-01-01')"),
        ("note", "jobkit.note('me', 'a', 'b', 1, '{}')"),
        ("note_ended", "jobkit.note_ended(1)"),
        ("prune_audit", "jobkit.prune_audit('1 d', 10)"),
        ("require_room", "jobkit.require_room('bounded')"),
        ("set_sequences", "jobkit.set_sequences()"),
    ];
    calls.into_iter().chain(others.map(|(name, call)| (name, call.to_owned()))).collect()
}

#[tokio::test]
async fn no_name_of_the_callers_is_found_with_the_rights_of_the_owner() {
    let roles = Roles::new(Lab::new().await).await;
    let lab = &roles.lab;
    lab.run(HOSTILE).await;
    lab.run(ROWS).await;
    let calls = calls();
    let definers: Vec<String> = sqlx::query_scalar(
        "select proname::text from pg_proc
        where pronamespace = 'jobkit'::regnamespace and prosecdef",
    )
    .fetch_all(lab.direct())
    .await
    .unwrap();
    for definer in &definers {
        assert!(calls.iter().any(|(name, _)| name == definer), "nobody calls {definer} here");
    }
    // Those that enqueue as one that may, and as one that may not, write to the tables itself.
    for role in ["producer", "worker", "owner"] {
        let mut session = lab.session(role).await;
        session.run(&format!("set role {}{role}", roles.prefix)).await.unwrap();
        session.run("set search_path = hostile, pg_catalog").await.unwrap();
        let captured = session.run("select now()").await.unwrap_err();
        assert!(captured.to_string().contains("captured"), "the test would see it: {captured}");
        let may = |name: &str| role == "owner" || name != "set_sequences";
        let calls = calls.iter().filter(|(name, _)| may(name));
        for (_, call) in calls.take(if role == "producer" { 15 } else { usize::MAX }) {
            let done = session.run(&format!("select * from {call}")).await;
            assert!(done.is_ok(), "{role}: {call}: {done:?}");
        }
    }
    roles.end().await;
}

#[tokio::test]
async fn views_show_a_viewer_no_payload_whatever_its_search_path() {
    let roles = Roles::new(Lab::new().await).await;
    let lab = &roles.lab;
    lab.run(HOSTILE).await;
    lab.run(ROWS).await;
    let views: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_class
        where relnamespace = 'jobkit'::regnamespace and relkind = 'v'",
    )
    .fetch_all(lab.direct())
    .await
    .unwrap();
    assert!(views.len() >= 10, "{views:?}");
    let mut session = lab.session("viewer").await;
    session.run(&format!("set role {}viewer", roles.prefix)).await.unwrap();
    session.run("set search_path = hostile, pg_catalog").await.unwrap();
    for view in &views {
        let text = format!(
            "select pg_catalog.concat('', pg_catalog.string_agg(v::pg_catalog.text, ''))
            from jobkit.{view} v"
        );
        let text: String = session.value(&text).await.unwrap_or_else(|e| panic!("{view}: {e}"));
        assert!(!text.contains("canary"), "{view}: {text}");
        let shows = view.starts_with("shown_") && view != "shown_steps";
        assert!(!shows || !text.is_empty(), "{view} has no row here");
    }
    drop(session);
    roles.end().await;
}
