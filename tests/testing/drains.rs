//! What a drain reports, and how far it goes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jobkit::error::StartError;
use jobkit::testing::{
    self, Drain, RunOutcome, advance, assert_enqueued, enqueued, refute_enqueued,
};
use jobkit::{Batch, Enqueue, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::PgTransaction;
use tokio::sync::Mutex;

use crate::jobs::{self, *};

/// Counts down, in the transaction of the test.
#[derive(Serialize, Deserialize)]
#[job(kind = "testing_count_down", concurrency_key = "all", concurrency_limit = 5)]
struct CountDown {
    from: u32,
    queue: Option<String>,
}

type Tx = Arc<Mutex<PgTransaction<'static>>>;

impl Job<Tx> for CountDown {
    async fn run(self, cx: JobContext<Tx>) -> jobkit::Result {
        let Some(from) = self.from.checked_sub(1) else { return Ok(()) };
        let queue = self.queue.clone().unwrap_or_else(|| "default".to_owned());
        let next = Self { from, queue: self.queue };
        let mut tx = cx.state().lock().await;
        next.options().queue(queue).enqueue(&mut **tx).await?;
        drop(tx);
        assert!(cx.pause_key(Duration::ZERO).await?, "the drain makes the call");
        Ok(())
    }
}

fn count_down() -> [Registration; 1] {
    [Registration::of::<CountDown, _>()]
}

fn acts() -> Drain {
    Drain::new().jobs(jobs::all())
}

#[tokio::test]
async fn the_report_says_what_became_of_each_attempt() {
    let lab = Lab::new().await;
    let mut tx = lab.pool().begin().await.unwrap();
    let id = Act { then: Then::Fail }.enqueue(&mut *tx).await.unwrap();
    let other = Fleeting { then: Then::Finish }.enqueue(&mut *tx).await.unwrap();
    let report = acts().run(&mut *tx).await.unwrap();
    let [failed, finished] = &*report.runs else { panic!("{report:?}") };
    assert_eq!((failed.id, &*failed.kind, &*failed.queue, failed.attempt), (id, "act", "acts", 1));
    assert!(matches!(failed.outcome, RunOutcome::Retried(_)), "{failed:?}");
    assert_eq!(failed.error.as_deref(), Some("it failed"));
    assert_eq!((finished.id, finished.outcome), (other, RunOutcome::Finished));
    assert_eq!(report.of::<Fleeting>().count(), 1);
    let message = std::panic::catch_unwind(|| report.assert_finished().is_done()).unwrap_err();
    let message = message.downcast::<String>().unwrap();
    assert!(message.contains(&format!("job {id} (act in acts), attempt 1: Retried")), "{message}");
    assert!(message.contains("it failed") && message.starts_with("1 attempts"), "{message}");

    let report = acts().over(Duration::from_secs(1)).run(&mut *tx).await.unwrap();
    assert_eq!(report.outcomes(), [RunOutcome::Buried("exhausted")]);
}

#[tokio::test]
async fn handlers_that_have_the_transaction_see_and_are_seen() {
    let lab = Lab::new().await;
    let tx: Tx = Arc::new(Mutex::new(testing::begin(lab.pool()).await.unwrap()));
    CountDown { from: 3, queue: None }.enqueue(&mut **tx.lock().await).await.unwrap();
    let drain = || Drain::new().jobs(count_down()).state(Arc::clone(&tx));
    let report = drain().run(&*tx).await.unwrap();
    report.assert_finished();
    assert_eq!(report.runs.len(), 4);

    // Queues that are new to the drain.
    let away = CountDown { from: 2, queue: Some("away".to_owned()) };
    away.enqueue(&mut **tx.lock().await).await.unwrap();
    let report = drain().run(&*tx).await.unwrap();
    assert_eq!(report.assert_finished().runs.last().map(|run| &*run.queue), Some("away"));
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    assert_eq!(lab.count("jobkit.workers").await, 0);
}

#[tokio::test]
async fn a_drain_ends_after_as_many_attempts_as_it_may_make() {
    let lab = Lab::new().await;
    let tx: Tx = Arc::new(Mutex::new(testing::begin(lab.pool()).await.unwrap()));
    CountDown { from: u32::MAX, queue: None }.enqueue(&mut **tx.lock().await).await.unwrap();
    let drain = Drain::new().jobs(count_down()).state(Arc::clone(&tx)).at_most(7);
    let report = drain.run(&*tx).await.unwrap();
    assert_eq!((report.runs.len(), report.is_done()), (7, false));
    assert_enqueued::<CountDown>(&*tx, |job| job.from == u32::MAX - 7).await;
}

#[tokio::test]
async fn what_is_missing_is_named_at_once() {
    let lab = Lab::new().await;
    let drain = Drain::new().jobs(count_down()).state(1).state(2);
    let error = drain.run(lab.pool()).await.unwrap_err();
    let StartError::Problems(problems) = &error else { panic!("{error}") };
    let problems = problems.to_string();
    assert!(
        problems.contains("was given twice") && problems.contains("needs the state"),
        "{error}"
    );
}

#[tokio::test]
async fn only_the_queues_that_were_asked_for_are_drained() {
    let lab = Lab::new().await;
    let mut tx = lab.pool().begin().await.unwrap();
    Act { then: Then::Finish }.enqueue(&mut *tx).await.unwrap();
    Fleeting { then: Then::Finish }.enqueue(&mut *tx).await.unwrap();
    let report = acts().queue("acts").run(&mut *tx).await.unwrap();
    assert_eq!((report.runs.len(), report.of::<Act>().count()), (1, 1));
    assert_eq!(enqueued::<Fleeting>(&mut *tx).await.unwrap().len(), 1);
}

#[tokio::test]
async fn time_passes_for_what_waits() {
    let lab = Lab::new().await;
    let mut tx = lab.pool().begin().await.unwrap();
    let hour = Duration::from_secs(3600);
    Act { then: Then::SnoozeLong }.options().after(hour).enqueue(&mut *tx).await.unwrap();
    assert!(acts().over(hour / 2).run(&mut *tx).await.unwrap().runs.is_empty());
    advance(&mut *tx, hour / 2).await.unwrap();
    let job = assert_enqueued::<Act>(&mut *tx, |_| true).await;
    assert!(job.due_in > hour / 3 && job.due_in <= hour / 2, "{:?}", job.due_in);
    let report = acts().over(3 * hour).run(&mut *tx).await.unwrap();
    assert_eq!(report.outcomes(), [RunOutcome::Snoozed(hour); 3]);
}

/// Is enqueued once more while it runs, and fails then.
#[derive(Serialize, Deserialize)]
#[job(kind = "testing_change", backoff = fixed("1h"), unique_key = "k", on_duplicate = run_again)]
struct Change {
    last: bool,
}

impl Job<Tx> for Change {
    async fn run(self, cx: JobContext<Tx>) -> jobkit::Result {
        if self.last || cx.attempt() > 1 {
            return Ok(());
        }
        Self { last: true }.enqueue(&mut **cx.state().lock().await).await?;
        Err("it changed meanwhile".into())
    }
}

/// The time at which that job is scheduled never comes, however much passes.
#[tokio::test]
async fn what_runs_again_runs_after_time_has_passed() {
    let lab = Lab::new().await;
    let tx: Tx = Arc::new(Mutex::new(testing::begin(lab.pool()).await.unwrap()));
    let first = Change { last: false }.enqueue(&mut **tx.lock().await).await.unwrap();
    let drain = Drain::new().jobs([Registration::of::<Change, _>()]).state(Arc::clone(&tx));
    let report = drain.over(Duration::from_secs(7200)).run(&*tx).await.unwrap();
    let [failed, finished, again] = &*report.runs else { panic!("{report:?}") };
    assert!(matches!(failed.outcome, RunOutcome::Retried(_)), "{failed:?}");
    assert_eq!((finished.id, finished.outcome), (first, RunOutcome::Finished));
    assert_eq!(again.outcome, RunOutcome::Finished);
    assert_ne!(again.id, first);
}

#[tokio::test]
async fn a_drain_over_three_days_fires_a_nightly_job_three_times() {
    let lab = Lab::new().await;
    let mut tx = lab.pool().begin().await.unwrap();
    let drain = Drain::new().jobs(jobs::nightly()).schedules();
    let report = drain.over(Duration::from_secs(3 * 24 * 3600)).run(&mut *tx).await.unwrap();
    report.assert_finished();
    assert_eq!(report.runs.len(), 3, "{report:?}");
}

#[tokio::test]
async fn a_drain_through_the_pool_commits_each_step() {
    let lab = Lab::guarded().await;
    Act { then: Then::Finish }.enqueue(lab.pool()).await.unwrap();
    acts().run(lab.pool()).await.unwrap().assert_finished();
    refute_enqueued::<Act>(lab.pool(), |_| true).await;
    assert_eq!(lab.count("jobkit.finished").await, 1);
    assert_eq!(lab.count("jobkit.workers").await, 0);
    lab.check_invariants().await;
}

/// Side by side in one database: none waits for another, and none sees what another does.
#[tokio::test]
async fn tests_side_by_side_do_not_meet() {
    let lab = Lab::new().await;
    let mut first = testing::begin(lab.pool()).await.unwrap();
    let mut second = testing::begin(lab.pool()).await.unwrap();
    for tx in [&mut first, &mut second] {
        Act { then: Then::Finish }.enqueue(&mut **tx).await.unwrap();
        let drained = acts().run(&mut **tx);
        let report = tokio::time::timeout(Duration::from_secs(10), drained).await;
        assert_eq!(report.expect("it waits for nobody").unwrap().runs.len(), 1);
    }
}

/// A test with everything: begin, enqueue, look, drain, look, roll back.
#[tokio::test]
#[ignore = "a measurement, for a machine with nothing else to do"]
async fn a_test_takes_milliseconds() {
    let lab = Lab::new().await;
    let mut times = Vec::new();
    for _ in 0..200 {
        let began = Instant::now();
        let mut tx = testing::begin(lab.pool()).await.unwrap();
        Act { then: Then::Finish }.enqueue(&mut *tx).await.unwrap();
        assert_enqueued::<Act>(&mut *tx, |_| true).await;
        acts().run(&mut *tx).await.unwrap().assert_finished();
        refute_enqueued::<Act>(&mut *tx, |_| true).await;
        tx.rollback().await.unwrap();
        times.push(began.elapsed());
    }
    times.sort();
    println!("median {:?}, p90 {:?}", times[100], times[180]);
    assert!(times[100] < Duration::from_millis(5), "median {:?}", times[100]);
}

/// As a worker with so many slots does.
#[tokio::test]
async fn a_chunk_has_as_many_jobs_as_run_at_once() {
    let lab = Lab::new().await;
    for (at_once, call_of) in [(1, 1), (2, 2), (4, 2)] {
        let mut tx = testing::begin(lab.pool()).await.unwrap();
        let mates = [false, true, true, true].map(|second| Mate { second });
        jobkit::enqueue_all(mates, &mut *tx).await.unwrap();
        let report = acts().at_once(at_once).run(&mut *tx).await.unwrap();
        let said: Vec<_> = report.runs.iter().map(|run| run.error.as_deref()).collect();
        let failed = format!("it failed in a call of {call_of}");
        assert_eq!(said.iter().filter(|said| said.is_none()).count(), 1, "{said:?}");
        assert_eq!(said.iter().flatten().filter(|said| **said == failed).count(), 3, "{said:?}");
    }
}

/// A claim may bring nothing and yet have done something: the next brings more.
#[tokio::test]
async fn a_claim_that_brings_nothing_ends_no_drain() {
    let lab = Lab::new().await;
    let mut tx = testing::begin(lab.pool()).await.unwrap();
    let many = (0..1_100).map(|n| Coalescing { then: Then::Finish, key: "k".to_owned(), n });
    jobkit::enqueue_all(many, &mut *tx).await.unwrap();
    let report = acts().run(&mut *tx).await.unwrap();
    assert_eq!(report.assert_finished().runs.len(), 1, "they coalesce");
    assert_eq!(enqueued::<Coalescing>(&mut *tx).await.unwrap().len(), 0);

    // The first is blocked, which keeps nobody else.
    let keyed = |key: &str| Keyed { then: Then::Finish, key: key.to_owned() };
    let pause = "select jobkit.pause_key($1, 'paused', '1 h')";
    acts().run(&mut *tx).await.unwrap();
    let paused: bool = sqlx::query_scalar(pause).bind("keyed").fetch_one(&mut *tx).await.unwrap();
    assert!(paused);
    for key in ["paused", "free"] {
        keyed(key).enqueue(&mut *tx).await.unwrap();
    }
    let report = acts().run(&mut *tx).await.unwrap();
    assert_eq!(report.assert_finished().runs.len(), 1);
}

/// The callback runs in the drain that ends the last member.
#[tokio::test]
async fn a_drain_calls_back() {
    let lab = Lab::new().await;
    let mut tx = lab.pool().begin().await.unwrap();
    let members = (0..3).map(|_| Act { then: Then::Finish });
    let batch = Batch::of(members).then(Fleeting { then: Then::Finish });
    let batch = batch.enqueue(&mut tx).await.unwrap();
    assert_eq!(batch.jobs().len(), 3);
    let report = acts().run(&mut *tx).await.unwrap();
    let kinds: Vec<_> = report.runs.iter().map(|run| &*run.kind).collect();
    assert_eq!(kinds, ["act", "act", "act", "fleeting"]);
}
