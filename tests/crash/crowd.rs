//! Many workers take disjoint jobs.

use std::time::{Duration, Instant};

use crate::jobs::Act;
use crate::process::Process;
use crate::program::Program;
use crate::stage::{self, PATIENCE, all_done, crashable, enqueue, heavy_turn};

const JOBS: usize = 100_000;

#[tokio::test]
async fn sixty_four_workers_run_each_of_100_000_jobs_once() {
    let _turn = heavy_turn().await;
    let (_cluster, lab) = crashable(&[("max_connections", "600")]).await;
    let program = Program {
        workers: 16,
        concurrency: 20,
        listen: false,
        // What matters here is who runs what, not how soon a death is noticed.
        ..Program::with_defaults(lab.url())
    };
    let mut processes: Vec<Process> = (0..4).map(|_| Process::launch(&program)).collect();
    lab.until_within(PATIENCE, "count(*) = 64 from jobkit.workers").await;
    let began = Instant::now();
    enqueue(&lab, JOBS, Act::Tally).await;
    let enqueued = began.elapsed().as_secs_f64();
    while lab.count("jobkit.jobs").await > 0 {
        assert!(began.elapsed() < 2 * PATIENCE, "jobs are left");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let connections = lab.count("pg_stat_activity where application_name like 'jobkit %'").await;
    let took = began.elapsed().as_secs_f64();
    println!("{connections} connections; enqueued in {enqueued:.1} s, all done in {took:.1} s");
    let mut shares = Vec::new();
    for process in &mut processes {
        let counts = process.counts().await;
        assert_eq!((counts.lost, counts.reaped, counts.unanswered), (0, 0, 0));
        assert_eq!(counts.workers.len(), 16);
        shares.push(counts.claimed);
    }
    println!("shares of the processes: {shares:?}");
    for process in processes {
        process.stop().await;
    }
    let (runs, jobs): (i64, i64) =
        sqlx::query_as("select count(*), count(distinct job_id) from tally")
            .fetch_one(lab.pool())
            .await
            .unwrap();
    assert_eq!((runs, jobs), (JOBS as i64, JOBS as i64), "each job ran once");
    let once = "jobkit.finished where outcome = 'finish' and attempt = 1";
    assert_eq!(lab.count(once).await, JOBS as i64);
    lab.check_invariants().await;
}

/// Thirty small services, and a server as it is by default.
#[tokio::test]
async fn thirty_small_workers_do_with_a_hundred_connections() {
    let _turn = heavy_turn().await;
    let (_cluster, lab) =
        crashable(&[("max_connections", "100"), ("logging_collector", "on")]).await;
    // What handlers write goes elsewhere: how many connections that takes is up to them.
    let elsewhere = stage::lab().await;
    let program = Program {
        concurrency: 20,
        effects_url: elsewhere.url().to_owned(),
        ..Program::with_defaults(lab.url())
    };
    let mut processes: Vec<Process> = (0..30).map(|_| Process::launch(&program)).collect();
    lab.until_within(PATIENCE, "count(*) = 30 from jobkit.workers").await;
    let sessions = "count(*) from pg_stat_activity where application_name like 'jobkit %'";
    lab.until(&sessions.replace("count(*)", "count(*) = 90")).await;
    enqueue(&lab, 20_000, Act::Tally).await;
    // Asked at least once: the last jobs may be done before we look.
    let mut most = lab.value::<i64>(&format!("select {sessions}")).await;
    while lab.count("jobkit.jobs").await > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        most = most.max(lab.value::<i64>(&format!("select {sessions}")).await);
    }
    assert_eq!(most, 90);
    all_done(&lab).await;
    for process in &mut processes {
        let counts = process.counts().await;
        assert!(counts.finished > 0, "each has its share");
        assert_eq!((counts.lost, counts.reaped, counts.unanswered), (0, 0, 0));
    }
    for process in processes {
        process.stop().await;
    }
    assert_eq!(elsewhere.count("tally").await, 20_000);
    let refused = "select pg_read_file(pg_current_logfile()) ~ 'too many clients|connection slots'";
    assert!(!lab.value::<bool>(refused).await, "a connection was refused");
    lab.check_invariants().await;
}
