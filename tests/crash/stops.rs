//! Worker processes are stopped as containers are, under load: SIGTERM, and SIGKILL after ten
//! seconds.
//!
//! `JOBKIT_STOPS` says how many, about two a second.

use std::time::{Duration, Instant};

use fastrand::Rng;
use jobkit_tests::{Lab, Network, Proxy};

use crate::jobs::Act;
use crate::outage::nobody_is_charged;
use crate::permits::enqueue_keyed;
use crate::process::Process;
use crate::program::Program;
use crate::stage::{PATIENCE, all_done, enqueue, heavy_turn, lab, light_turn, traces};

const STOPS: usize = 6;
/// What a container has.
const LIMIT: Duration = Duration::from_secs(10);

fn contained(url: &str) -> Program {
    Program { stop_within: Some(LIMIT), concurrency: 50, ..Program::with_defaults(url) }
}

#[tokio::test]
async fn a_container_that_is_stopped_under_load_charges_nobody() {
    let _turn = heavy_turn().await;
    let stops = std::env::var("JOBKIT_STOPS").ok().and_then(|n| n.parse().ok()).unwrap_or(STOPS);
    let lab = lab().await;
    let program = contained(lab.url());
    let mut processes = Vec::new();
    for _ in 0..3 {
        processes.push(Process::start(&program).await);
    }
    let (mut rng, mut jobs, mut took) = (Rng::new(), 0, Vec::new());
    for n in 0..stops {
        jobs += load(&lab, &mut rng).await;
        tokio::time::sleep(Duration::from_millis(rng.u64(100..400))).await;
        let successor = Process::start(&program).await;
        let mut old = std::mem::replace(&mut processes[n % 3], successor);
        took.push(contain(&mut old).await);
        assert_eq!(lab.count("jobkit.jobs where attempt > 0 or crashes > 0").await, 0);
    }
    all_done(&lab).await;
    nobody_is_charged(&lab).await;
    assert_eq!(lab.count("jobkit.finished").await, jobs);
    let released = lab.count("effects where what = 'begin'").await - jobs;
    took.sort();
    println!(
        "{stops} stops: {jobs} jobs, {released} runs given back, nobody charged; a stop took {:?}, \
         the longest {:?}",
        took[took.len() / 2],
        took[took.len() - 1]
    );
    assert!(released > 0, "no job was running");
    for process in &mut processes {
        contain(process).await;
    }
    lab.check_invariants().await;
    assert_eq!(lab.count("jobkit.workers").await, 0);
}

/// Enqueues jobs that take a moment, that cannot be hurried, that are long and heed a stop, and
/// that have a key; returns how many.
async fn load(lab: &Lab, rng: &mut Rng) -> i64 {
    let mut jobs = 0;
    for (count, act) in [
        (60, Act::Sleep(Duration::from_millis(rng.u64(1..50)))),
        (4, Act::Sleep(Duration::from_millis(rng.u64(500..1500)))),
        (30, Act::Heed(Duration::from_millis(rng.u64(500..2000)))),
    ] {
        jobs += enqueue(lab, count, act).await.len();
    }
    let act = Act::Heed(Duration::from_millis(rng.u64(10..200)));
    jobs += enqueue_keyed(lab, 2, 0..8, act).await.len();
    i64::try_from(jobs).unwrap()
}

/// Stops a process; fails if it had to be killed. Returns how long it took.
async fn contain(process: &mut Process) -> Duration {
    let told = Instant::now();
    process.terminate();
    let ended = tokio::time::timeout(LIMIT, process.ended()).await;
    assert_eq!(ended, Ok(true), "killed after {LIMIT:?}, or it failed");
    told.elapsed()
}

/// Handlers that heed nothing are dropped, and their jobs given back.
#[tokio::test]
async fn a_second_signal_ends_handlers_at_once_and_charges_nobody() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let mut process = Process::start(&contained(lab.url())).await;
    enqueue(&lab, 5, Act::HangOnce).await;
    traces(&lab, 5, "what = 'begin'").await;
    process.terminate();
    lab.until("stopping from jobkit.workers").await;
    assert!(!process.is_dead(), "handlers have their grace");
    let again = Instant::now();
    process.terminate();
    assert!(process.ended().await);
    assert!(again.elapsed() < Duration::from_secs(5), "it took {:?}", again.elapsed());
    let given_back = "jobkit.ready r join jobkit.jobs j on j.id = r.job_id where attempt = 0";
    assert_eq!(lab.count(given_back).await, 5);
    assert_eq!(lab.count("jobkit.workers").await, 0);
    lab.check_invariants().await;
}

