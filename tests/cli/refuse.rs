//! What cannot be done, and how that is said.

use std::io::Write;
use std::time::{Duration, Instant};

use jobkit_tests::{Lab, Roles};
use private_postgres::Cluster;
use sqlx::{Connection, PgConnection};

use crate::shell::{NAMES, at, filled, run, text};

#[tokio::test]
async fn what_is_not_there_is_told_with_status_1() {
    let lab = Lab::new().await;
    for args in [
        &["jobs", "show", "17"][..],
        &["jobs", "explain", "-17"],
        &["jobs", "retry", "17"],
        &["jobs", "cancel", "17"],
        &["dead", "show", "17"],
        &["dead", "replay", "17"],
        &["dead", "discard", "17"],
        &["semaphores", "show", "g", "k"],
        &["workers", "show", "1f"],
        &["workers", "stop", "1f"],
        &["operations", "show", "17"],
        &["operations", "cancel", "17"],
    ] {
        let said = run(&lab, args).await.bad(1);
        assert!(said.starts_with("jobkit: ") && said.contains("no "), "{args:?}: {said}");
    }
}

/// Makes a certificate without extensions, which is of version 1, where the server keeps its own.
const OLD_CERTIFICATE: &str = "copy (select 1) to program $$
    openssl req -new -newkey rsa:2048 -nodes -subj /CN=localhost -keyout server.key \
        -out server.csr &&
    openssl x509 -req -in server.csr -signkey server.key -out server.crt &&
    chmod 600 server.key && openssl x509 -in server.crt -noout -text | grep -q 'Version: 1 '
$$";

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_version_1_is_said_to_be_one() {
    let cluster = tokio::task::spawn_blocking(|| Cluster::throwaway(&[]).unwrap()).await.unwrap();
    let mut server = PgConnection::connect(&cluster.url()).await.unwrap();
    if let Err(error) = sqlx::raw_sql(OLD_CERTIFICATE).execute(&mut server).await {
        writeln!(std::io::stderr(), "SKIPPED, openssl makes no such certificate: {error}").unwrap();
        return;
    }
    for set in ["alter system set ssl = on", "select pg_reload_conf()"] {
        sqlx::raw_sql(set).execute(&mut server).await.unwrap();
    }
    let address = cluster.url().split('?').next().unwrap().to_owned();
    let mut said = String::new();
    let patience = Instant::now();
    // The server reads its settings when it comes to it.
    while !said.contains("X.509 version 1") {
        assert!(patience.elapsed() < Duration::from_secs(30), "{said}");
        said = at(&format!("{address}?sslmode=require"), &["status"]).await.bad(1);
    }
    assert!(said.contains("sslmode=disable") && !said.contains("check that it runs"), "{said}");
}

#[tokio::test]
async fn a_wrong_command_line_ends_with_status_2() {
    let lab = Lab::new().await;
    for (args, what) in [
        (&["jobs", "list", "knid:mail"][..], "there is no qualifier `knid`"),
        (&["jobs", "list", "--after", "live:x"], "not a place in a list"),
        (&["jobs", "list", "--limit", "501"], "501"),
        (&["jobs", "show", "x"], "invalid value"),
        (&["workers", "stop", "host"], "hexadecimal"),
        (&["dead", "list", "--after", "yesterday"], "not a position in a list"),
        (&["dead", "list", "--failed-before", "yesterday"], "invalid value"),
        (&["dead", "purge", "--yes"], "--older-than"),
        (&["dead", "purge", "--older-than", "long"], "write 90s"),
        (&["dead", "replay", "1", "--args", "{"], "invalid value"),
        (&["dead", "replay", "1", "--attempts", "1001"], "1 to 1000"),
        (&["juggle"], "unrecognized subcommand"),
    ] {
        let said = run(&lab, args).await.bad(2);
        assert!(said.contains(what), "{args:?}: {said}");
    }
}

/// Whether the server has it or not: what it must not be is the program that lacks it.
#[tokio::test]
async fn the_command_line_asks_for_tls() {
    let lab = Lab::new().await;
    let address = lab.url().split('?').next().unwrap();
    let run = at(&format!("{address}?sslmode=require"), &["status"]).await;
    let refused = run.err.contains("server does not support TLS");
    assert!(run.code == 0 || refused, "{}", run.err);
}

#[tokio::test]
async fn a_database_that_is_none_is_told_without_its_password() {
    for (url, code, what) in [
        ("", 2, "DATABASE_URL"),
        ("mysql://u:geheim@127.0.0.1/d", 2, "postgres://"),
        ("postgres://u:geheim@127.0.0.1:x/d", 2, "port"),
        ("postgres://u:geheim@127.0.0.1:1/d", 1, "cannot reach PostgreSQL"),
    ] {
        let said = at(url, &["status"]).await.bad(code);
        assert!(said.contains(what) && !said.contains("geheim"), "{said}");
        let help = at(url, &["help"]).await.good();
        assert!(!help.contains("geheim"), "{help}");
    }
}

#[tokio::test]
async fn the_option_goes_before_the_environment() {
    let lab = Lab::new().await;
    let args = ["queues", "list", "--database-url", lab.url()];
    assert_eq!(at("postgres://127.0.0.1:1/none", &args).await.good(), "None.\n");
}

/// The server refuses what this role of the database may not see or do.
#[tokio::test]
async fn a_viewer_of_the_database_sees_no_payload_and_changes_nothing() {
    let roles = Roles::new(filled(&NAMES).await).await;
    roles.lab.run("update jobkit.jobs set args = '{\"card\": \"4711-0815\"}'").await;
    let job = text(&roles.lab, "select min(job_id) from jobkit.scheduled").await;
    let url = roles.url("viewer");
    let shown = at(&url, &["--reveal", "jobs", "show", &job]).await.good();
    assert!(shown.contains(&job) && !shown.contains("4711-0815"), "{shown}");
    for args in [&["status"][..], &["jobs", "list"], &["queues", "list"], &["dead", "list"]] {
        let shown = at(&url, args).await.good();
        assert!(!shown.contains("4711-0815"), "{shown}");
    }
    for args in [
        &["jobs", "cancel", &job][..],
        &["limits", "pause", "--queue", "mail"],
        &["limits", "pause", "--all"],
        &["limits", "set", "--group", "mail", "--running", "1"],
        &["limits", "set", "--group", "mail", "--key", "mail", "--rate", "5/s"],
        &["limits", "pause", "--group", "mail", "--key", "mail", "--for", "1min"],
        &["limits", "resume", "--group", "mail", "--key", "mail"],
        &["enqueue", "mail", "--key", "k"],
    ] {
        let refused = at(&url, args).await.bad(1);
        for words in ["the database role lacks the privilege for this", "permission denied"] {
            assert!(refused.contains(words), "{args:?}: {refused}");
        }
    }
    let done = "jobkit.audit where actor = 'ada'";
    assert_eq!(roles.lab.count(done).await, 0);
    roles.end().await;
}
