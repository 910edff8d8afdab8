//! Limiters within jobs, by several workers at once.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jobkit::admin::limits::Change;
use jobkit::error::StartError;
use jobkit::policy::Rate;
use jobkit::{Admin, Enqueue, Job, JobContext, Registration, Worker, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

/// When each slot came, and what else there is to say.
#[derive(Default)]
struct Seen {
    slots: Vec<Instant>,
    snoozes: u32,
    denied: Vec<String>,
}

type Scene = Arc<Mutex<Seen>>;

/// Calls something twice, for which it waits so many milliseconds.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 1, retention = "1h")]
struct Call {
    limiter: String,
    within: u64,
    times: u32,
}

impl Call {
    fn new(limiter: &str, within: u64, times: u32) -> Self {
        Self { limiter: limiter.to_owned(), within, times }
    }
}

impl Job<Scene> for Call {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        for _ in 0..self.times {
            let limiter = cx.limiter(&self.limiter).within(Duration::from_millis(self.within));
            let slot = limiter.acquire().await;
            let mut seen = cx.state().lock().unwrap();
            seen.snoozes = seen.snoozes.max(cx.snoozes());
            match slot {
                Ok(()) => seen.slots.push(Instant::now()),
                Err(denied) => {
                    seen.denied.push(format!("{denied:?}"));
                    return Err(denied.into());
                }
            }
        }
        Ok(())
    }
}

fn worker(lab: &Lab, scene: &Scene) -> Worker {
    let worker = lab.worker().state(Arc::clone(scene)).jobs([Registration::of::<Call, _>()]);
    let worker = worker.queue("default", 20);
    worker.limiter("api", Rate::per_second(50).burst(5)).limiter("slow", Rate::per_minute(2))
}

/// Four workers, as of four processes.
async fn workers(lab: &Lab, scene: &Scene) -> Vec<WorkerHandle> {
    let mut workers = Vec::new();
    for _ in 0..4 {
        workers.push(worker(lab, scene).start().await.unwrap());
    }
    workers
}

async fn stop(workers: Vec<WorkerHandle>) {
    for worker in workers {
        worker.stop().await;
    }
}

/// Checks that in no stretch of time came more slots than 5 and 50 a second, if none was noticed
/// later than so long after it came.
fn keeps_to_the_rate(scene: &Scene, slots: usize, late: Duration) {
    let mut slots_seen = scene.lock().unwrap().slots.clone();
    slots_seen.sort_unstable();
    assert_eq!(slots_seen.len(), slots);
    let slot = Duration::from_millis(20);
    for (i, first) in slots_seen.iter().enumerate() {
        for (count, last) in (1..).zip(&slots_seen[i..]) {
            let time = last.duration_since(*first);
            let most = 5.0 + (time + late).as_secs_f64() / slot.as_secs_f64();
            assert!(f64::from(count) <= most, "{count} within {time:?}");
        }
    }
}

async fn nobody_was_charged(lab: &Lab, jobs: i64) {
    let well = "jobkit.finished where outcome = 'finish' and attempt = 1 and errors is null";
    assert_eq!(lab.count(well).await, jobs);
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn four_workers_share_the_slots_of_a_limiter() {
    let lab = Lab::new().await;
    let scene = Scene::default();
    let workers = workers(&lab, &scene).await;
    jobkit::enqueue_all((0..60).map(|_| Call::new("api", 10_000, 2)), lab.pool()).await.unwrap();
    lab.until("(select count(*) from jobkit.finished) = 60").await;
    stop(workers).await;
    keeps_to_the_rate(&scene, 120, Duration::from_millis(500));
    assert_eq!(scene.lock().unwrap().snoozes, 0);
    nobody_was_charged(&lab, 60).await;
}

/// A job that would wait for longer has its slot kept, and comes back for it: once.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_slot_is_far_away_comes_back_once() {
    let lab = Lab::new().await;
    let scene = Scene::default();
    let workers = workers(&lab, &scene).await;
    // Six seconds of slots, and nobody waits longer than one where he is.
    jobkit::enqueue_all((0..300).map(|_| Call::new("api", 1_000, 1)), lab.pool()).await.unwrap();
    lab.until("(select count(*) from jobkit.finished) = 300").await;
    stop(workers).await;
    keeps_to_the_rate(&scene, 300, Duration::from_secs(1));
    let came_back = scene.lock().unwrap().denied.len();
    assert!(came_back > 0, "nobody had to come back");
    // One who finds every worker busy misses his slot, and has another.
    assert!(came_back <= 600, "{came_back} came back");
    assert_eq!(lab.count("jobkit.kept_slots where slot_at > clock_timestamp()").await, 0);
    nobody_was_charged(&lab, 300).await;
}

