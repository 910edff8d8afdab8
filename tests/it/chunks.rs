//! Jobs that run in chunks: who meets in a call, and what becomes of each.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jobkit::chunk::{ChunkJob, Member, run_for_test};
use jobkit::error::StartError;
use jobkit::policy::Policy;
use jobkit::{Enqueue, JobError, JobId, JobType, Registration, Worker, job};
use jobkit_tests::{Lab, wait};
use serde::{Deserialize, Serialize};

/// The calls so far, each with the numbers of its jobs in order.
#[derive(Clone, Default)]
struct Calls {
    begun: Arc<Mutex<Vec<Vec<i64>>>>,
    dropped: Arc<Mutex<usize>>,
}

impl Calls {
    fn begun(&self) -> Vec<Vec<i64>> {
        self.begun.lock().unwrap().clone()
    }

    fn dropped(&self) -> usize {
        *self.dropped.lock().unwrap()
    }
}

/// Counts the calls that are dropped before they end.
struct Drops<'a>(&'a Calls, bool);

impl Drop for Drops<'_> {
    fn drop(&mut self) {
        *self.0.dropped.lock().unwrap() += usize::from(!self.1);
    }
}

const PATIENCE: Duration = Duration::from_secs(30);

/// One of a chunk: its number, and what is to become of it.
#[derive(Serialize, Deserialize, Clone)]
struct Item {
    number: i64,
    then: String,
}

/// Waits until there are four of them.
#[derive(Serialize, Deserialize)]
#[job(chunk = 4, linger = "1m", max_attempts = 2, backoff = fixed("1h"), redact(item.then))]
struct Patient {
    item: Item,
}

/// Waits for others for a moment.
#[derive(Serialize, Deserialize)]
#[job(chunk = 4, linger = "100ms", max_attempts = 2, backoff = fixed("1h"))]
struct Brief(Item);

/// Has a permit, and little time.
#[derive(Serialize, Deserialize)]
#[job(
    chunk = 10,
    linger = "100ms",
    timeout = "3s",
    backoff = fixed("1h"),
    concurrency_key = "all",
    concurrency_limit = 2
)]
struct Limited(Item);

impl ChunkJob<Calls> for Patient {
    async fn run(chunk: Vec<Member<Self, Calls>>) -> jobkit::Result {
        act(&chunk, |member| &member.item).await
    }
}

impl ChunkJob<Calls> for Brief {
    async fn run(chunk: Vec<Member<Self, Calls>>) -> jobkit::Result {
        act(&chunk, |member| &member.0).await
    }
}

impl ChunkJob<Calls> for Limited {
    async fn run(chunk: Vec<Member<Self, Calls>>) -> jobkit::Result {
        act(&chunk, |member| &member.0).await
    }
}

async fn act<J>(chunk: &[Member<J, Calls>], item: fn(&J) -> &Item) -> jobkit::Result {
    let calls = chunk[0].state().clone();
    let mut numbers: Vec<i64> = chunk.iter().map(|member| item(member).number).collect();
    numbers.sort();
    calls.begun.lock().unwrap().push(numbers);
    let mut drops = Drops(&calls, false);
    for member in chunk {
        match &*item(member).then {
            "succeed" => member.answer(Ok(())),
            "fail" => member.answer(Err("it failed".into())),
            "discard" => member.answer(Err(JobError::discard("pointless"))),
            "dead" => member.answer(Err(JobError::dead("no hope"))),
            "snooze" => member.answer(Err(JobError::snooze(Duration::from_secs(3600)))),
            _ => {}
        }
    }
    for member in chunk {
        match &*item(member).then {
            "ignore" => std::future::pending().await,
            "call fails" => {
                drops.1 = true;
                return Err(std::io::Error::other("the call failed: call fails").into());
            }
            "call panics" => panic!("the call panicked"),
            _ => {}
        }
    }
    drops.1 = true;
    Ok(())
}

fn patient(number: i64, then: &str) -> Patient {
    Patient { item: item(number, then) }
}

fn item(number: i64, then: &str) -> Item {
    Item { number, then: then.to_owned() }
}

