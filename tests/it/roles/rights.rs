//! All rights that roles have, as the catalogue has them.

use std::path::Path;

use super::Roles;

/// With this in the environment the list is written anew: look at what changed in it.
const BLESS: &str = "JOBKIT_BLESS";

/// Who has which right to what, a line each: of tables, columns, sequences, functions, the schema.
const RIGHTS: &str = "
    with given (what, acl) as (
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
        -- Without the parameters, which come and go.
        select distinct 'function ' || proname, proacl
        from pg_proc where pronamespace = 'jobkit'::regnamespace
    ), rights as (
        select g.what, case a.grantee when 0 then 'PUBLIC'
                else replace(a.grantee::regrole::text, $1, '') end as who,
            string_agg(distinct lower(a.privilege_type), ' + ') as what_for
        from given g cross join aclexplode(g.acl) a
        where a.grantee <> $2::regrole
        group by 1, 2
    )
    select coalesce(string_agg(r.who || ': ' || r.what_for || ': ' || r.whats, E'\\n'
        order by r.who, r.what_for), '')
    from (
        select who, what_for, string_agg(what, ', ' order by what collate \"C\") as whats
        from rights group by 1, 2
    ) r";

#[tokio::test]
async fn the_rights_of_roles_are_on_record() {
    let roles = Roles::new().await;
    let found: String = sqlx::query_scalar(RIGHTS)
        .bind(&roles.prefix)
        .bind(format!("{}owner", roles.prefix))
        .fetch_one(roles.lab.direct())
        .await
        .unwrap();
    let found = found.replace(": ", ":\n    ").replace(", ", "\n    ") + "\n";
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/roles/rights.txt");
    if std::env::var_os(BLESS).is_some() {
        std::fs::write(&place, &found).unwrap();
    }
    let recorded = std::fs::read_to_string(&place).unwrap_or_default();
    let changed: Vec<_> = diff(&recorded, &found);
    assert!(changed.is_empty(), "look, then {BLESS}=1 writes them down:\n{}", changed.join("\n"));
    assert!(!found.contains("PUBLIC"), "something is granted to PUBLIC");
    roles.end().await;
}

/// Lines of one text that the other has not.
fn diff(recorded: &str, found: &str) -> Vec<String> {
    let without = |one: &str, other: &str, sign: char| {
        let other: Vec<_> = other.lines().collect();
        let lines = one.lines().filter(|line| !other.contains(line));
        lines.map(|line| format!("{sign}{line}")).collect::<Vec<_>>()
    };
    [without(recorded, found, '-'), without(found, recorded, '+')].concat()
}
