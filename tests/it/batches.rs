//! Batches: whatever becomes of the members, each callback runs once, when it is due.

mod ends;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jobkit::batch::{BatchEnd, OpenBatch};
use jobkit::enqueue::EnqueueError;
use jobkit::enqueue::wait::End;
use jobkit::unique::Enqueued;
use jobkit::{Batch, Enqueue, Job, JobContext, JobError, JobId, Worker, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

/// What callbacks saw, in the order in which they ran.
#[derive(Clone)]
struct Seen {
    pool: PgPool,
    called: Arc<Mutex<Vec<(String, BatchEnd)>>>,
}

/// What becomes of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Then {
    Finish,
    Fail,
    Retry,
    Snooze,
    Discard,
    Die,
    /// Adds two parts that finish.
    Add,
}

#[derive(Serialize, Deserialize)]
#[job(max_attempts = 2, backoff = fixed("10ms"), retention = "1h", result = u32)]
struct Part {
    number: u32,
    then: Then,
}

impl Part {
    fn of(then: Then) -> Self {
        Self { number: 7, then }
    }
}

impl Job<Seen> for Part {
    async fn run(self, cx: JobContext<Seen>) -> jobkit::Result<u32> {
        match self.then {
            Then::Retry if cx.attempt() == 1 => Err("once more".into()),
            Then::Snooze if cx.snoozes() == 0 => Err(JobError::snooze(Duration::from_millis(10))),
            Then::Fail => Err("it never works".into()),
            Then::Discard => Err(JobError::discard("not wanted")),
            Then::Die => Err(JobError::dead("it cannot work")),
            Then::Add => {
                let mut tx = cx.state().pool.begin().await?;
                let parts = [Self::of(Then::Finish), Self::of(Then::Finish)];
                assert_eq!(cx.add_to_batch(parts, &mut tx).await?.len(), 2);
                tx.commit().await?;
                Ok(self.number)
            }
            _ => Ok(self.number),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[job(retention = "1h")]
struct Done {
    name: String,
}

impl Done {
    fn named(name: &str) -> Self {
        Self { name: name.to_owned() }
    }
}

impl Job<Seen> for Done {
    async fn run(self, cx: JobContext<Seen>) -> jobkit::Result {
        let end = cx.batch_end().await?.expect("it is a callback");
        cx.state().called.lock().unwrap().push((self.name, end));
        Ok(())
    }
}

fn seen(lab: &Lab) -> Seen {
    Seen { pool: lab.direct().clone(), called: Arc::default() }
}

impl Seen {
    fn called(&self) -> Vec<(String, BatchEnd)> {
        self.called.lock().unwrap().clone()
    }

    fn names(&self) -> Vec<String> {
        self.called().into_iter().map(|(name, _)| name).collect()
    }
}

fn worker(lab: &Lab, seen: &Seen) -> Worker {
    lab.worker().queue("default", 10).state(seen.clone()).only::<(Part, Done)>()
}

async fn start(lab: &Lab, seen: &Seen) -> WorkerHandle {
    worker(lab, seen).start().await.unwrap()
}

/// Enqueues a batch of parts with a callback of each role.
async fn enqueue(lab: &Lab, batch: Batch) -> jobkit::batch::EnqueuedBatch {
    let mut tx = lab.pool().begin().await.unwrap();
    let batch = batch
        .then(Done::named("then"))
        .then_if_all(Done::named("if all"))
        .or_else(Done::named("else"));
    let enqueued = batch.enqueue(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    enqueued
}

async fn ended(lab: &Lab) {
    lab.until("not exists (select from jobkit.jobs)").await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn the_callback_runs_once_when_all_have_finished() {
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    let batch =
        enqueue(&lab, Batch::of((1..=20).map(|number| Part { number, then: Then::Finish })));
    let batch = batch.await;
    assert_eq!(batch.jobs().len(), 20);
    assert_eq!(lab.count("jobkit.scheduled where run_at = jobkit.parked()").await, 3);
    let worker = start(&lab, &seen).await;
    ended(&lab).await;
    let called = seen.called();
    let mut names = seen.names();
    names.sort();
    assert_eq!(names, ["if all", "then"]);
    for (_, end) in called {
        assert_eq!((end.id, end.members, end.finished), (batch.id(), 20, 20));
        assert!(end.all_finished() && end.open() == 0);
    }
    let discarded = lab.value::<String>(
        "select reason from jobkit.finished where kind = 'done' and outcome = 'discard'",
    );
    assert_eq!(discarded.await, "not needed: the batch ended otherwise");
    worker.stop().await;
}

#[tokio::test]
async fn without_members_it_ends_at_once() {
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    let batch = enqueue(&lab, Batch::new()).await;
    assert_eq!(batch.jobs(), []);
    let worker = start(&lab, &seen).await;
    ended(&lab).await;
    let mut names = seen.names();
    names.sort();
    assert_eq!(names, ["if all", "then"]);
    worker.stop().await;
}

#[tokio::test]
async fn a_batch_is_filled_until_it_is_closed() {
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    let mut tx = lab.pool().begin().await.unwrap();
    let batch = Batch::new().then(Done::named("then")).open(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let worker = start(&lab, &seen).await;
    // It may be stored in the meantime.
    let json = serde_json::to_string(&batch).unwrap();
    let batch: OpenBatch = serde_json::from_str(&json).unwrap();
    for _ in 0..3 {
        let mut tx = lab.pool().begin().await.unwrap();
        let parts = (0..5).map(|_| Part::of(Then::Finish));
        assert_eq!(batch.add(parts, &mut tx).await.unwrap().len(), 5);
        tx.commit().await.unwrap();
        lab.until("not exists (select from jobkit.jobs where batch_id is not null)").await;
        lab.until("not exists (select from jobkit.batch_tallies)").await;
        assert!(seen.called().is_empty(), "it is open");
    }
    let mut connection = lab.pool().acquire().await.unwrap();
    batch.close(&mut connection).await.unwrap();
    batch.close(&mut connection).await.unwrap();
    ended(&lab).await;
    assert_eq!(seen.called()[0].1.members, 15);
    let late = batch.add([Part::of(Then::Finish)], &mut connection).await.unwrap_err();
    assert!(matches!(&late, EnqueueError::BatchClosed(why) if why.contains("has ended")), "{late}");
    worker.stop().await;
}

#[tokio::test]
async fn a_closed_batch_takes_jobs_of_its_members_only() {
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    let mut tx = lab.pool().begin().await.unwrap();
    let batch = Batch::of([Part::of(Then::Add)]).then(Done::named("then"));
    let batch = batch.open(&mut tx).await.unwrap();
    batch.close(&mut tx).await.unwrap();
    tx.commit().await.unwrap();
    let mut connection = lab.pool().acquire().await.unwrap();
    let late = batch.add([Part::of(Then::Finish)], &mut connection).await.unwrap_err();
    assert!(
        matches!(&late, EnqueueError::BatchClosed(why) if why.contains("was closed")),
        "{late}"
    );
    let worker = start(&lab, &seen).await;
    ended(&lab).await;
    assert_eq!(seen.called()[0].1.members, 3);
    worker.stop().await;
}

#[tokio::test]
async fn a_callback_reads_what_members_returned() {
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    let parts = [Then::Finish, Then::Die, Then::Finish].map(Part::of);
    let batch = enqueue(&lab, Batch::of(parts)).await;
    let worker = start(&lab, &seen).await;
    lab.until("(select ended_at is not null from jobkit.batches)").await;
    let ids: Vec<_> = batch.jobs().iter().map(|job| job.id()).collect();
    let page = members(&lab, &seen, batch.id(), None, 2).await;
    assert_eq!(page.iter().map(|(job, _)| *job).collect::<Vec<_>>(), ids[..2]);
    assert!(matches!(&page[0].1, End::Finished(output) if output.read::<u32>() == Ok(7)));
    assert_eq!(page[1].1, End::Dead("it cannot work".to_owned()));
    let rest = members(&lab, &seen, batch.id(), Some(ids[1]), 2).await;
    assert_eq!(rest.iter().map(|(job, _)| *job).collect::<Vec<_>>(), ids[2..]);
    worker.stop().await;
}

/// Reads members as a handler does.
async fn members(
    lab: &Lab,
    seen: &Seen,
    batch: jobkit::batch::BatchId,
    after: Option<JobId>,
    rows: usize,
) -> Vec<(JobId, End)> {
    #[derive(Serialize, Deserialize)]
    #[job(queue = "readers")]
    struct Read {
        batch: i64,
        after: i64,
        rows: usize,
    }
    type Page = Arc<Mutex<Vec<(JobId, End)>>>;
    impl Job<Page> for Read {
        async fn run(self, cx: JobContext<Page>) -> jobkit::Result {
            let (batch, after) = (jobkit::batch::BatchId(self.batch), Some(JobId(self.after)));
            *cx.state().lock().unwrap() = cx.batch_members(batch, after, self.rows).await?;
            Ok(())
        }
    }
    let page = Page::default();
    let after = after.map_or(0, |job| job.0);
    Read { batch: batch.0, after, rows }.enqueue(lab.pool()).await.unwrap();
    let worker = worker(lab, seen)
        .queue("readers", 1)
        .state(page.clone())
        .only::<(Part, Done, Read)>()
        .start()
        .await
        .unwrap();
    lab.until("not exists (select from jobkit.jobs where queue = 'readers')").await;
    worker.stop().await;
    page.lock().unwrap().clone()
}

#[tokio::test]
async fn duplicates_are_no_members() {
    let lab = Lab::guarded().await;
    let seen = seen(&lab);
    let unique = || Part::of(Then::Finish).options().unique_key("k");
    let other = unique().enqueue(lab.pool()).await.unwrap();
    let batch = enqueue(&lab, Batch::of([unique()]).with([Part::of(Then::Finish)])).await;
    assert_eq!(batch.jobs()[0], Enqueued::Existing(other));
    assert!(matches!(batch.jobs()[1], Enqueued::New(_)));
    let worker = start(&lab, &seen).await;
    ended(&lab).await;
    assert_eq!(seen.called()[0].1.members, 1);
    worker.stop().await;
}

#[tokio::test]
async fn a_callback_whose_key_is_taken_refuses_the_batch() {
    let lab = Lab::guarded().await;
    let callback = || Done::named("then").options().unique_key("k");
    callback().enqueue(lab.pool()).await.unwrap();
    let mut tx = lab.pool().begin().await.unwrap();
    let batch = Batch::of([Part::of(Then::Finish)]).then(callback()).enqueue(&mut tx).await;
    assert!(matches!(&batch, Err(EnqueueError::CallbackExists(_))), "{batch:?}");
    tx.rollback().await.unwrap();
    let mut tx = lab.pool().begin().await.unwrap();
    let late = Done::named("then").options().after(Duration::from_secs(60));
    let batch = Batch::of([Part::of(Then::Finish)]).then(late).enqueue(&mut tx).await;
    let error = batch.unwrap_err().to_string();
    assert!(error.contains("leave out the delay"), "{error}");
    tx.rollback().await.unwrap();
    assert_eq!(lab.count("jobkit.jobs").await, 1);
}