fn worker(lab: &Lab, calls: &Calls) -> Worker {
    lab.worker().state(calls.clone()).jobs([
        Registration::of_chunk::<Patient, _>(),
        Registration::of_chunk::<Brief, _>(),
        Registration::of_chunk::<Limited, _>(),
    ])
}

async fn enqueue(lab: &Lab, thens: &[&str]) -> Vec<JobId> {
    let jobs = (1..).zip(thens).map(|(number, then)| Brief(item(number, then)));
    jobkit::enqueue_all(jobs, lab.pool()).await.unwrap()
}

/// Where a job is, and its errors.
async fn place(lab: &Lab, job: JobId) -> String {
    let attempts = "coalesce(': ' || (
        select string_agg(a.error, ', ') from jobkit.attempts a where a.job_id = {}), '')";
    let sql = "select coalesce(
        (select f.outcome || coalesce(': ' || f.reason, '') from jobkit.finished f
         where f.job_id = {}),
        (select 'dead: ' || (d.errors -> -1 ->> 'error') from jobkit.dead_letters d
         where d.job_id = {}),
        (select 'scheduled, charged ' || j.attempt || {attempts} from jobkit.scheduled s
         join jobkit.jobs j on j.id = s.job_id where s.job_id = {}),
        (select 'ready, charged ' || j.attempt from jobkit.ready r
         join jobkit.jobs j on j.id = r.job_id where r.job_id = {}), 'running')";
    lab.value(&sql.replace("{attempts}", attempts).replace("{}", &job.to_string())).await
}

async fn expect(lab: &Lab, jobs: &[JobId], places: &[&str]) {
    for (job, expected) in jobs.iter().zip(places) {
        let within = Instant::now() + PATIENCE;
        while place(lab, *job).await != *expected {
            assert!(Instant::now() < within, "{job} is {}, not {expected}", place(lab, *job).await);
        }
    }
    lab.check_invariants().await;
}

#[tokio::test]
async fn jobs_that_fill_a_chunk_begin_at_once_in_one_call() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let jobs = (1..=8).map(|number| patient(number, ""));
    let jobs = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let worker = worker(&lab, &calls).queue("default", 20).start().await.unwrap();
    expect(&lab, &jobs, &["finish"; 8]).await;
    assert_eq!(calls.begun().iter().map(Vec::len).collect::<Vec<_>>(), [4, 4]);
    worker.stop().await;
}

#[tokio::test]
async fn a_chunk_has_no_more_jobs_than_the_queue_has_slots() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let jobs = (1..=9).map(|number| patient(number, ""));
    let jobs = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let worker = worker(&lab, &calls).queue("default", 3).start().await.unwrap();
    expect(&lab, &jobs, &["finish"; 9]).await;
    assert_eq!(calls.begun().iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 3]);
    worker.stop().await;
}

#[tokio::test]
async fn a_lone_job_waits_for_others_as_long_as_said() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let worker = worker(&lab, &calls).queue("default", 20).start().await.unwrap();
    let began = Instant::now();
    let jobs = enqueue(&lab, &[""]).await;
    expect(&lab, &jobs, &["finish"]).await;
    assert!(began.elapsed() >= Duration::from_millis(100), "{:?}", began.elapsed());
    assert_eq!(calls.begun(), [[1]]);
    worker.stop().await;
}

#[tokio::test]
async fn a_chunk_is_of_one_queue() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let here = (1..=2).map(|number| Brief(item(number, "")).options());
    let there = (3..=4).map(|number| Brief(item(number, "")).options().queue("other"));
    let jobs = jobkit::enqueue_all(here.chain(there), lab.pool()).await.unwrap();
    let worker = worker(&lab, &calls).queue("default", 5).queue("other", 5);
    let worker = worker.start().await.unwrap();
    expect(&lab, &jobs, &["finish"; 4]).await;
    let mut begun = calls.begun();
    begun.sort();
    assert_eq!(begun, [[1, 2], [3, 4]]);
    worker.stop().await;
}

