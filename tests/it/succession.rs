//! A worker whose settle frees a permit runs the next job of the key without claiming it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jobkit::{Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

/// Runs when the gate lets it, and counts how many run at a time.
#[derive(Serialize, Deserialize)]
#[job(concurrency_key = "k", concurrency_limit = 1, retention = "1h")]
struct Gated;

#[derive(Clone)]
struct Gate {
    tickets: Arc<Semaphore>,
    running: Arc<AtomicUsize>,
}

impl Gate {
    fn new(tickets: usize) -> Self {
        Self { tickets: Arc::new(Semaphore::new(tickets)), running: Arc::default() }
    }
}

impl Job<Gate> for Gated {
    async fn run(self, cx: JobContext<Gate>) -> jobkit::Result {
        let gate = cx.state();
        if gate.running.fetch_add(1, Ordering::SeqCst) > 0 {
            return Err(jobkit::JobError::dead("two at a time"));
        }
        let ticket = gate.tickets.acquire().await;
        gate.running.fetch_sub(1, Ordering::SeqCst);
        ticket?.forget();
        Ok(())
    }
}

/// A blocked backlog of one key, with its first job running and waiting for the gate.
async fn backlog(lab: &Lab, gate: &Gate, jobs: usize) -> jobkit::WorkerHandle {
    let worker = lab.worker().state(gate.clone()).jobs([Registration::of::<Gated, _>()]);
    let worker = worker.queue("default", 10).start().await.unwrap();
    jobkit::enqueue_all((0..jobs).map(|_| Gated), lab.pool()).await.unwrap();
    let blocked = format!("(select count(*) from jobkit.blocked_executions) = {}", jobs - 1);
    lab.until(&blocked).await;
    let begun = || async { gate.running.load(Ordering::SeqCst) > 0 };
    jobkit_tests::wait(Duration::from_secs(30), "the first job runs", begun).await;
    worker
}

#[tokio::test(flavor = "multi_thread")]
async fn each_next_job_of_a_key_comes_with_the_settle_of_the_one_before() {
    let lab = Lab::guarded().await;
    let gate = Gate::new(0);
    let worker = backlog(&lab, &gate, 50).await;
    gate.tickets.add_permits(50);
    lab.until("(select count(*) from jobkit.finished where outcome = 'finish') = 50").await;
    let counts = worker.counts();
    worker.stop().await;
    // Not where a claim is under way that asked for every slot there is.
    assert_eq!(counts.claimed, 50);
    assert!(counts.handed_over >= 40, "{counts:?}");
    lab.check_invariants().await;
}

/// No handler begins once the worker waits for those that run.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_leaves_the_next_job_to_others() {
    let lab = Lab::guarded().await;
    let gate = Gate::new(0);
    let worker = backlog(&lab, &gate, 5).await;
    let stop = tokio::spawn(worker.stop());
    lab.until("exists (select from jobkit.workers where stopping)").await;
    gate.tickets.add_permits(50);
    stop.await.unwrap();
    assert_eq!(lab.count("jobkit.finished where outcome = 'finish'").await, 1);
    assert_eq!(lab.count("jobkit.claims").await, 0);
    lab.check_invariants().await;
}
