use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::worker::running::StopReason::LeaseLost;
use crate::worker::slots::Served;
use crate::{Declared, Job, JobContext, Registration};

#[derive(Serialize, Deserialize)]
struct Quick {}

impl Declared for Quick {
    const POLICY: Policy = Policy::new("quick");
}

impl Job for Quick {
    async fn run(self, _cx: JobContext) -> Result {
        Ok(())
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// Worker 7, whose lease has just been renewed.
fn execution() -> (Arc<Execution>, UnboundedReceiver<Settlement>) {
    let (outcomes, settled) = unbounded_channel();
    let queue = Served { name: Arc::default(), slots: 1 };
    let execution = Execution {
        registry: Arc::new(Registry::of([Registration::of::<Quick, _>()])),
        states: Arc::default(),
        running: Arc::default(),
        slots: Arc::new(Slots::new(vec![queue])),
        ledger: Arc::new(Ledger::new(7)),
        lease: Arc::new(Lease::new(MINUTE, MINUTE / 8, Instant::now())),
        outcomes,
        cancel_grace: MINUTE,
    };
    (Arc::new(execution), settled)
}

fn quick() -> ClaimedJob {
    ClaimedJob {
        id: 1,
        queue: 0,
        lane: 7,
        kind: "quick".to_owned(),
        attempt: 1,
        max_attempts: 1,
        crashes: 0,
        snoozes: 0,
        created_at: chrono::Utc::now(),
        cancelled: false,
        keyed: false,
        payload: Box::from(*b"{}"),
        tags: Vec::new(),
        metadata: None,
        waited: Duration::ZERO,
    }
}

/// The outcome of a job, of which something came to pass between its claim and its first step.
async fn outcome_after(event: impl FnOnce(&Execution)) -> Outcome {
    let (execution, mut settled) = execution();
    execution.slots.take_within(1).pass_on(0);
    execution.begin((7, 1), false, quick(), None);
    event(&execution);
    settled.recv().await.unwrap().outcome
}

#[tokio::test]
async fn a_job_runs_while_its_claim_is_held() {
    assert_eq!(outcome_after(|_| {}).await, Outcome::Finish);
}

#[tokio::test]
async fn a_job_does_not_begin_without_a_lease() {
    let frozen = |execution: &Execution| {
        let before = Instant::now().checked_sub(MINUTE).unwrap();
        execution.lease.renew(before, false);
    };
    assert_eq!(outcome_after(frozen).await, Outcome::Release);
}

/// The heart was faster: it has stopped all handlers there were, and has a lease again.
#[tokio::test]
async fn a_job_claimed_before_its_worker_was_reaped_does_not_begin() {
    let (execution, mut settled) = execution();
    execution.running.abort_all(LeaseLost);
    execution.ledger.begin_anew(8);
    execution.lease.renew(Instant::now(), true);
    execution.slots.take_within(1).pass_on(0);
    execution.begin((7, 1), false, quick(), None);
    assert_eq!(settled.recv().await.unwrap().outcome, Outcome::Release);
}