#[tokio::test]
async fn each_member_has_an_outcome_of_its_own() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let jobs = enqueue(&lab, &["fail", "discard", "", "dead"]).await;
    let more = enqueue(&lab, &["snooze", "succeed"]).await;
    let worker = worker(&lab, &calls).queue("default", 20).start().await.unwrap();
    let failed = "scheduled, charged 1: it failed";
    expect(&lab, &jobs, &[failed, "discard: pointless", "finish", "dead: no hope"]).await;
    expect(&lab, &more, &["scheduled, charged 0", "finish"]).await;
    worker.stop().await;
}

#[tokio::test]
async fn what_a_call_returns_is_the_outcome_of_those_that_have_none() {
    for (call, error) in [("call fails", "the call failed: call fails"), ("call panics", "")] {
        let (lab, calls) = (Lab::guarded().await, Calls::default());
        let jobs = enqueue(&lab, &["succeed", "discard", call, ""]).await;
        let worker = worker(&lab, &calls).queue("default", 4).start().await.unwrap();
        let error = if error.is_empty() { "panicked: the call panicked" } else { error };
        let failed = &*format!("scheduled, charged 1: {error}");
        expect(&lab, &jobs, &["finish", "discard: pointless", failed, failed]).await;
        worker.stop().await;
    }
}

#[tokio::test]
async fn an_error_of_all_keeps_its_type_and_hides_what_any_redacts() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let jobs = ["call fails", "", "", ""].map(|then| patient(1, then));
    let jobs = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let worker = worker(&lab, &calls).queue("default", 4).start().await.unwrap();
    expect(&lab, &jobs, &["scheduled, charged 1: the call failed: •••"; 4]).await;
    let types: Vec<Option<String>> =
        sqlx::query_scalar("select distinct error_type from jobkit.attempts")
            .fetch_all(lab.pool())
            .await
            .unwrap();
    assert_eq!(types, [Some("std::io::error::Error".to_owned())]);
    worker.stop().await;
}

#[tokio::test]
async fn a_member_that_is_cancelled_ends_alone() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let jobs = enqueue(&lab, &["", "ignore", "", "succeed"]).await;
    let worker = worker(&lab, &calls).queue("default", 4).start().await.unwrap();
    // What was answered is recorded though the call goes on.
    lab.until("exists (select from jobkit.finished)").await;
    assert_eq!(place(&lab, jobs[3]).await, "finish");
    let admin = jobkit::admin::Admin::new(lab.pool());
    for job in &jobs[..3] {
        assert_eq!(calls.dropped(), 0);
        admin.job(*job).cancel().await.unwrap();
        lab.until(&format!("exists (select from jobkit.finished where job_id = {job})")).await;
    }
    let cancelled = "cancel: cancelled while running";
    expect(&lab, &jobs, &[cancelled, cancelled, cancelled, "finish"]).await;
    wait(PATIENCE, "the call was dropped", || async { calls.dropped() == 1 }).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_job_that_waits_for_its_chunk_ends_or_goes_back_when_it_is_told() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let jobs = [1, 2].map(|number| patient(number, ""));
    let jobs = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let worker = worker(&lab, &calls).queue("default", 4).start().await.unwrap();
    let handlers = "coalesce(sum(cardinality(job_ids)), 0) = ";
    lab.until(&format!("{handlers} 2 from jobkit.claims")).await;
    jobkit::admin::Admin::new(lab.pool()).job(jobs[0]).cancel().await.unwrap();
    lab.until(&format!("{handlers} 1 from jobkit.claims")).await;
    let told = Instant::now();
    worker.stop().await;
    assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
    expect(&lab, &jobs, &["cancel: cancelled while running", "ready, charged 0"]).await;
    assert_eq!(calls.begun(), Vec::<Vec<i64>>::new());
}

#[tokio::test]
async fn what_crashed_twice_runs_alone() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let jobs = enqueue(&lab, &["", "", ""]).await;
    lab.run(&format!("update jobkit.jobs set crashes = 2 where id = {}", jobs[1])).await;
    let worker = worker(&lab, &calls).queue("default", 4).start().await.unwrap();
    expect(&lab, &jobs, &["finish"; 3]).await;
    let mut begun = calls.begun();
    begun.sort();
    assert_eq!(begun, [vec![1, 3], vec![2]]);
    worker.stop().await;
}

