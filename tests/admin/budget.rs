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
        for page in &pages {
            // A dashboard of its own: what another page has just read would be at hand.
            let admin = Admin::new(watch.pool());
            let app = dashboard_of(admin, Permissions::admin()).into_router();
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
