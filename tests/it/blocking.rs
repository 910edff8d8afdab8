//! Blocking work: whatever ends its handler, the job is nobody else's until the closure is back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use jobkit::admin::jobs::Cancelled;
use jobkit::chunk::{ChunkJob, Member};
use jobkit::{Admin, Enqueue, Job, JobContext, JobId, Registration, StopReason, Worker, job};
use jobkit_tests::{Lab, Log, wait};
use serde::{Deserialize, Serialize};
use tracing::Level;

const PATIENCE: Duration = Duration::from_secs(30);

/// What the closures here have at hand.
#[derive(Default)]
struct Hand {
    /// They return once it is open.
    open: Mutex<bool>,
    opened: Condvar,
    begun: AtomicUsize,
    /// Handlers that have ended.
    left: AtomicUsize,
    /// Why they were to end, as they saw it.
    reasons: Mutex<Vec<Option<StopReason>>>,
}

type Cx = JobContext<Arc<Hand>>;

impl Hand {
    /// On a thread of blocking work.
    fn block(cx: &Cx) {
        let hand = cx.state();
        hand.begun.fetch_add(1, Ordering::SeqCst);
        drop(hand.opened.wait_while(hand.open.lock().unwrap(), |open| !*open).unwrap());
        hand.reasons.lock().unwrap().push(cx.stop_reason());
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    async fn until(&self, number: &AtomicUsize, least: usize) {
        let enough = async || number.load(Ordering::SeqCst) >= least;
        wait(PATIENCE, "handlers begin or end", enough).await;
    }
}

/// Counts the handler that has it as left.
struct Leaves(Arc<Hand>);

impl Drop for Leaves {
    fn drop(&mut self) {
        self.0.left.fetch_add(1, Ordering::SeqCst);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum How {
    Return,
    Panic,
    Wait,
    /// The handler succeeds while its closure goes on.
    LeaveBehind,
}

/// One at a time.
#[derive(Serialize, Deserialize)]
#[job(
    max_attempts = 2, backoff = fixed("1h"), retention = "1h",
    concurrency_key = "all", concurrency_limit = 1
)]
struct Block {
    how: How,
}

impl Job<Arc<Hand>> for Block {
    async fn run(self, cx: Cx) -> jobkit::Result {
        let _leaves = Leaves(Arc::clone(cx.state()));
        match self.how {
            How::Return => {
                let text = self.how;
                let (id, how) = cx.blocking(move |cx| (cx.id(), text)).await;
                assert_eq!((id, how), (cx.id(), How::Return));
            }
            How::Panic => cx.blocking(|_| panic!("in the closure")).await,
            How::Wait => cx.blocking(Hand::block).await,
            How::LeaveBehind => tokio::select! {
                () = cx.blocking(Hand::block) => {}
                () = cx.state().until(&cx.state().begun, 1) => {}
            },
        }
        Ok(())
    }
}

/// The same with a timeout.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 2, backoff = fixed("1h"), timeout = "200ms")]
struct Timed;

impl Job<Arc<Hand>> for Timed {
    async fn run(self, cx: Cx) -> jobkit::Result {
        let _leaves = Leaves(Arc::clone(cx.state()));
        cx.blocking(Hand::block).await;
        Ok(())
    }
}

/// Holds its thread beyond its timeout.
#[derive(Serialize, Deserialize)]
#[job(timeout = "100ms", retention = "1h")]
struct Holds;

impl Job for Holds {
    async fn run(self, _: JobContext) -> jobkit::Result {
        std::thread::sleep(Duration::from_millis(200));
        Ok(())
    }
}

/// Two in a call, which blocks its thread, or that of a closure.
#[derive(Serialize, Deserialize)]
#[job(chunk = 2, linger = "200ms", max_attempts = 2, backoff = fixed("1h"), timeout = "500ms")]
struct Together {
    apart: bool,
}

impl ChunkJob<Arc<Hand>> for Together {
    async fn run(chunk: Vec<Member<Self, Arc<Hand>>>) -> jobkit::Result {
        match chunk[0].apart {
            true => chunk[0].context().blocking(Hand::block).await,
            false => Hand::block(chunk[0].context()),
        }
        Ok(())
    }
}

fn worker(lab: &Lab, hand: &Arc<Hand>) -> Worker {
    let jobs = [
        Registration::of::<Block, _>(),
        Registration::of::<Timed, _>(),
        Registration::of::<Holds, _>(),
        Registration::of_chunk::<Together, _>(),
    ];
    let worker = lab.worker().jobs(jobs).state(Arc::clone(hand)).queue("default", 10);
    worker.heartbeat(Duration::from_millis(100))
}

/// Where a job is, and the error of its last attempt.
async fn place(lab: &Lab, JobId(job): JobId) -> String {
    let sql = format!(
        "select coalesce(
            (select outcome from jobkit.finished where job_id = {job}),
            (select 'charged ' || j.attempt || ': ' || a.error from jobkit.jobs j
                join jobkit.attempts a on a.job_id = j.id where j.id = {job}),
            'claimed')"
    );
    lab.value(&sql).await
}

/// Waits until the worker has beaten a few times more: an outcome would be written by then.
async fn beats(lab: &Lab) {
    let since: String = lab.value("select clock_timestamp()::text").await;
    let beaten = format!("heartbeat_at > '{since}'::timestamptz + interval '300 ms'");
    lab.until(&format!("exists (select from jobkit.workers where {beaten})")).await;
}