/// One that would not wait at all has to come back a moment early all the same.
#[tokio::test]
async fn a_job_that_would_not_wait_has_its_slot() {
    let lab = Lab::new().await;
    let scene = Scene::default();
    let worker = worker(&lab, &scene).start().await.unwrap();
    let admin = Admin::new(lab.pool());
    let rate = "30/min".parse::<jobkit::policy::Rate>().unwrap();
    let _set = admin.limiter("slow").set(&Change::new().rate(rate)).await.unwrap();
    jobkit::enqueue_all((0..3).map(|_| Call::new("slow", 0, 1)), lab.pool()).await.unwrap();
    lab.until("(select count(*) from jobkit.finished) = 3").await;
    worker.stop().await;
    assert_eq!(scene.lock().unwrap().slots.len(), 3);
    nobody_was_charged(&lab, 3).await;
}

#[tokio::test]
async fn a_job_that_is_cancelled_waits_for_no_slot() {
    let lab = Lab::new().await;
    let scene = Scene::default();
    let worker = worker(&lab, &scene).start().await.unwrap();
    let job = Call::new("slow", 60_000, 2).enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.semaphores where tat > now() + interval '40 s')").await;
    let cancelled = Instant::now();
    let _done = Admin::new(lab.pool()).job(job).cancel().await.unwrap();
    lab.until("exists (select from jobkit.finished where outcome = 'cancel')").await;
    assert!(cancelled.elapsed() < Duration::from_secs(20));
    // Nothing is locked while somebody waits.
    let second = Call::new("slow", 60_000, 1).enqueue(lab.pool()).await.unwrap();
    lab.until(&format!("exists (select from jobkit.claims where {} = any (job_ids))", second.0))
        .await;
    worker.stop().await;
    let (denied, slots) = {
        let seen = scene.lock().unwrap();
        (seen.denied.clone(), seen.slots.len())
    };
    assert_eq!(denied.first().unwrap(), "Stopped(Cancelled)");
    assert_eq!(slots, 1);
    // It was told to stop, and gave the job back: uncharged.
    assert_eq!(lab.count("jobkit.jobs where attempt = 0").await, 1);
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_pause_stops_those_who_wait_already() {
    let lab = Lab::new().await;
    let scene = Scene::default();
    let worker = worker(&lab, &scene).start().await.unwrap();
    let admin = Admin::new(lab.pool());
    let fast = "1/s".parse::<jobkit::policy::Rate>().unwrap();
    let _set = admin.limiter("slow").set(&Change::new().rate(fast)).await.unwrap();
    jobkit::enqueue_all((0..3).map(|_| Call::new("slow", 60_000, 1)), lab.pool()).await.unwrap();
    lab.until("(select count(*) from jobkit.finished) = 1").await;
    let (asked, rest) = (Instant::now(), Duration::from_secs(4));
    let _paused = admin.key("slow", "slow").pause_for(rest, "429").await.unwrap();
    let paused = Instant::now();
    lab.until("(select count(*) from jobkit.finished) = 3").await;
    worker.stop().await;
    let slots = scene.lock().unwrap().slots.clone();
    // A slot that came just before the pause may be noted late.
    let (from, to) = (paused + rest / 5, asked + rest / 10 * 9);
    assert!(!slots.iter().any(|at| (from..to).contains(at)), "{slots:?}");
    assert!(*slots.last().unwrap() >= to, "{slots:?}");
    nobody_was_charged(&lab, 3).await;
}

#[tokio::test]
async fn what_is_wrong_with_limiters_is_said() {
    let lab = Lab::new().await;
    let scene = Scene::default();
    let rate = Rate::per_second(1);
    let wrong = worker(&lab, &scene).limiter("api", rate).limiter("", rate);
    let wrong = wrong.limiter("y", rate.burst(0)).start().await;
    let Err(StartError::Problems(problems)) = wrong else { panic!("it started") };
    let problems = problems.to_string();
    for part in ["limiter `api` was given twice", "limiter ``:", "limiter `y`: the burst"] {
        assert!(problems.contains(part), "{problems}");
    }
    let worker = worker(&lab, &scene).start().await.unwrap();
    Call::new("unknown", 0, 1).enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.dead_letters)").await;
    worker.stop().await;
    assert_eq!(scene.lock().unwrap().denied, ["Unknown(\"unknown\")"]);
}
