//! Layers around handlers, most of them hostile: none of them loses a job, or its claim.

use std::future::pending;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use jobkit::around::{Around, Next};
use jobkit::{Enqueue, Job, JobContext, JobError, Registration, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

use crate::jobs::{self, Act, EFFECTS, Noop, Slow, Then};
use crate::lifecycle::{act, outcome};

/// A lab, and a worker with this layer.
async fn with(layer: impl Around) -> (Lab, WorkerHandle) {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all()).around(layer);
    let worker = worker.queue("default", 3).start().await.unwrap();
    (lab, worker)
}

/// Stops the worker: nothing is left that it held, and nothing that must not be.
async fn ended(lab: Lab, worker: WorkerHandle) {
    worker.stop().await;
    lab.check_invariants().await;
    assert_eq!(lab.count("jobkit.claims").await, 0);
    assert_eq!(lab.count("jobkit.workers").await, 0);
}

async fn errors(lab: &Lab) -> Vec<String> {
    let sql = "select coalesce(jsonb_agg(distinct e->>'error'), '[]')::text
        from jobkit.dead_letters, jsonb_array_elements(errors) as e";
    serde_json::from_str(&lab.value::<String>(sql).await).unwrap()
}

async fn effects(lab: &Lab, what: &str) -> i64 {
    lab.count(&format!("effects where what = '{what}'")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn layers_are_around_the_handler_in_their_order() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let says = |name: &'static str| {
        let said = Arc::clone(&said);
        move |cx: JobContext, next: Next| {
            let said = Arc::clone(&said);
            async move {
                said.lock().unwrap().push(format!("{name} {} {}", cx.kind(), cx.attempt()));
                let result = next.run().await;
                said.lock().unwrap().push(format!("{name} {}", result.is_ok()));
                result
            }
        }
    };
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    let worker = worker.around_kind::<Act>(says("kind")).around(says("first"));
    let worker = worker.around(says("second")).queue("default", 1).start().await.unwrap();
    let job = act(&lab, Then::FailTimes(1)).await;
    assert_eq!(outcome(&lab, job).await, "finish");
    Noop.enqueue(lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    ended(lab, worker).await;
    let attempt = |number: i32, ok| {
        let begin = ["first", "second", "kind"].map(|name| format!("{name} act {number}"));
        begin.into_iter().chain(["kind", "second", "first"].map(|name| format!("{name} {ok}")))
    };
    let noop = ["first noop 1", "second noop 1", "second true", "first true"];
    let noop = noop.into_iter().map(str::to_owned);
    let expected: Vec<_> = attempt(1, false).chain(attempt(2, true)).chain(noop).collect();
    assert_eq!(*said.lock().unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_layer_returns_is_the_outcome() {
    let (lab, worker) = with(async |_: JobContext, next: Next| {
        next.run().await.map_err(|_| JobError::discard("the layer thinks so"))
    })
    .await;
    let job = act(&lab, Then::Fail("no".to_owned())).await;
    assert_eq!(outcome(&lab, job).await, "discard");
    let job = act(&lab, Then::Succeed).await;
    assert_eq!(outcome(&lab, job).await, "finish");
    ended(lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_layer_sees_a_payload_that_does_not_decode() {
    let seen = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&seen);
    let (lab, worker) = with(move |_: JobContext, next: Next| {
        let counted = Arc::clone(&counted);
        async move {
            let result = next.run().await;
            counted.fetch_add(usize::from(result.is_err()), Ordering::Relaxed);
            result
        }
    })
    .await;
    lab.value::<i64>("select jobkit.enqueue('act', '{\"then\": 7}', p_max_attempts => 1)").await;
    lab.until("(select reason from jobkit.dead_letters) = 'undecodable'").await;
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    ended(lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_1_a_layer_that_panics_fails_the_attempt() {
    let (lab, worker) = with(async |_: JobContext, _: Next| panic!("before")).await;
    let job = act(&lab, Then::Succeed).await;
    assert_eq!(outcome(&lab, job).await, "exhausted");
    assert_eq!(errors(&lab).await, ["panicked: before"]);
    assert_eq!(effects(&lab, "begin").await, 0);
    ended(lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_2_a_layer_that_panics_when_it_is_called_fails_the_attempt() {
    type Never = std::future::Ready<jobkit::Result>;
    let (lab, worker) = with(|_: JobContext, _: Next| -> Never { panic!("at once") }).await;
    let job = act(&lab, Then::Succeed).await;
    assert_eq!(outcome(&lab, job).await, "exhausted");
    assert_eq!(errors(&lab).await, ["panicked: at once"]);
    ended(lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_3_a_layer_that_panics_after_the_handler_repeats_it() {
    let (lab, worker) = with(async |cx: JobContext, next: Next| {
        let result = next.run().await;
        assert!(cx.attempt() > 1, "after");
        result
    })
    .await;
    let job = act(&lab, Then::Succeed).await;
    assert_eq!(outcome(&lab, job).await, "finish");
    assert_eq!(effects(&lab, "end").await, 2);
    ended(lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_4_a_layer_that_never_runs_the_handler_ends_the_job_all_the_same() {
    let (lab, worker) = with(async |_: JobContext, _: Next| Ok(())).await;
    let job = act(&lab, Then::Succeed).await;
    assert_eq!(outcome(&lab, job).await, "finish");
    assert_eq!(effects(&lab, "begin").await, 0);
    ended(lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_5_a_layer_that_never_returns_is_timed_out() {
    let (lab, worker) = with(async |_: JobContext, next: Next| {
        let _ended = next.run().await;
        pending().await
    })
    .await;
    let job = Slow.enqueue(lab.pool()).await.unwrap();
    assert_eq!(outcome(&lab, job).await, "exhausted");
    assert_eq!(errors(&lab).await, ["timed out after 50ms"]);
    ended(lab, worker).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_6_a_layer_that_never_returns_is_given_back_uncharged_when_the_worker_stops() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    let worker = worker.stop_grace(Duration::ZERO).around(async |_: JobContext, next: Next| {
        next.run().await?;
        pending().await
    });
    let worker = worker.queue("default", 3).start().await.unwrap();
    let job = act(&lab, Then::Succeed).await;
    lab.until("exists (select from effects where what = 'end')").await;
    given_back(&lab, worker, job.0).await;
}

/// Stops the worker: the job is ready again, and charged nothing.
async fn given_back(lab: &Lab, worker: WorkerHandle, job: i64) {
    worker.stop().await;
    lab.check_invariants().await;
    let charged: i32 =
        lab.value(&format!("select attempt from jobkit.jobs where id = {job}")).await;
    assert_eq!((charged, lab.count("jobkit.ready").await), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_7_a_slow_layer_holds_up_its_own_job_only() {
    let (lab, worker) = with(async |cx: JobContext, next: Next| {
        if cx.tags().contains(&"slow".to_owned()) {
            cx.stopping().await;
        }
        next.run().await
    })
    .await;
    let slow = Act::then(Then::Succeed).options().tags(["slow"]).enqueue(lab.pool()).await.unwrap();
    for _ in 0..5 {
        let job = act(&lab, Then::Succeed).await;
        assert_eq!(outcome(&lab, job).await, "finish");
    }
    assert_eq!(lab.count(&format!("effects where job_id = {slow}")).await, 0);
    worker.stop().await;
    assert_eq!(outcome(&lab, slow).await, "finish");
    lab.check_invariants().await;
}

/// How many handlers are at work.
#[derive(Clone, Default)]
struct AtWork(Arc<AtomicUsize>);

impl AtWork {
    fn now(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn begin(&self) -> Self {
        self.0.fetch_add(1, Ordering::SeqCst);
        self.clone()
    }
}

/// Never ends.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 1)]
struct Endless;

impl Job<AtWork> for Endless {
    async fn run(self, cx: JobContext<AtWork>) -> jobkit::Result {
        struct Work(AtWork);
        impl Drop for Work {
            fn drop(&mut self) {
                self.0.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let _work = Work(cx.state().begin());
        pending().await
    }
}

/// A worker with this layer runs a job that never ends, until that has an outcome: it is this one,
/// and no handler is at work any more.
async fn endless<L: Around>(layer: impl FnOnce(AtWork) -> L, expected: &str) {
    let (lab, at_work) = (Lab::guarded().await, AtWork::default());
    let worker = lab.worker().state(at_work.clone()).jobs([Registration::of::<Endless, _>()]);
    let worker = worker.cancel_grace(Duration::ZERO).stop_grace(Duration::ZERO);
    let worker = worker.around(layer(at_work.clone())).queue("default", 1).start().await.unwrap();
    let job = Endless.options().enqueue(lab.pool()).await.unwrap();
    if expected == "ready" {
        jobkit_tests::wait(Duration::from_secs(30), "it is at work", || async {
            at_work.now() == 1
        })
        .await;
        given_back(&lab, worker, job.0).await;
    } else {
        assert_eq!(outcome(&lab, job).await, expected);
        ended(lab, worker).await;
    }
    assert_eq!(at_work.now(), 0);
}

/// Polls a future until so many handlers are at work.
async fn until_begun<F: Future + Unpin>(future: &mut F, at_work: &AtWork) {
    std::future::poll_fn(|cx| {
        assert!(Pin::new(&mut *future).poll(cx).is_pending());
        if at_work.now() > 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_8_a_handler_that_a_layer_leaves_in_a_task_ends_with_the_attempt() {
    let left = Arc::new(Mutex::new(None));
    let leave = Arc::clone(&left);
    let layer = |at_work: AtWork| {
        move |_: JobContext, next: Next| {
            let (leave, at_work) = (Arc::clone(&leave), at_work.clone());
            async move {
                *leave.lock().unwrap() = Some(tokio::spawn(next.run()));
                while at_work.now() == 0 {
                    tokio::task::yield_now().await;
                }
                Ok(())
            }
        }
    };
    endless(layer, "finish").await;
    let left = left.lock().unwrap().take().unwrap();
    let late = left.await.unwrap();
    assert_eq!(late.unwrap_err().to_string(), "the attempt is over");
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_9_a_handler_that_a_layer_forgets_ends_with_the_attempt() {
    let layer = |at_work: AtWork| {
        move |_: JobContext, next: Next| {
            let at_work = at_work.clone();
            async move {
                let mut handler = Box::pin(next.run());
                until_begun(&mut handler, &at_work).await;
                std::mem::forget(handler);
                Ok(())
            }
        }
    };
    endless(layer, "finish").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_10_a_handler_that_a_layer_drops_half_way_is_dropped() {
    let layer = |at_work: AtWork| {
        move |_: JobContext, next: Next| {
            let at_work = at_work.clone();
            async move {
                let mut handler = Box::pin(next.run());
                until_begun(&mut handler, &at_work).await;
                drop(handler);
                assert_eq!(at_work.now(), 0);
                Err(JobError::dead("dropped"))
            }
        }
    };
    endless(layer, "dead").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_11_a_layer_that_panics_when_it_is_dropped_takes_no_handler_along() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            // Without the hook of panics, which may take longer than handlers have to leave.
            std::panic::resume_unwind(Box::new("in a drop"));
        }
    }
    let layer = |_| {
        async |_: JobContext, next: Next| {
            let _panics = Panics;
            next.run().await
        }
    };
    endless(layer, "ready").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_12_a_layer_that_hides_a_panic_of_the_handler_is_believed() {
    let (lab, worker) = with(async |_: JobContext, next: Next| {
        let error = next.run().await.unwrap_err().to_string();
        assert_eq!(error, "panicked: ouch");
        Ok(())
    })
    .await;
    let job = act(&lab, Then::Panic("ouch".to_owned())).await;
    assert_eq!(outcome(&lab, job).await, "finish");
    ended(lab, worker).await;
}