#[tokio::test]
async fn what_a_closure_returns_or_panics_with_is_what_its_handler_gets() {
    let lab = Lab::guarded().await;
    let worker = worker(&lab, &Arc::default()).start().await.unwrap();
    for (how, expected) in
        [(How::Return, "finish"), (How::Panic, "charged 1: panicked: in the closure")]
    {
        let job = Block { how }.enqueue(lab.pool()).await.unwrap();
        lab.until(
            "not exists (select from jobkit.claims) and not exists (select from jobkit.ready)",
        )
        .await;
        assert_eq!(place(&lab, job).await, expected, "{how:?}");
    }
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn whatever_ends_the_handler_its_job_is_kept_until_the_closure_is_back() {
    for (end, reason, expected) in [
        ("cancel", StopReason::Cancelled, "cancel"),
        ("time out", StopReason::TimedOut, "charged 1: timed out after 200ms"),
        ("leave", StopReason::Ended, "finish"),
    ] {
        let (lab, hand) = (Lab::guarded().await, Arc::<Hand>::default());
        let worker = worker(&lab, &hand).start().await.unwrap();
        let job = match end {
            "time out" => Timed.enqueue(lab.pool()).await,
            "leave" => Block { how: How::LeaveBehind }.enqueue(lab.pool()).await,
            _ => Block { how: How::Wait }.enqueue(lab.pool()).await,
        };
        let job = job.unwrap();
        hand.until(&hand.begun, 1).await;
        if end == "cancel" {
            assert_eq!(
                Admin::new(lab.pool()).job(job).cancel().await.unwrap(),
                Cancelled::Requested
            );
        }
        hand.until(&hand.left, 1).await;
        beats(&lab).await;
        assert_eq!((&*place(&lab, job).await, lab.count("jobkit.claims").await), ("claimed", 1));
        if end != "time out" {
            assert_eq!(lab.count("jobkit.permits").await, 1, "{end}");
        }
        hand.open();
        lab.until("not exists (select from jobkit.claims)").await;
        assert_eq!(place(&lab, job).await, expected);
        assert_eq!(*hand.reasons.lock().unwrap(), [Some(reason)]);
        worker.stop().await;
        lab.check_invariants().await;
    }
}

/// T298: the call is the work of all members, and so is a closure, whosever context began it.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn t298_members_of_a_chunk_are_kept_until_nothing_of_their_call_blocks() {
    for apart in [true, false] {
        let (lab, hand) = (Lab::guarded().await, Arc::<Hand>::default());
        let worker = worker(&lab, &hand).start().await.unwrap();
        let jobs = [Together { apart }, Together { apart }];
        let jobs = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
        hand.until(&hand.begun, 1).await;
        // Their time is over, and the grace after it.
        let since: String = lab.value("select clock_timestamp()::text").await;
        lab.until(&format!("clock_timestamp() > '{since}'::timestamptz + interval '2 s'")).await;
        beats(&lab).await;
        for job in &jobs {
            assert_eq!(place(&lab, *job).await, "claimed", "apart: {apart}");
        }
        hand.open();
        lab.until("not exists (select from jobkit.claims)").await;
        for job in &jobs {
            assert_eq!(place(&lab, *job).await, "charged 1: timed out after 500ms");
        }
        worker.stop().await;
        lab.check_invariants().await;
    }
}

/// T295: the worker has stopped, its process goes on, and so does a closure.
#[tokio::test]
async fn t295_a_job_is_kept_beyond_the_stop_of_its_worker() {
    let (lab, hand) = (Lab::guarded().await, Arc::<Hand>::default());
    let lease = Duration::from_secs(2);
    let stopped = worker(&lab, &hand).lease(lease).stop_within(Duration::from_secs(1));
    let stopped = stopped.stop_grace(Duration::ZERO).cancel_grace(Duration::ZERO);
    let stopped = stopped.start().await.unwrap();
    let job = Block { how: How::Wait }.enqueue(lab.pool()).await.unwrap();
    hand.until(&hand.begun, 1).await;
    let other = worker(&lab, &hand).lease(lease).start().await.unwrap();
    let since: String = lab.value("select clock_timestamp()::text").await;
    stopped.stop().await;
    assert_eq!(hand.left.load(Ordering::SeqCst), 1, "the handler was dropped");
    // Time enough to take it back.
    lab.until(&format!("clock_timestamp() > '{since}'::timestamptz + interval '5 s'")).await;
    assert_eq!((lab.count("jobkit.workers").await, lab.count("jobkit.permits").await), (2, 1));
    assert_eq!(hand.begun.load(Ordering::SeqCst), 1, "it runs nowhere else");
    hand.open();
    lab.until("exists (select from jobkit.finished)").await;
    assert_eq!(place(&lab, job).await, "finish");
    assert_eq!(lab.count("jobkit.finished where attempt = 1 and errors is null").await, 1);
    assert_eq!(*hand.reasons.lock().unwrap(), [Some(StopReason::Stopping), None]);
    lab.until("(select count(*) from jobkit.workers) = 1").await;
    other.stop().await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_kind_that_holds_its_thread_beyond_its_timeout_is_named_once() {
    let (log, _guard) = Log::listen(Level::WARN);
    let lab = Lab::guarded().await;
    let worker = worker(&lab, &Arc::default()).start().await.unwrap();
    jobkit::enqueue_all([Holds, Holds], lab.pool()).await.unwrap();
    lab.until("(select count(*) from jobkit.finished) = 2").await;
    worker.stop().await;
    let said = log.lines("held its thread without an await");
    assert_eq!(said.len(), 1, "{said:?}");
    for fact in ["job.kind=\"holds\"", "held=", "timeout=100ms"] {
        assert!(said[0].contains(fact), "{said:?}");
    }
}
