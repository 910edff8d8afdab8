//! All rights that roles have, as the catalogue has them.

use std::collections::BTreeSet;
use std::path::Path;

use jobkit_tests::{Lab, Roles};

/// With this in the environment the list is written anew: look at what changed in it.
const BLESS: &str = "JOBKIT_BLESS";

/// What a role may do with a thing, a line each: schema, tables, columns, sequences, functions, and
/// what is granted by default on what the owner makes. Then with whose rights each function runs,
/// and its settings. Each line says all, so that no other can stand for it.
const RIGHTS: &str = "
    with functions as (
        select *, 'function ' || proname || '(' || oidvectortypes(proargtypes) || ')' as what
        from pg_proc where pronamespace = 'jobkit'::regnamespace
    ), given (what, acl) as (
        select 'schema jobkit', nspacl from pg_namespace where nspname = 'jobkit'
        union all
        select case relkind when 'S' then 'sequence ' when 'v' then 'view ' else 'table ' end
            || relname, relacl
        from pg_class where relnamespace = 'jobkit'::regnamespace and not relispartition
            and relkind in ('r', 'p', 'v', 'S')
        union all
        select 'column ' || c.relname || '.' || a.attname, a.attacl
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'jobkit'::regnamespace and not c.relispartition
        union all
        -- Where nothing is noted PUBLIC has the right.
        select what, coalesce(proacl, acldefault('f', proowner)) from functions
        union all
        select 'by default ' || case defaclobjtype when 'r' then 'tables' when 'S' then 'sequences'
            when 'f' then 'functions' else defaclobjtype::text end, defaclacl
        from pg_default_acl where defaclnamespace = 'jobkit'::regnamespace
    ), lines (line) as (
        select case a.grantee when 0 then 'PUBLIC'
                else replace(a.grantee::regrole::text, $1, '') end
            || ': ' || g.what || ': '
            || string_agg(distinct lower(a.privilege_type), ', ')
        from given g cross join aclexplode(g.acl) a
        where a.grantee <> $2::regrole
        group by a.grantee, g.what
        union all
        select what || ' runs as its ' || case when prosecdef then 'owner' else 'caller' end
            || coalesce(': ' || array_to_string(proconfig, '; '), '')
        from functions
    )
    select string_agg(line, E'\\n' order by line collate \"C\") || E'\\n' from lines";

/// The functions that run with their owner's rights, and their `search_path`.
const DEFINERS: &str = "
    select string_agg(proname || ' ' || coalesce(
        (select s from unnest(proconfig) s where s like 'search_path=%'), ''), E'\\n'
        order by proname collate \"C\")
    from pg_proc where pronamespace = 'jobkit'::regnamespace and prosecdef";

#[tokio::test]
async fn the_rights_of_roles_are_on_record() {
    let roles = Roles::new(Lab::new().await).await;
    let found: String = sqlx::query_scalar(RIGHTS)
        .bind(&roles.prefix)
        .bind(format!("{}owner", roles.prefix))
        .fetch_one(roles.lab.direct())
        .await
        .unwrap();
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/roles/rights.txt");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&place, &found).unwrap();
    }
    let recorded = std::fs::read_to_string(&place).unwrap_or_default();
    let changed = diff(&recorded, &found);
    assert!(recorded == found, "look, then {BLESS}=1 writes them down:\n{}", changed.join("\n"));
    assert!(!found.contains("PUBLIC"), "something is granted to PUBLIC");
    roles.end().await;
}

/// Lines of one text that the other has not.
fn diff(recorded: &str, found: &str) -> Vec<String> {
    let (recorded, found) =
        (BTreeSet::from_iter(recorded.lines()), BTreeSet::from_iter(found.lines()));
    let gone = recorded.difference(&found).map(|line| format!("-{line}"));
    gone.chain(found.difference(&recorded).map(|line| format!("+{line}"))).collect()
}

#[tokio::test]
async fn few_functions_run_with_the_rights_of_their_owner() {
    let lab = Lab::new().await;
    let expected = [
        "add_to_batch",
        "close_batch",
        "enqueue",
        "enqueue_all",
        "enqueue_unique",
        "fan_out",
        "finished_drop",
        "finished_forget",
        "finished_prepare",
        "note",
        "note_ended",
        "open_batch",
        "prune_audit",
        "publish",
        "require_room",
        "set_sequences",
    ];
    let expected = expected.map(|name| format!("{name} search_path=pg_catalog, pg_temp"));
    assert_eq!(lab.value::<String>(DEFINERS).await, expected.join("\n"));
}

/// Nobody has applied the roles yet.
#[tokio::test]
async fn before_there_are_roles_public_reaches_nothing() {
    let lab = Lab::new().await;
    let open = "select count(*) from pg_proc where pronamespace = 'jobkit'::regnamespace
            and prosecdef and has_function_privilege('public', oid, 'execute')";
    assert_eq!(lab.value::<i64>(open).await, 0);
    let granted = "select has_schema_privilege('public', 'jobkit', 'usage, create')
            or has_any_column_privilege('public', 'jobkit.jobs', 'select, insert, update')";
    assert!(!lab.value::<bool>(granted).await);
    let role = format!("jobkit_test_{:016x}", fastrand::u64(..));
    lab.run(&format!("create role {role}")).await;
    let mut session = lab.session("anybody").await;
    session.run(&format!("set role {role}")).await.unwrap();
    let refused = session.run("select jobkit.contract()").await.unwrap_err();
    assert!(refused.to_string().contains("permission denied for schema jobkit"), "{refused}");
    lab.run(&format!("drop role {role}")).await;
}
