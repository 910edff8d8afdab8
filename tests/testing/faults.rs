//! Workers whose connections fail on purpose.

use std::sync::Arc;
use std::time::Duration;

use jobkit::testing::{SettleFault, drop_listeners, lose_lease};
use jobkit::{Enqueue, Job, JobContext, JobError, Registration, StopReason, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use crate::jobs::{self, *};

/// Waits to be stopped, and notes why.
#[derive(Serialize, Deserialize)]
#[job(kind = "testing_wait")]
struct Wait;

type Reasons = Arc<Mutex<Vec<StopReason>>>;

impl Job<Reasons> for Wait {
    async fn run(self, cx: JobContext<Reasons>) -> jobkit::Result {
        if !cx.state().lock().await.is_empty() {
            return Ok(());
        }
        let reason = cx.cancelled().await;
        cx.state().lock().await.push(reason);
        Err(JobError::release())
    }
}

async fn worker(lab: &Lab) -> WorkerHandle {
    let worker = lab.worker().jobs(jobs::all()).queue("default", 4).queue("acts", 4);
    worker.start().await.unwrap()
}

#[tokio::test]
async fn an_outcome_that_was_not_sent_is_sent_again() {
    let lab = Lab::guarded().await;
    let worker = worker(&lab).await;
    worker.fail_next_settle(SettleFault::Unsent);
    Act { then: Then::Finish }.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.finished where outcome = 'finish')").await;
    lab.until("not exists (select from jobkit.claims)").await;
    let counts = jobkit_tests::counted(&worker, 1).await;
    assert_eq!((counts.finished, counts.lost), (1, 0));
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn an_outcome_whose_answer_was_lost_counts_once() {
    let lab = Lab::guarded().await;
    let worker = worker(&lab).await;
    worker.fail_next_settle(SettleFault::Unanswered);
    Act { then: Then::Finish }.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.finished)").await;
    let told = || async { worker.counts().lost == 1 };
    jobkit_tests::wait(Duration::from_secs(30), "the worker hears that it is lost", told).await;
    assert_eq!((worker.counts().finished, lab.count("jobkit.finished").await), (0, 1));
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_worker_that_loses_its_lease_stops_its_handlers_and_begins_anew() {
    let lab = Lab::guarded().await;
    let reasons = Reasons::default();
    let waits = [Registration::of::<Wait, _>()];
    let worker = lab.worker().jobs(waits).state(Arc::clone(&reasons)).queue("default", 1);
    let worker = worker.lease(Duration::from_secs(2)).start().await.unwrap();
    Wait.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.claims)").await;
    let id = worker.id();
    assert!(lose_lease(lab.pool(), id).await.unwrap());
    assert!(!lose_lease(lab.pool(), id).await.unwrap(), "it is gone");
    lab.until("exists (select from jobkit.finished)").await;
    assert_ne!(worker.id(), id);
    assert_eq!(*reasons.lock().await, [StopReason::LeaseLost]);
    worker.stop().await;
}

#[tokio::test]
async fn a_worker_without_its_listener_finds_jobs_and_listens_again() {
    let lab = Lab::new().await;
    let listens = "exists (select from pg_stat_activity
        where datname = current_database() and application_name = 'jobkit listen')";
    let worker = worker(&lab).await;
    lab.until(listens).await;
    assert_eq!(drop_listeners(lab.direct()).await.unwrap(), 1);
    Act { then: Then::Finish }.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.finished)").await;
    lab.until(listens).await;
    worker.stop().await;
}
