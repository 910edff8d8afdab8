use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::StopReason::{Cancelled, LeaseLost, Stopping};
use crate::context::Facts;
use crate::worker::shared::slots::Served;
use crate::{Job, JobContext, JobError, JobType, Registration, Result};

#[derive(Serialize, Deserialize)]
struct Quick {}

impl JobType for Quick {
    type Output = ();
    const POLICY: Policy = Policy::new("quick");
}

impl Job for Quick {
    async fn run(self, _cx: JobContext) -> Result {
        Ok(())
    }
}

/// Fails once it is asked to stop.
#[derive(Serialize, Deserialize)]
struct Interrupted {}

impl JobType for Interrupted {
    type Output = ();
    const POLICY: Policy = Policy::new("interrupted");
}

impl Job for Interrupted {
    async fn run(self, cx: JobContext) -> Result {
        cx.cancelled().await;
        Err(JobError::from("interrupted"))
    }
}

/// Gives itself back, unasked.
#[derive(Serialize, Deserialize)]
struct Rash {}

impl JobType for Rash {
    type Output = ();
    const POLICY: Policy = Policy::new("rash");
}

impl Job for Rash {
    async fn run(self, _cx: JobContext) -> Result {
        Err(JobError::release())
    }
}

/// Gives itself back once it is told to stop.
#[derive(Serialize, Deserialize)]
struct Heeding {}

impl JobType for Heeding {
    type Output = ();
    const POLICY: Policy = Policy::new("heeding");
}

impl Job for Heeding {
    async fn run(self, cx: JobContext) -> Result {
        assert_eq!(cx.stopping().await, Stopping);
        assert_eq!(cx.stop_reason(), Some(Stopping));
        Err(JobError::release())
    }
}

/// Does what its only field says when its time is over; it has hardly any.
#[derive(Serialize, Deserialize)]
struct Late {
    then: String,
}

impl JobType for Late {
    type Output = ();
    const POLICY: Policy =
        Policy { timeout: Some(Duration::from_millis(1)), ..Policy::new("late") };
}

impl Job for Late {
    async fn run(self, cx: JobContext) -> Result {
        assert_eq!(cx.cancelled().await, StopReason::TimedOut);
        match &*self.then {
            "finish" => Ok(()),
            "release" => Err(JobError::release()),
            "hang" => std::future::pending().await,
            "retry" => Err("in vain".into()),
            _ => Err(JobError::dead("hopeless")),
        }
    }
}

const CLAIM: ClaimId = ClaimId { worker: 7, n: 1 };
const AHEAD: ClaimId = ClaimId { worker: 7, n: 2 };
const MINUTE: Duration = Duration::from_secs(60);

/// Worker 7, whose lease has just been renewed.
fn execution() -> (Arc<Execution>, UnboundedReceiver<Settlement>) {
    let (outcomes, settled) = unbounded_channel();
    let queue = Served::one("", 1);
    let execution = Execution {
        registry: Arc::new(Registry::of([
            Registration::of::<Quick, _>(),
            Registration::of::<Interrupted, _>(),
            Registration::of::<Heeding, _>(),
            Registration::of::<Rash, _>(),
            Registration::of::<Late, _>(),
        ])),
        states: Arc::default(),
        layers: Layers::default(),
        running: Arc::default(),
        slots: Arc::new(Slots::new(vec![queue])),
        ledger: Arc::new(Ledger::new(7)),
        lease: Arc::new(Lease::new(MINUTE, MINUTE / 8, Instant::now())),
        outcomes,
        reach: None,
        reports: Arc::default(),
        cancel_grace: MINUTE,
    };
    (Arc::new(execution), settled)
}

fn claimed(kind: &str) -> ClaimedJob {
    ClaimedJob {
        id: 1,
        facts: Facts { kind: kind.to_owned(), attempt: 1, max_attempts: 2, ..Facts::default() },
        payload: Box::from(*b"{}"),
        ..ClaimedJob::default()
    }
}

/// The outcome of a job, of which something came to pass between its claim and its first step.
async fn outcome_after(event: impl FnOnce(&Execution)) -> &'static str {
    let (execution, mut settled) = execution();
    execution.slots.take_within(1).pass_on(0);
    execution.begin(CLAIM, false, claimed("quick"), None);
    event(&execution);
    settled.recv().await.expect("one outcome").outcome.as_str()
}

#[tokio::test]
async fn a_job_runs_while_its_claim_is_held() {
    assert_eq!(outcome_after(|_| {}).await, "finish");
}

#[tokio::test]
async fn a_job_does_not_begin_without_a_lease() {
    let frozen = |execution: &Execution| {
        let before = Instant::now().checked_sub(MINUTE).expect("the machine is up that long");
        execution.lease.renew(before, false);
    };
    assert_eq!(outcome_after(frozen).await, "release");
}

/// Given back, it becomes a dead letter.
#[tokio::test]
async fn a_job_without_an_attempt_left_does_not_begin() {
    let (execution, mut settled) = execution();
    execution.slots.take_within(1).pass_on(0);
    let mut job = claimed("quick");
    job.facts.attempt = 3;
    execution.begin(CLAIM, false, job, None);
    let settlement = settled.recv().await.expect("one outcome");
    assert_eq!(settlement.outcome.as_str(), "release");
    assert!(settlement.ran.is_none());
}

/// The heartbeat was faster: it has stopped all handlers there were, and has a lease again.
#[tokio::test]
async fn a_job_claimed_before_its_worker_was_reaped_does_not_begin() {
    let (execution, mut settled) = execution();
    execution.running.abort_all(LeaseLost);
    execution.ledger.begin_anew(8);
    execution.lease.renew(Instant::now(), true);
    execution.slots.take_within(1).pass_on(0);
    execution.begin(CLAIM, false, claimed("quick"), None);
    assert_eq!(settled.recv().await.expect("one outcome").outcome.as_str(), "release");
}

