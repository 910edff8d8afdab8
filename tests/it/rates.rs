//! Rates of concurrency keys, by several workers at once.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jobkit::admin::limits::{Change, Rate, To};
use jobkit::{Admin, Job, JobContext, Registration, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

/// When each run began.
type Begun = Arc<Mutex<Vec<Instant>>>;

#[derive(Serialize, Deserialize)]
#[job(concurrency_key = "k", rate = "50/s", burst = 5, retention = "1h")]
struct Paced;

impl Job<Begun> for Paced {
    async fn run(self, cx: JobContext<Begun>) -> jobkit::Result {
        cx.state().lock().unwrap().push(Instant::now());
        Ok(())
    }
}

/// The third to run is told to rest for three seconds.
#[derive(Serialize, Deserialize)]
#[job(rate = "100/s", burst = 1, retention = "1h")]
struct Told;

impl Job<Begun> for Told {
    async fn run(self, cx: JobContext<Begun>) -> jobkit::Result {
        let begun = {
            let mut begun = cx.state().lock().unwrap();
            begun.push(Instant::now());
            begun.len()
        };
        if begun == 3 {
            return Err(cx.retry_after(Duration::from_secs(3), "429").await);
        }
        Ok(())
    }
}

/// Four workers, as of four processes.
async fn workers(lab: &Lab, begun: &Begun, job: Registration) -> Vec<WorkerHandle> {
    let mut workers = Vec::new();
    for _ in 0..4 {
        let worker = lab.worker().state(Arc::clone(begun)).jobs([job]);
        workers.push(worker.queue("default", 10).start().await.unwrap());
    }
    workers
}

async fn stop(workers: Vec<WorkerHandle>) {
    for worker in workers {
        worker.stop().await;
    }
}

const WRITES: &str = "
    create table writes (job_id bigint, place text);
    create function note() returns trigger language plpgsql as
        'begin insert into public.writes values (new.job_id, tg_argv[0]); return null; end';
    create trigger note after insert on jobkit.ready
        for each row execute function note('ready');
    create trigger note after insert on jobkit.blocked_executions
        for each row execute function note('blocked')";

#[tokio::test(flavor = "multi_thread")]
async fn four_workers_keep_to_one_rate_and_write_each_job_twice() {
    const JOBS: u32 = 120;
    let lab = Lab::new().await;
    lab.run(WRITES).await;
    let begun = Begun::default();
    jobkit::enqueue_all((0..JOBS).map(|_| Paced), lab.pool()).await.unwrap();
    let workers = workers(&lab, &begun, Registration::of::<Paced, _>()).await;
    lab.until(&format!("(select count(*) from jobkit.finished) = {JOBS}")).await;
    stop(workers).await;
    let begun = begun.lock().unwrap().clone();
    // In no stretch of time more than the burst and what the rate gives; a claim that is a moment
    // late is seen as a stretch that is shorter by so much.
    let (slot, late) = (Duration::from_millis(20), Duration::from_millis(500));
    for (i, first) in begun.iter().enumerate() {
        for (count, last) in (1..).zip(&begun[i..]) {
            let most =
                5.0 + (last.duration_since(*first) + late).as_secs_f64() / slot.as_secs_f64();
            assert!(f64::from(count) <= most, "{count} within {:?}", last.duration_since(*first));
        }
    }
    let took = begun.last().unwrap().duration_since(begun[0]);
    assert!(took >= slot * (JOBS - 5) - late, "{took:?}");
    let most = async |group: &str| {
        let writes = format!("(select count(*) as n from writes group by {group}) w");
        let most = "select percentile_disc(0.9) within group (order by n)";
        lab.value::<i64>(&format!("{most} from {writes}")).await
    };
    // Its enqueue, and over the rate blocked and ready. On a busy machine a few are given back.
    assert_eq!((most("job_id, place").await <= 2, most("job_id").await), (true, 3));
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_job_that_is_told_to_rest_stops_its_key_everywhere() {
    let lab = Lab::new().await;
    let begun = Begun::default();
    jobkit::enqueue_all((0..40).map(|_| Told), lab.pool()).await.unwrap();
    let workers = workers(&lab, &begun, Registration::of::<Told, _>()).await;
    lab.until("exists (select from jobkit.semaphores where paused_until > now())").await;
    let admin = Admin::new(lab.pool());
    let job: i64 = lab.value("select min(job_id) from jobkit.blocked_executions").await;
    let why = admin.job(jobkit::JobId(job)).explain().await.unwrap().unwrap().sentence;
    assert!(why.starts_with("Waits for its key told/told, paused until"), "{why}");
    lab.until("(select count(*) from jobkit.finished) = 40").await;
    stop(workers).await;
    let begun = begun.lock().unwrap().clone();
    let told = begun[2];
    let meanwhile = begun.iter().filter(|at| {
        let after = at.saturating_duration_since(told);
        // Those that had begun may say so late, and so may the one that says it.
        (Duration::from_secs(1)..Duration::from_millis(2900)).contains(&after)
    });
    assert_eq!(meanwhile.count(), 0);
    lab.check_invariants().await;
}

#[tokio::test]
async fn operators_see_and_change_rates_and_pauses() {
    let lab = Lab::new().await;
    let begun = Begun::default();
    let worker = lab.worker().state(begun).jobs([Registration::of::<Paced, _>()]);
    let worker = worker.queue("default", 10).start().await.unwrap();
    let admin = Admin::new(lab.pool());
    let group = admin.group("paced").get().await.unwrap().unwrap();
    assert_eq!(group.most_often().unwrap().to_string(), "50/s, burst 5");
    let slow = "2/h".parse::<Rate>().unwrap();
    let _set = admin.key("paced", "k").set(&Change::new().rate(slow)).await.unwrap();
    jobkit::enqueue_all((0..3).map(|_| Paced), lab.pool()).await.unwrap();
    lab.until("(select count(*) from jobkit.blocked_executions) = 2").await;
    let job: i64 = lab.value("select min(job_id) from jobkit.blocked_executions").await;
    let why = admin.job(jobkit::JobId(job)).explain().await.unwrap().unwrap().sentence;
    assert!(why.starts_with("Waits for the rate of its key paced/k (2/h, burst 1): next"), "{why}");
    let key = admin.semaphore("paced", "k").await.unwrap().unwrap().semaphore;
    assert_eq!((key.rate, key.has_own_rate), (Some(slow), true));
    assert!(key.next_at.is_some());
    let _lifted = admin.group("paced").set(&Change::new().rate(To::NoLimit)).await.unwrap();
    let _back = admin.key("paced", "k").set(&Change::new().rate(To::Reset)).await.unwrap();
    lab.until("(select count(*) from jobkit.finished) = 3").await;
    let rest = Duration::from_secs(60);
    let _paused = admin.key("paced", "k").pause_for(rest, "too many").await.unwrap();
    let key = admin.semaphore("paced", "k").await.unwrap().unwrap().semaphore;
    assert!(key.paused_until.is_some());
    assert!(admin.key("paced", "k").resume().await.unwrap());
    assert!(admin.semaphore("paced", "k").await.unwrap().is_none());
    let noted: i64 = lab.value("select count(*) from jobkit.audit").await;
    assert_eq!(noted, 5);
    worker.stop().await;
    lab.check_invariants().await;
}
