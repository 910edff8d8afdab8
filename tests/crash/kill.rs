//! A killed worker's jobs run again within seconds, and the death counts as an attempt.

use std::time::Duration;

use crate::jobs::Act;
use crate::process::Process;
use crate::program::Program;
use crate::stage::{all_done, clock, enqueue, lab, light_turn, traces};

#[tokio::test]
async fn the_jobs_of_a_killed_worker_run_again_within_a_lease_and_a_reap() {
    let seconds = die(Program::quick, Duration::from_secs(3)).await;
    // Two and a half, and what a busy machine adds; the default lease alone is twice as long.
    assert!(seconds <= 10.0, "took {seconds:.1} s");
}

#[tokio::test]
async fn by_default_the_jobs_of_a_killed_worker_run_again_within_30_seconds() {
    let seconds = die(Program::with_defaults, Duration::from_secs(1)).await;
    assert!(seconds <= 30.0, "took {seconds:.1} s");
}

/// Kills a worker with 50 running jobs beside another that has been up for `head_start`; returns
/// how long it took until the last of them began again.
async fn die(program: fn(&str) -> Program, head_start: Duration) -> f64 {
    let _turn = light_turn().await;
    let lab = lab().await;
    let program = Program { concurrency: 50, ..program(lab.url()) };
    let mut first = Process::start(&program).await;
    enqueue(&lab, 50, Act::HangOnce).await;
    traces(&lab, 50, "what = 'begin'").await;
    let mut second = Process::start(&program).await;
    tokio::time::sleep(head_start).await;
    let killed_at = clock(&lab).await;
    first.kill();
    traces(&lab, 50, "what = 'begin' and attempt = 2").await;
    all_done(&lab).await;

    let crashed = "jobkit.finished where outcome = 'finish' and attempt = 2
        and jsonb_array_length(errors) = 1 and errors->0->>'outcome' = 'crash'";
    assert_eq!(lab.count(crashed).await, 50);
    assert_eq!(lab.count("effects where what = 'begin'").await, 100);
    assert_eq!(lab.count("effects where what = 'end' and attempt = 2").await, 50);
    second.counted("it has reaped", |counts| counts.reaped == 50).await;
    second.stop().await;
    lab.check_invariants().await;
    assert_eq!(lab.count("jobkit.workers").await, 0);
    let last = "select extract(epoch from max(at))::float8 from effects where what = 'begin'";
    let seconds = lab.value::<f64>(last).await - killed_at;
    println!("the last of 50 jobs began again {seconds:.2} s after the kill");
    seconds
}