#[tokio::test]
async fn what_does_not_decode_or_comes_too_late_is_not_of_the_chunk() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let mut jobs = enqueue(&lab, &["", ""]).await;
    let late = Brief(item(3, "")).options().expires(Duration::from_secs(1));
    jobs.push(late.enqueue(lab.pool()).await.unwrap());
    lab.run(&format!(
        "update jobkit.jobs set args = '7' where id = {};
        update jobkit.jobs set run_at = run_at - interval '1 hour',
            created_at = created_at - interval '1 hour' where id = {}",
        jobs[1], jobs[2]
    ))
    .await;
    let worker = worker(&lab, &calls).queue("default", 4).start().await.unwrap();
    lab.until("count(*) = 2 from jobkit.finished").await;
    lab.until("not exists (select from jobkit.claims)").await;
    assert_eq!(calls.begun(), [[1]]);
    let undecodable = place(&lab, jobs[1]).await;
    assert!(undecodable.starts_with("scheduled, charged 1: the payload does not"), "{undecodable}");
    assert!(place(&lab, jobs[2]).await.starts_with("expire: expired"));
    worker.stop().await;
}

#[tokio::test]
async fn each_member_has_a_permit_and_a_timeout_of_its_own() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let jobs = ["", "", "ignore", ""].map(|then| Limited(item(1, then)));
    let jobs = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let worker = worker(&lab, &calls).queue("default", 10).start().await.unwrap();
    let late = "scheduled, charged 1: timed out after 3s";
    lab.until("count(*) = 2 from jobkit.attempts").await;
    expect(&lab, &jobs, &["finish", "finish", late, late]).await;
    assert_eq!(calls.begun().iter().map(Vec::len).max(), Some(2));
    wait(PATIENCE, "the call was dropped", || async { calls.dropped() == 1 }).await;
    worker.stop().await;
}

#[tokio::test]
async fn a_lost_lease_drops_the_call() {
    let (lab, calls) = (Lab::guarded().await, Calls::default());
    let jobs = enqueue(&lab, &["ignore", "", "", ""]).await;
    let worker = worker(&lab, &calls).queue("default", 4).start().await.unwrap();
    wait(PATIENCE, "it began", || async { calls.begun().len() == 1 }).await;
    lab.run("delete from jobkit.workers").await;
    wait(PATIENCE, "the call was dropped", || async { calls.dropped() >= 1 }).await;
    worker.stop().await;
    assert_eq!(jobs.len(), 4);
}

#[tokio::test]
async fn a_test_runs_a_chunk_without_a_database() {
    let calls = Calls::default();
    let jobs = ["succeed", "discard", "", "call fails"].map(|then| Brief(item(1, then)));
    let outcomes = run_for_test(jobs.into(), calls.clone()).await;
    let texts = outcomes.iter().map(|outcome| outcome.as_ref().err().map(ToString::to_string));
    let failed = || Some("the call failed: call fails".to_owned());
    let expected = [None, Some("pointless".to_owned()), failed(), failed()];
    assert_eq!(texts.collect::<Vec<_>>(), expected);
    assert!(run_for_test(Vec::<Brief>::new(), calls).await.is_empty());
}

/// Lingers for as long as it may run.
#[derive(Serialize, Deserialize)]
struct Slow;

impl JobType for Slow {
    type Output = ();

    const POLICY: Policy = Policy {
        chunk: Some(jobkit::policy::Chunk { max: 0, linger: Duration::from_secs(5) }),
        timeout: Some(Duration::from_secs(5)),
        ..Policy::new("slow")
    };
}

impl ChunkJob for Slow {
    async fn run(_chunk: Vec<Member<Self>>) -> jobkit::Result {
        Ok(())
    }
}

#[tokio::test]
async fn a_worker_refuses_a_chunk_that_cannot_be() {
    let lab = Lab::new().await;
    let worker = lab.worker().jobs([Registration::of_chunk::<Slow, _>()]).queue("default", 1);
    let Err(StartError::Problems(problems)) = worker.start().await else { panic!("it is refused") };
    let text = problems.to_string();
    assert!(text.contains("`chunk` must be 1 to 1000, and `linger` 1 ms to 1 minute"), "{text}");
    assert!(text.contains("make `linger` shorter"), "{text}");
}
