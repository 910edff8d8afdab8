//! Commits that wait for a synchronous standby.

use jobkit_tests::Lab;
use private_postgres::Cluster;

use crate::shell::{json, run};

/// While nothing is committed whoever looks is told why: a look commits nothing.
#[tokio::test]
async fn a_standby_that_nobody_hears_of_is_named_while_commits_wait_for_it() {
    let cluster = tokio::task::spawn_blocking(|| Cluster::throwaway(&[]).unwrap());
    let cluster = cluster.await.unwrap();
    let lab = Lab::at(cluster.url()).await;
    jobkit::migrate(lab.pool()).await.unwrap();
    let status = json(&lab, &["status"]).await;
    assert_eq!(status["attention"].as_array().unwrap().len(), 0, "{status}");
    lab.run("alter system set synchronous_standby_names = 'nobody'").await;
    lab.run("select pg_reload_conf()").await;
    lab.until("current_setting('synchronous_standby_names') = 'nobody'").await;
    let mut session = lab.session("an operator").await;
    let pid = session.pid;
    let pause =
        tokio::spawn(
            async move { session.run("select jobkit.pause_limit('queue', 'mail')").await },
        );
    let waits = format!(
        "exists (select from pg_stat_activity where pid = {pid} and wait_event = 'SyncRep'
            and query_start < clock_timestamp() - interval '5 s')"
    );
    lab.until(&waits).await;
    let status = json(&lab, &["status"]).await;
    let item = &status["attention"][0];
    assert_eq!((&item["what"], &item["severity"]), (&"standby_awaited".into(), &"critical".into()));
    let found = item["found"].as_str().unwrap();
    assert!(found.starts_with("1 session waits for a synchronous standby"), "{found}");
    assert!(found.contains("(synchronous_standby_names: nobody)"), "{found}");
    let doctor = run(&lab, &["doctor"]).await.out;
    assert!(doctor.contains("CRITICAL attention: 1 session waits"), "{doctor}");
    // What is committed holds its locks meanwhile.
    let other = run(&lab, &["limits", "pause", "--queue", "other"]).await;
    assert!(other.err.contains("lock timeout"), "{other:?}");
    assert!(other.err.contains("waits for a synchronous standby"), "{other:?}");
    lab.value::<bool>(&format!("select pg_cancel_backend({pid})")).await;
    assert!(pause.await.unwrap().is_ok());
    let status = json(&lab, &["status"]).await;
    assert_eq!(status["attention"].as_array().unwrap().len(), 0, "{status}");
}