/// T296: blocking work that heeds nothing. The process ends in time, which ends the work; only then
/// may the job begin elsewhere, and it takes the lease to know.
#[tokio::test]
async fn t296_blocking_work_ends_with_its_process_before_its_job_begins_elsewhere() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let limit = Duration::from_secs(3);
    let program = Program { stop_within: Some(limit), ..Program::quick(lab.url()) };
    let mut first = Process::start(&program).await;
    let act = Act::BlockApart(Duration::from_secs(60));
    enqueue_keyed(&lab, 1, [7], act).await;
    traces(&lab, 1, "what = 'begin'").await;
    let mut second = Process::start(&program).await;
    let told = Instant::now();
    first.terminate();
    assert!(first.ended().await);
    let took = told.elapsed();
    assert_eq!(lab.count("effects where what = 'begin'").await, 1, "it began beside itself");
    assert!(took < 2 * limit, "the process took {took:?}");
    println!("a process with blocking work ended after {took:?} of {limit:?}");
    all_done(&lab).await;
    assert_eq!(lab.count("jobkit.finished where attempt = 2").await, 1, "its end was a crash");
    contain(&mut second).await;
    lab.check_invariants().await;
}

/// T297: a signal is heard although a handler blocks the only thread of the runtime, and so is what
/// it asks for. The log says of that handler what it does.
#[tokio::test]
async fn t297_a_signal_reaches_a_handler_that_blocks_the_only_thread() {
    let _turn = light_turn().await;
    let lab = lab().await;
    let log = std::env::temp_dir().join(format!("jobkit-log-{:016x}", fastrand::u64(..)));
    let program = Program { threads: 0, log: Some(log.clone()), ..contained(lab.url()) };
    let mut process = Process::start(&program).await;
    enqueue(&lab, 1, Act::BlockUntilTold).await;
    let logged = |text: &str| std::fs::read_to_string(&log).unwrap().contains(text);
    let holds = || async { logged("job.kind=\"deed\" held=") };
    jobkit_tests::wait(PATIENCE, "the log names who holds the thread", holds).await;
    contain(&mut process).await;
    assert!(logged("a signal: the worker stops"));
    std::fs::remove_file(&log).unwrap();
    let given_back = "jobkit.ready r join jobkit.jobs j on j.id = r.job_id where attempt = 0";
    assert_eq!(lab.count(given_back).await, 1);
    assert_eq!(lab.count("jobkit.workers").await, 0);
    lab.check_invariants().await;
}

/// Nothing can be written, and no handler ends: the process does, while nobody has killed it yet.
#[tokio::test]
async fn a_stop_keeps_to_its_limit_without_a_database() {
    let _turn = light_turn().await;
    let limit = Duration::from_secs(6);
    let mut tries = Vec::new();
    // A thirtieth of the limit is left at the end: a busy machine may be late by more, but not
    // each time.
    while tries.iter().all(|took| *took >= limit) {
        assert!(tries.len() < 3, "it took {tries:?}");
        tries.push(stop_without_a_database(limit).await);
    }
    println!("stopped without a database after {tries:?} of {limit:?}");
}

/// How long it takes.
async fn stop_without_a_database(limit: Duration) -> Duration {
    let lab = lab().await;
    let proxy = Proxy::new(lab.url()).await.unwrap();
    let program = Program {
        url: proxy.url().to_owned(),
        stop_within: Some(limit),
        few_connections: Some(false),
        ..Program::with_defaults(lab.url())
    };
    let mut process = Process::start(&program).await;
    enqueue(&lab, 5, Act::HangOnce).await;
    traces(&lab, 5, "what = 'begin'").await;
    // A claim is under way as well.
    let held = proxy.ambush("jobkit claim").await;
    proxy.set(Network::Stalls);
    let told = Instant::now();
    process.terminate();
    assert!(process.ended().await);
    let took = told.elapsed();
    held.release();
    took
}
