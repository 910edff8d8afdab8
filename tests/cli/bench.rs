//! What a database can do, and that nothing is left of the measurement.

use std::process::Stdio;
use std::time::Duration;

use jobkit_tests::Lab;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::shell::{command, json, run};

const JOBS: &str = "jobkit.jobs";

#[tokio::test]
async fn it_tells_what_the_database_can_do_and_leaves_nothing() {
    let lab = Lab::new().await;
    let said = json(&lab, &["bench", "--jobs", "300", "--for", "1s", "--workers", "2"]).await;
    for what in ["enqueue", "bulk", "drain"] {
        assert!(said[what]["per_second"].as_f64().unwrap() > 0.0, "{said}");
    }
    for what in ["enqueue", "latency"] {
        let (p50, p99) = (&said[what]["took"]["p50_ms"], &said[what]["took"]["p99_ms"]);
        assert!(p50.as_f64().unwrap() > 0.0 && p99.as_f64() >= p50.as_f64(), "{said}");
    }
    let single = said["enqueue"]["jobs"].as_u64().unwrap();
    assert_eq!(said["drain"]["jobs"], single + 300);
    assert_eq!(said["settings"]["workers"], "2");
    assert_eq!(said["settings"]["fsync"], lab.value::<String>("show fsync").await);
    for table in [JOBS, "jobkit.ready", "jobkit.finished", "jobkit.claims", "jobkit.workers"] {
        assert_eq!(lab.count(table).await, 0, "{table}");
    }
}

#[tokio::test]
async fn people_see_the_same() {
    let lab = Lab::new().await;
    let run = run(&lab, &["bench", "--jobs", "10", "--for", "200ms"]).await;
    assert!(run.err.contains("enqueueing 10 in bulk"), "{run:?}");
    let said = run.good();
    for what in ["server_version", "synchronous_commit", "shared_buffers", "p99", "drain"] {
        assert!(said.contains(what), "{what}: {said}");
    }
}

/// Enqueues one in the queue that is measured with.
async fn enqueue(lab: &Lab, kind: &str) {
    let sql = format!(
        "select jobkit.enqueue_all(jobkit.new_jobs(array['{kind}'], array['jobkit_bench'],
            array[0::smallint], array[1::smallint],
            array[$json${{\"email\": \"\", \"template\": \"\"}}$json$]))"
    );
    lab.run(&sql).await;
}

#[tokio::test]
async fn it_does_not_begin_where_jobs_are_and_cleans_up_when_told() {
    let lab = Lab::new().await;
    enqueue(&lab, "jobkit_bench").await;
    let said = run(&lab, &["bench"]).await.bad(1);
    assert!(said.contains("has jobs") && said.contains("--clean-up"), "{said}");
    assert_eq!(lab.count(JOBS).await, 1);
    assert_eq!(run(&lab, &["bench", "--clean-up"]).await.good(), "Nothing is left.\n");
    assert_eq!(lab.count(JOBS).await, 0);
}

#[tokio::test]
async fn an_interrupted_measurement_cleans_up() {
    let lab = Lab::new().await;
    let mut command = command(lab.url(), &["bench", "--for", "50s", "--jobs", "1000000"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.next_line().await.unwrap().unwrap().contains("one by one"));
    lab.until("count(*) > 5 from jobkit.jobs").await;
    let pid = child.id().unwrap().to_string();
    Command::new("kill").args(["-INT", &pid]).status().await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(40), child.wait()).await;
    assert_eq!(ended.expect("it ends").unwrap().code(), Some(1));
    let mut said = String::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        said.push_str(&line);
    }
    assert!(said.contains("interrupted and cleaned up"), "{said}");
    assert_eq!(lab.count(JOBS).await, 0);
}
