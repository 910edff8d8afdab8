//! What `plpgsql_check` finds in the functions, where that extension is installed.

use std::io::Write;

use jobkit_tests::Lab;

/// It says which conversions there are; one of `'{}'` to an array is a constant. And it would have
/// functions stable that read what others have just committed: those see the snapshot of the
/// statement that calls them, which may be older than the lock it waited for.
const WHAT: &str = "select string_agg(format('%s: %s, line %s', p.proname, c.message, c.lineno),
        E'\\n' order by p.proname)
    from pg_proc p join pg_language l on l.oid = p.prolang
    cross join lateral plpgsql_check_function_tb(p.oid, other_warnings => true,
        extra_warnings => true, performance_warnings => true) c
    where p.pronamespace = 'jobkit'::regnamespace and l.lanname = 'plpgsql'
        and p.prorettype <> 'trigger'::regtype
        and c.message not like 'target type is different type than source type'
        and c.message not like 'routine is marked as VOLATILE, should be %'";

#[tokio::test]
async fn the_functions_have_no_errors_and_nothing_that_is_not_used() {
    let lab = Lab::new().await;
    if lab.count("pg_available_extensions where name = 'plpgsql_check'").await == 0 {
        let what = "SKIPPED, plpgsql_check: apt-get install postgresql-15-plpgsql-check";
        writeln!(std::io::stderr(), "{what}").unwrap();
        return;
    }
    lab.run("create extension plpgsql_check").await;
    let checked = "pg_proc p join pg_language l on l.oid = p.prolang
        where p.pronamespace = 'jobkit'::regnamespace and l.lanname = 'plpgsql'";
    assert!(lab.count(checked).await > 100);
    assert_eq!(lab.value::<Option<String>>(WHAT).await, None);
}