/// Whose fault it was nobody can tell: the attempt is not charged.
#[tokio::test]
async fn a_failure_after_the_worker_stops_or_lost_its_lease_is_given_back() {
    for (reason, outcome) in [(Stopping, "release"), (LeaseLost, "release"), (Cancelled, "cancel")]
    {
        let (execution, mut settled) = execution();
        execution.slots.take_within(1).pass_on(0);
        execution.begin(CLAIM, false, claimed("interrupted"), None);
        tokio::task::yield_now().await;
        execution.running.ask_all(reason);
        assert_eq!(
            settled.recv().await.expect("one outcome").outcome.as_str(),
            outcome,
            "{reason:?}"
        );
    }
}

/// A job whose handler runs, or waits for something.
async fn outcome_of(job: ClaimedJob, event: impl FnOnce(&Execution)) -> Outcome {
    let (execution, mut settled) = execution();
    execution.slots.take_within(1).pass_on(0);
    execution.begin(CLAIM, false, job, None);
    tokio::task::yield_now().await;
    event(&execution);
    settled.recv().await.expect("one outcome").outcome
}

#[tokio::test]
async fn what_is_released_goes_back_at_once_when_the_worker_stops() {
    let outcome = outcome_of(claimed("heeding"), |execution| execution.running.close()).await;
    assert_eq!(outcome, Outcome::Release(None));
}

/// It would begin again at once, and again.
#[tokio::test]
async fn what_is_released_although_nobody_asked_waits_for_a_second() {
    let outcome = outcome_of(claimed("rash"), |_| {}).await;
    assert_eq!(outcome, Outcome::Release(Some(Duration::from_secs(1))));
}

#[tokio::test]
async fn no_handler_begins_once_the_worker_stops() {
    let (execution, mut settled) = execution();
    execution.slots.take_within(2).pass_on(0);
    execution.begin(CLAIM, false, claimed("quick"), None);
    execution.running.close();
    execution.begin(CLAIM, false, claimed("quick"), None);
    for _ in 0..2 {
        assert_eq!(settled.recv().await.expect("one outcome").outcome, Outcome::Release(None));
    }
}

#[tokio::test]
async fn what_is_unfinished_when_its_time_is_over_is_a_failed_attempt() {
    for (then, expected) in [
        ("finish", "finish"),
        ("release", "retry"),
        ("hang", "retry"),
        ("retry", "retry"),
        ("dead", "bury"),
    ] {
        let payload = format!("{{\"then\": \"{then}\"}}").into_bytes().into_boxed_slice();
        let outcome = outcome_of(ClaimedJob { payload, ..claimed("late") }, |_| {}).await;
        assert_eq!(outcome.as_str(), expected, "{then}");
        if expected == "retry" {
            let error = outcome.failure().map(|failure| &*failure.error);
            assert_eq!(error, Some("timed out after 1ms"), "{then}");
        }
    }
}

/// One job runs, another one was claimed ahead.
fn one_waits() -> (Arc<Execution>, UnboundedReceiver<Settlement>) {
    let (execution, settled) = execution();
    execution.slots.take_within(1).pass_on(0);
    assert_eq!(execution.ledger.begin(), (CLAIM, AHEAD));
    execution.ledger.hold(CLAIM, [1].into());
    execution.ledger.hold_ahead(AHEAD, [2].into());
    let job = ClaimedJob { id: 2, ..claimed("quick") };
    execution.wait(Waiting { claim: AHEAD, job, since: Instant::now() });
    execution.begin_waiting();
    (execution, settled)
}

#[tokio::test]
async fn a_job_that_waits_begins_where_another_one_has_ended() {
    let (execution, mut settled) = one_waits();
    assert!(settled.try_recv().is_err(), "there is no slot");
    assert_eq!(execution.ledger.snapshot().begun, CLAIM.n);
    execution.begin(CLAIM, false, claimed("quick"), None);
    let outcomes = [settled.recv().await, settled.recv().await].map(|s| s.expect("an outcome"));
    let outcomes = outcomes.map(|s| (s.job, s.outcome.as_str()));
    assert_eq!(outcomes, [(1, "finish"), (2, "finish")]);
    assert_eq!(execution.ledger.snapshot().begun, AHEAD.n);
}

#[tokio::test]
async fn a_job_that_waits_in_vain_or_is_recalled_is_given_back() {
    for event in [None, Some(Slots::recall as fn(&Slots))] {
        let (execution, mut settled) = one_waits();
        event.into_iter().for_each(|event| event(&execution.slots));
        let stop = CancellationToken::new();
        let returning = tokio::spawn(Arc::clone(&execution).return_overdue(stop.clone()));
        let settlement = settled.recv().await.expect("an outcome");
        assert_eq!((settlement.job, settlement.outcome.as_str()), (2, "release"));
        assert_eq!(execution.ledger.snapshot().begun, CLAIM.n, "until that is written");
        stop.cancel();
        returning.await.expect("it ends");
    }
}

#[tokio::test]
async fn what_waits_is_given_back_when_the_worker_stops() {
    let (execution, mut settled) = one_waits();
    let stop = CancellationToken::new();
    stop.cancel();
    Arc::clone(&execution).return_overdue(stop).await;
    assert_eq!(settled.try_recv().map(|s| s.job), Ok(2));
    let job = ClaimedJob { id: 3, ..claimed("quick") };
    execution.wait(Waiting { claim: AHEAD, job, since: Instant::now() });
    assert_eq!(settled.try_recv().map(|s| s.job), Ok(3));
}
