//! What a page costs the database, whatever is in it.

use jobkit::Admin;
use jobkit_admin::Permissions;
use jobkit_tests::{Crowd, Lab, Watch};

use crate::site::{dashboard_of, get};

/// A crowd small enough to be made for a test, and too large to be looked at one by one.
const CROWD: Crowd = Crowd { finished: 20_000, ready: 2_000, blocked: 1_000, dead: 500 };

/// Tables that grow with the queue.
const LARGE: [&str; 8] = [
    "jobs",
    "ready",
    "scheduled",
    "blocked_executions",
    "attempts",
    "dead_letters",
    "measures",
    "audit",
];

#[tokio::test]
async fn no_page_runs_more_statements_than_it_may_nor_reads_a_large_table_whole() {
    let lab = Lab::new().await;
    CROWD.fill(lab.pool()).await.unwrap();
    lab.check_invariants().await;
    let pages = Crowd::pages(lab.pool()).await.unwrap();
    let mut breaches = Vec::new();
    for nested in [false, true] {
        let watch = Watch::new(lab.url(), nested).await.unwrap();
        // Once for each connection it looks whether it fits the schema: that is no page's cost.
        let admin = Admin::new(watch.pool());
        let warm = dashboard_of(admin.clone(), Permissions::admin()).into_router();
        get(&warm, &pages[0].path).await;
        for page in &pages {
            // A dashboard of its own: what another page has just read would be at hand.
            let app = dashboard_of(admin.clone(), Permissions::admin()).into_router();
            watch.take();
            let reply = get(&app, &page.path).await;
            assert_eq!(reply.status, 200, "{}: {}", page.path, reply.body);
            let mut seen = watch.take();
            assert!(seen.statements > 0, "nothing is heard of {}", page.path);
            if !nested && seen.statements > page.statements {
                let (path, most) = (&page.path, page.statements);
                breaches.push(format!("{path}: {} statements of {most}", seen.statements));
            }
            if !nested && page.path.contains('=') {
                // What is prepared might have a plan for any filter, after five calls.
                for _ in 0..6 {
                    get(&app, &page.path).await;
                }
                seen.scanned.append(&mut watch.take().scanned);
            }
            let large = |table: &str| LARGE.contains(&table) || table.starts_with("finished_2");
            let scanned = seen.scanned.iter().filter(|(table, _)| large(table));
            // The doctor reads all there is as long as that is little.
            let scanned = scanned.filter(|(_, sql)| !sql.contains("from jobkit.violations v"));
            breaches.extend(scanned.map(|(table, sql)| format!("{}: {table}: {sql}", page.path)));
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

/// How often each page is asked for; its best visit counts.
const VISITS: usize = 5;

/// How many milliseconds of the database's time a page may take, where five tests run on each core.
const MOST: f64 = 1000.0;

/// What the server counted of the last visit: blocks, and milliseconds if every statement took as
/// long as it did at its best.
const COUNTED: &str = "
    select coalesce(sum(s.shared_blks_hit + s.shared_blks_read), 0)::bigint,
        coalesce(sum(s.min_exec_time * s.calls), 0)
    from pg_stat_statements s join pg_database d on d.oid = s.dbid
    where d.datname = current_database() and s.query not like '%pg_stat_statements%'";

#[tokio::test]
async fn no_page_takes_more_of_the_database_than_it_may() {
    let lab = Lab::new().await;
    let counts = "select current_setting('shared_preload_libraries') like '%pg_stat_statements%'";
    if !lab.value::<bool>(counts).await {
        eprintln!("SKIPPED: this server does not count statements (pg_stat_statements)");
        return;
    }
    lab.run("create extension pg_stat_statements").await;
    CROWD.fill(lab.pool()).await.unwrap();
    let admin = Admin::new(lab.pool());
    let forget = "select pg_stat_statements_reset(0, d.oid, 0) from pg_database d
        where d.datname = current_database()";
    let mut breaches = Vec::new();
    for page in Crowd::pages(lab.pool()).await.unwrap() {
        let (mut blocks, mut time) = (i64::MAX, f64::MAX);
        for _ in 0..VISITS {
            lab.run(forget).await;
            // Another dashboard each time: what one has just read it has at hand.
            let app = dashboard_of(admin.clone(), Permissions::admin()).into_router();
            assert_eq!(get(&app, &page.path).await.status, 200, "{}", page.path);
            let counted = sqlx::query_as(COUNTED).fetch_one(lab.pool()).await;
            let (read, took): (i64, f64) = counted.unwrap();
            // Sessions forget what they know of the schema now and then, or are new, and read it
            // again: 730 blocks.
            // Beside many tests the server forgets what it has counted before it is asked.
            if read > 0 {
                (blocks, time) = (blocks.min(read), time.min(took));
            }
        }
        assert!(blocks < i64::MAX, "nothing was counted of {}", page.path);
        if blocks > page.blocks || time > MOST {
            let (path, most) = (page.path, page.blocks);
            breaches.push(format!("{path}: {blocks} blocks of {most}, {time:.1} ms of {MOST}"));
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}
