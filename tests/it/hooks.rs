//! Hooks hear of what has happened, and hold up nothing; and what jobs carry arrives.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use jobkit::around::Next;
use jobkit::enqueue::Statement;
use jobkit::hooks::{AlreadySet, Event, Outcome, on_enqueue, propagate};
use jobkit::unique::While;
use jobkit::{
    Admin, Enqueue, Job, JobContext, JobId, Registration, WorkerHandle, enqueue_all, job,
};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use tokio::task_local;

use crate::jobs::{self, Act, EFFECTS, Noop, Then};
use crate::lifecycle::{act, outcome};

/// How long a test waits for what must happen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Completes itself in a transaction of its own, and fails then.
#[derive(Serialize, Deserialize)]
#[job(kind = "of_hooks_in_tx", retention = "1h")]
struct InTransaction;

impl Job<PgPool> for InTransaction {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        let mut tx = cx.state().begin().await?;
        cx.complete_in(&mut tx).await?;
        tx.commit().await?;
        Err("too late to fail".into())
    }
}

/// The hook of new jobs panics when it hears of one.
#[derive(Serialize, Deserialize)]
#[job(kind = "of_hooks_loud", retention = none)]
struct Loud;

impl Job for Loud {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// A lab, a worker with a hook, and what the hook hears.
async fn heard() -> (Lab, WorkerHandle, Receiver<Event>) {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let (worker, hears) = hearing(&lab).await;
    (lab, worker, hears)
}

async fn hearing(lab: &Lab) -> (WorkerHandle, Receiver<Event>) {
    let (tells, hears) = channel();
    let worker = lab.worker().heartbeat(Duration::from_millis(50)).state(lab.pool().clone());
    let own = [Registration::of::<InTransaction, _>()];
    let worker = worker.jobs(jobs::all().into_iter().chain(own));
    let worker = worker.hook(move |event| drop(tells.send(event.clone())));
    (worker.queue("default", 3).start().await.unwrap(), hears)
}

/// What the hook hears of the first outcome of a job, of which this is true by then.
async fn heard_of(lab: &Lab, hears: &Receiver<Event>, job: JobId, so: &str) -> Outcome {
    let ended = |event| match event {
        Event::Ended(ended) if ended.job == job => Some(ended.outcome),
        _ => None,
    };
    let outcome = hears.iter().find_map(ended).unwrap();
    let so: bool = lab.value(&format!("select exists (select from {so} = {job})")).await;
    assert!(so, "{outcome:?} is told before it is committed");
    outcome
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_hears_of_the_worker_and_of_each_outcome() {
    let (lab, worker, hears) = heard().await;
    let id = worker.id();
    let thens = [
        (Then::FailTimes(1), "finish"),
        (Then::Fail("no".to_owned()), "exhausted"),
        (Then::Discard, "discard"),
        (Then::SnoozeTimes(1), "finish"),
    ];
    let mut jobs = Vec::new();
    for (then, end) in thens {
        let job = act(&lab, then).await;
        assert_eq!(outcome(&lab, job).await, end);
        jobs.push(job);
    }
    let ended = |event: &Event| match event {
        Event::Ended(ended) => Some(ended.clone()),
        _ => None,
    };
    // It hears of an outcome after everybody can see it, and of a stop at once.
    let mut events = Vec::new();
    while events.iter().filter_map(ended).count() < 8 {
        events.push(hears.recv_timeout(PATIENCE).unwrap());
    }
    worker.stop().await;
    events.extend(hears);
    let all: Vec<_> = events.iter().filter_map(ended).collect();
    let outcomes = |n: usize| -> Vec<_> {
        let of_job = all.iter().filter(|ended| ended.job == jobs[n]);
        of_job.map(|ended| (ended.outcome, ended.run.as_ref().unwrap().attempt)).collect()
    };
    use Outcome::{Bury, Discard, Finish, Retry, Snooze};
    assert_eq!(outcomes(0), [(Retry, 1), (Finish, 2)]);
    assert_eq!(outcomes(1), [(Retry, 1), (Retry, 2), (Bury, 3)]);
    assert_eq!(outcomes(2), [(Discard, 1)]);
    assert_eq!(outcomes(3), [(Snooze, 1), (Finish, 1)]);
    let dead = all.iter().find(|ended| ended.outcome == Bury).unwrap();
    assert_eq!((dead.error.as_deref(), dead.again_in), (Some("no"), None));
    let retried = all.iter().find(|ended| ended.outcome == Retry).unwrap();
    assert!(retried.again_in.is_some());
    let run = retried.run.as_ref().unwrap();
    assert_eq!((run.kind, &*run.queue), ("act", "default"));
    assert!(matches!(events[0], Event::Started { worker } if worker == id), "{events:?}");
    let [.., stopping, stopped] = &events[..] else { panic!("{events:?}") };
    assert!(matches!(stopping, Event::Stopping { worker } if *worker == id), "{events:?}");
    assert!(matches!(stopped, Event::Stopped { worker } if *worker == id), "{events:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_hears_of_an_outcome_after_its_commit() {
    let (lab, worker, hears) = heard().await;
    let (tells, told) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || hears.iter().for_each(|event| drop(tells.send(event))));
    let mut told = told;
    for _ in 0..20 {
        let job = Noop.enqueue(lab.pool()).await.unwrap();
        loop {
            match told.recv().await.unwrap() {
                Event::Ended(ended) if ended.job == job => break,
                _ => {}
            }
        }
        assert_eq!(lab.count(&format!("jobkit.jobs where id = {job}")).await, 0);
    }
    worker.stop().await;
}

const FINISHED: &str = "jobkit.finished f where f.job_id";

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_hears_of_ends_that_no_handler_asked_for_after_their_commit() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let second = Duration::from_secs(1);
    let late =
        Act::then(Then::Succeed).options().expires(second).enqueue(lab.pool()).await.unwrap();
    lab.until(&format!("now() > created_at + interval '1.1 s' from jobkit.jobs where id = {late}"))
        .await;
    let (worker, hears) = hearing(&lab).await;
    assert_eq!(heard_of(&lab, &hears, late, FINISHED).await, Outcome::Expire);

    let runs = |job| format!("exists (select from effects where job_id = {job})");
    let cancelled = act(&lab, Then::WaitForCancel).await;
    lab.until(&runs(cancelled)).await;
    Admin::new(lab.pool()).job(cancelled).cancel().await.unwrap();
    assert_eq!(heard_of(&lab, &hears, cancelled, FINISHED).await, Outcome::Cancel);

    let unique = |then| Act::then(then).options().unique_key("k").unique_while(While::Queued);
    let first = unique(Then::FailAfter(second)).enqueue_unique(lab.pool()).await.unwrap().id();
    lab.until(&runs(first)).await;
    let other = unique(Then::Succeed).after(second * 3600);
    other.enqueue_unique(lab.pool()).await.unwrap();
    assert_eq!(heard_of(&lab, &hears, first, FINISHED).await, Outcome::Supersede);

    let in_transaction = InTransaction.enqueue(lab.pool()).await.unwrap();
    assert_eq!(heard_of(&lab, &hears, in_transaction, FINISHED).await, Outcome::Finish);

    let released = act(&lab, Then::WaitForStop).await;
    lab.until(&runs(released)).await;
    worker.stop().await;
    let ready = "jobkit.ready r where r.job_id";
    assert_eq!(heard_of(&lab, &hears, released, ready).await, Outcome::Release);
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_a_hook_that_blocks_for_good_holds_up_no_job_and_no_stop() {
    let lab = Lab::guarded().await;
    let (never, comes) = channel::<()>();
    let worker = lab.worker().jobs([Registration::of::<Noop, _>()]);
    let comes = Mutex::new(comes);
    let worker = worker.hook(move |_| comes.lock().unwrap().recv().unwrap_or_default());
    let worker = worker.queue("default", 50).start().await.unwrap();
    enqueue_all((0..1_500).map(|_| Noop), lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    // The last outcomes are counted after they are written.
    jobkit_tests::wait(PATIENCE, "events are dropped", || async {
        worker.counts().unheard >= 1_500 - 1_024 - 1
    })
    .await;
    worker.stop().await;
    lab.check_invariants().await;
    assert_eq!(lab.count("jobkit.workers").await, 0);
    drop(never);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_a_hook_that_panics_hears_on_and_holds_up_no_job() {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let heard = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&heard);
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    let worker = worker.hook(move |_| {
        *counted.lock().unwrap() += 1;
        // Without the hook of panics, which takes its time.
        std::panic::resume_unwind(Box::new("a hook"))
    });
    let worker = worker.queue("default", 1).start().await.unwrap();
    for _ in 0..3 {
        let job = act(&lab, Then::Succeed).await;
        assert_eq!(outcome(&lab, job).await, "finish");
    }
    worker.stop().await;
    lab.check_invariants().await;
    // A stop does not wait long for hooks; they hear on.
    let all = "started, three outcomes, stopping, stopped";
    jobkit_tests::wait(PATIENCE, all, async || *heard.lock().unwrap() == 6).await;
}

task_local! {
    /// What the jobs of one test carry.
    static REQUEST: &'static str;
}

/// What a slow propagator waits for.
static GATE: Mutex<Option<Receiver<()>>> = Mutex::new(None);

/// Installs what there is one of in each process; the other tests carry nothing.
fn carry_requests() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let fill = |carried: &mut jobkit::hooks::Carrier| {
            let Ok(request) = REQUEST.try_with(|request| *request) else { return };
            assert_ne!(request, "panics");
            if request == "slow" {
                let gate = GATE.lock().unwrap().take().unwrap();
                gate.recv_timeout(PATIENCE).unwrap();
            }
            carried.set("request", request);
        };
        propagate(fill).unwrap();
        assert_eq!(propagate(|_| {}), Err(AlreadySet));
    });
}

fn succeeds() -> Act {
    Act::then(Then::Succeed)
}

/// Nine jobs, one of which has metadata that is no object.
async fn enqueue_in_every_way(lab: &Lab) {
    let pool = lab.pool();
    let metadata = || serde_json::json!({ "who": "ada" });
    succeeds().enqueue(pool).await.unwrap();
    let minute = Duration::from_secs(60);
    let expires = succeeds().options().metadata(metadata()).expires(minute);
    expires.enqueue(pool).await.unwrap();
    let two = [succeeds().options().metadata(metadata()), succeeds().options()];
    enqueue_all(two, pool).await.unwrap();
    succeeds().options().unique_key("a").enqueue_unique(pool).await.unwrap();
    let statements = [Statement::enqueue(succeeds()), Statement::enqueue_all([succeeds()])];
    for statement in statements.map(Result::unwrap) {
        let query = sqlx::query(statement.sql());
        let query = statement.parameters().iter().fold(query, |query, text| query.bind(text));
        query.execute(pool).await.unwrap();
    }
    let array = serde_json::json!([1]);
    succeeds().options().metadata(array).enqueue(pool).await.unwrap();
    let worker = lab.worker().state(pool.clone()).jobs(jobs::all()).queue("none", 1);
    // It announces the kind, which an enqueue by name needs.
    worker.start().await.unwrap().stop().await;
    let args = serde_json::to_value(succeeds()).unwrap();
    Admin::new(pool).enqueue("act", args).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_propagated_arrives_whatever_the_way_in() {
    carry_requests();
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = Arc::clone(&seen);
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    let worker = worker.around(move |cx: JobContext, next: Next| {
        let sees = Arc::clone(&sees);
        async move {
            let carried = cx.carried();
            sees.lock().unwrap().push(carried.get("request").map(str::to_owned));
            next.run().await
        }
    });
    let worker = worker.queue("default", 3);
    let worker = REQUEST.scope("7", async {
        enqueue_in_every_way(&lab).await;
        worker.schedule("nightly", "@daily", succeeds()).start().await.unwrap()
    });
    let worker = worker.await;
    let admin = Admin::new(lab.pool());
    admin.schedule("nightly").run().await.unwrap();
    lab.until("(select count(*) from effects where what = 'end') = 10").await;
    worker.stop().await;
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.sort();
    let expected = [vec![None], vec![Some("7".to_owned()); 9]].concat();
    assert_eq!(seen, expected, "the schedule's carries nothing");
    let kept = "jobkit.finished where metadata->>'who' = 'ada'
        and terms #>> '{carried,request}' = '7'";
    assert_eq!(lab.count(kept).await, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_a_propagator_that_panics_fails_no_enqueue() {
    carry_requests();
    let lab = Lab::guarded().await;
    REQUEST.scope("panics", Noop.enqueue(lab.pool())).await.unwrap();
    assert_eq!(lab.count("jobkit.jobs where terms is null").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_a_propagator_that_is_slow_delays_its_own_enqueue_alone() {
    carry_requests();
    let lab = Lab::guarded().await;
    let (opens, gate) = channel();
    *GATE.lock().unwrap() = Some(gate);
    let pool = lab.pool().clone();
    let slow = tokio::spawn(REQUEST.scope("slow", async move { Noop.enqueue(&pool).await }));
    jobkit_tests::wait(PATIENCE, "it is asked", async || GATE.lock().unwrap().is_none()).await;
    let other = Noop.enqueue(lab.pool()).await.unwrap();
    assert!(!slow.is_finished());
    assert_eq!(lab.count("jobkit.jobs").await, 1);
    opens.send(()).unwrap();
    let slow = slow.await.unwrap().unwrap();
    let carries = "terms #>> '{carried,request}' = 'slow'";
    assert_eq!(lab.count(&format!("jobkit.jobs where id = {slow} and {carries}")).await, 1);
    assert_eq!(lab.count(&format!("jobkit.jobs where id = {other} and terms is null")).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_of_the_process_hears_of_new_jobs_and_its_panics_lose_none() {
    let (tells, hears) = channel();
    let tells = Mutex::new(tells);
    on_enqueue(move |sent| {
        if sent.kind == "of_hooks_loud" {
            // Without the hook of panics, which takes its time.
            std::panic::resume_unwind(Box::new("a hook"));
        }
        if sent.jobs.len() == 3 || sent.kind == "noop" {
            // The test may be over.
            drop(tells.lock().unwrap().send(sent.clone()));
        }
    })
    .unwrap();
    assert_eq!(on_enqueue(|_| {}), Err(AlreadySet));
    let lab = Lab::guarded().await;
    Loud.enqueue(lab.pool()).await.unwrap();
    let mut tx = lab.pool().begin().await.unwrap();
    enqueue_all([Loud, Loud], &mut *tx).await.unwrap();
    Loud.options().unique_key("k").enqueue_unique(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(lab.count("jobkit.ready").await, 4);
    let one = Noop.enqueue(lab.pool()).await.unwrap();
    let three = enqueue_all([Noop, Noop, Noop], lab.pool()).await.unwrap();
    for jobs in [vec![one], three] {
        // Other tests of this process enqueue such jobs as well.
        let sent = hears.iter().find(|sent| sent.jobs == jobs).unwrap();
        assert_eq!(sent.kind, "noop");
    }
}
