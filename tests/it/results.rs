//! What jobs return, and who waits for it.

use std::time::{Duration, Instant, SystemTime};

use jobkit::admin::AdminError;
use jobkit::admin::jobs::Cancelled;
use jobkit::enqueue::wait::{End, WaitError};
use jobkit::error::DatabaseError;
use jobkit::{Admin, Enqueue, Job, JobContext, JobError, JobId, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

const LONG: Duration = Duration::from_secs(30);

/// What it returns has as many bytes as it says.
#[derive(Serialize, Deserialize)]
#[job(kind = "charge_with_receipt", result = Receipt, redact(token), max_attempts = 1)]
struct Charge {
    token: String,
    then: Then,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
enum Then {
    Return(usize),
    Discard,
    Die,
    Hang,
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Receipt {
    token: String,
    text: String,
}

impl Job for Charge {
    async fn run(self, cx: JobContext) -> jobkit::Result<Receipt> {
        match self.then {
            Then::Return(bytes) => Ok(Receipt { token: self.token, text: "x".repeat(bytes) }),
            Then::Discard => Err(JobError::discard("pointless")),
            Then::Die => Err(JobError::dead("broken")),
            Then::Hang => {
                cx.cancelled().await;
                Err("stopped".into())
            }
        }
    }
}

/// What it returns becomes no JSON, and says more than it should.
#[derive(Serialize, Deserialize)]
#[job(result = Unspeakable, redact(token), max_attempts = 1)]
struct Mumble {
    token: String,
}

#[derive(Deserialize, Debug)]
struct Unspeakable(String);

impl Serialize for Unspeakable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom(format_args!("{}\0", self.0)))
    }
}

impl Job for Mumble {
    async fn run(self, _cx: JobContext) -> jobkit::Result<Unspeakable> {
        Ok(Unspeakable(self.token))
    }
}

/// It leaves no history.
#[derive(Serialize, Deserialize)]
#[job(retention = none)]
struct Forgotten;

impl Job for Forgotten {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

fn charge(then: Then) -> Charge {
    Charge { token: "s3cret-token".to_owned(), then }
}

/// Connections on which ends are told, besides those of workers.
const LISTENING: &str = "pg_stat_activity where datname = current_database()
    and application_name = 'jobkit listen'";

async fn worker(lab: &Lab) -> jobkit::WorkerHandle {
    let jobs = [
        Registration::of::<Charge, _>(),
        Registration::of::<Mumble, _>(),
        Registration::of::<Forgotten, _>(),
    ];
    lab.worker().jobs(jobs).queue("default", 50).start().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_job_returns_is_in_its_history_and_comes_to_who_waits() {
    let lab = Lab::guarded().await;
    let worker = worker(&lab).await;
    let receipt = charge(Then::Return(3)).enqueue_and_wait(lab.pool(), LONG).await.unwrap();
    assert_eq!(receipt, Receipt { token: "s3cret-token".to_owned(), text: "xxx".to_owned() });
    let id: i64 = lab.value("select job_id from jobkit.finished").await;
    let job = Admin::new(lab.pool()).job(JobId(id)).get().await.unwrap().unwrap();
    let result = job.result.unwrap();
    assert_eq!(result.reveal(), r#"{"token":"s3cret-token","text":"xxx"}"#);
    assert_eq!(result.redacted(), r#"{"token":"•••","text":"xxx"}"#, "as its payload is");
    assert_eq!(job.reason, None);
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_does_not_fit_fails_no_job() {
    let lab = Lab::guarded().await;
    let worker = worker(&lab).await;
    let waited = charge(Then::Return(70_000)).enqueue_and_wait(lab.pool(), LONG).await;
    let Err(WaitError::Unreadable { job, why }) = waited else { panic!("{waited:?}") };
    assert!(why.contains("the limit is 65536"), "{why}");
    let job = Admin::new(lab.pool()).job(job).get().await.unwrap().unwrap();
    assert_eq!((job.summary.ended.map(|e| e.as_str()), job.result), (Some("finish"), None));
    assert_eq!(job.reason.as_deref(), Some(&*why));
    let mumble = Mumble { token: "s3cret-token".to_owned() };
    let waited = mumble.enqueue_and_wait(lab.pool(), LONG).await;
    let Err(WaitError::Unreadable { why, .. }) = waited else { panic!("{waited:?}") };
    assert_eq!(why, "the result is not kept: •••\\0");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_end_has_its_answer() {
    let lab = Lab::guarded().await;
    let admin = Admin::new(lab.pool());
    let worker = worker(&lab).await;
    let end = async |then| {
        let waited = charge(then).enqueue_and_wait(lab.pool(), LONG).await;
        let Err(WaitError::Ended { end, .. }) = waited else { panic!("{waited:?}") };
        end
    };
    assert_eq!(end(Then::Discard).await, End::Discarded("pointless".to_owned()));
    assert_eq!(end(Then::Die).await, End::Dead("broken".to_owned()));
    let hangs = charge(Then::Hang).enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.claims)").await;
    let soon = Duration::from_secs(1);
    assert_eq!(admin.job(hangs).await_end(soon).await.unwrap(), None, "it runs");
    let (ended, cancelled) =
        tokio::join!(admin.job(hangs).await_end(LONG), admin.job(hangs).cancel());
    assert_eq!(cancelled.unwrap(), Cancelled::Requested);
    assert!(matches!(ended.unwrap(), Some(End::Cancelled(_))));
    let forgotten = Forgotten.enqueue_and_wait(lab.pool(), LONG).await;
    let Err(WaitError::Ended { end, .. }) = forgotten else { panic!("{forgotten:?}") };
    assert_eq!(end, End::NothingKept);
    assert_eq!(admin.job(JobId(1 << 40)).await_end(LONG).await.unwrap(), Some(End::NothingKept));
    let late = charge(Then::Hang).options().after(LONG * 9);
    let late = late.enqueue_and_wait(lab.pool(), soon).await;
    assert!(matches!(late, Err(WaitError::TimedOut { .. })), "{late:?}");
    worker.stop().await;
    lab.check_invariants().await;
}

/// Nobody can say of a job that it has not ended who could not ask.
#[tokio::test]
async fn a_database_that_says_nothing_has_not_been_asked() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("postgres://nobody@{}/nothing", silent.local_addr().unwrap());
    let admin = Admin::new(&sqlx::PgPool::connect_lazy(&address).unwrap());
    for within in [Duration::ZERO, Duration::from_millis(200)] {
        let end = admin.job(JobId(1)).await_end(within).await;
        assert!(matches!(end, Err(AdminError::Database(DatabaseError::Deadline(_)))), "{end:?}");
    }
}

/// Whoever took that for an error of the enqueue would enqueue it again.
#[tokio::test]
async fn a_job_that_nobody_can_ask_for_is_enqueued_all_the_same() {
    let lab = Lab::new().await;
    lab.run("alter function jobkit.await_jobs rename to await_none").await;
    let within = Duration::from_secs(1);
    let waited = charge(Then::Discard).enqueue_and_wait(lab.pool(), within).await;
    let Err(WaitError::TimedOut { job, .. }) = waited else { panic!("{waited:?}") };
    assert_eq!(lab.count(&format!("jobkit.jobs where id = {}", job.0)).await, 1);
    let end = Admin::new(lab.pool()).job(job).await_end(within).await;
    assert!(matches!(end, Err(AdminError::Database(DatabaseError::Deadline(_)))), "{end:?}");
}

/// Without notifications each of these would sleep for two seconds at least.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_waits_beside_ends_all_wake() {
    let lab = Lab::new().await;
    let admin = Admin::new(lab.pool());
    let worker = worker(&lab).await;
    let late = charge(Then::Return(1)).options().after(LONG * 9).enqueue(lab.pool()).await.unwrap();
    let other = admin.clone();
    let waits_on = tokio::spawn(async move { other.job(late).await_end(LONG * 9).await });
    let mut waits = JoinSet::new();
    for wait in 0..1_000 {
        let (pool, admin) = (lab.pool().clone(), admin.clone());
        waits.spawn(async move {
            // Half of them wait for what may have ended before they do.
            if wait % 2 == 0 {
                charge(Then::Return(1)).enqueue_and_wait(&pool, LONG * 4).await.unwrap();
            } else {
                let id = charge(Then::Return(1)).enqueue(&pool).await.unwrap();
                let end = admin.job(id).await_end(LONG * 4).await.unwrap();
                assert!(matches!(end, Some(End::Finished(_))), "{end:?}");
            }
            SystemTime::now()
        });
    }
    let woken = waits.join_all().await;
    worker.stop().await;
    told_in_time(&lab, woken).await;
    // One still waits. The worker's own may take a moment to go.
    lab.until(&format!("(select count(*) from {LISTENING}) = 1")).await;
    admin.job(late).cancel().await.unwrap();
    assert!(matches!(waits_on.await.unwrap(), Ok(Some(End::Cancelled(_)))));
    assert_eq!(lab.count("jobkit.jobs").await, 0);
}

/// Waits are woken in the order of the ends, so each is compared with the end of its place. Those
/// who are not told look again two seconds later, a second on average.
async fn told_in_time(lab: &Lab, mut woken: Vec<SystemTime>) {
    let ended = "select array_agg(extract(epoch from finished_at)::float8 order by finished_at)
        from jobkit.finished where outcome = 'finish'";
    let ended: Vec<f64> = lab.value(ended).await;
    woken.sort();
    assert_eq!(woken.len(), ended.len());
    let since = |at: &SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64();
    let late = woken.iter().map(since).zip(&ended).map(|(woken, ended)| woken - ended);
    let mut late: Vec<f64> = late.collect();
    late.sort_by(f64::total_cmp);
    println!("{:.3} s from an end to who waits (median), {:.3} at most", late[500], late[999]);
    assert!(late[500] < 0.5, "{} s from an end to who waits", late[500]);
}

/// It looks again two seconds after it began to listen: whoever is much sooner was told.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_alone_is_woken_by_the_end() {
    let lab = Lab::new().await;
    let admin = Admin::new(lab.pool());
    let mut times = Vec::new();
    for _ in 0..9 {
        let pool = lab.pool().clone();
        let waits = tokio::spawn(async move {
            let end = charge(Then::Hang).enqueue_and_wait(&pool, LONG).await;
            (end, Instant::now())
        });
        lab.until(&format!("(select count(*) from {LISTENING}) = 1")).await;
        // The look that a new connection is a reason for is over by then.
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(lab.count(LISTENING).await, 1);
        let began = Instant::now();
        let job = JobId(lab.value("select id from jobkit.jobs").await);
        assert_eq!(admin.job(job).cancel().await.unwrap(), Cancelled::Now);
        let (end, at) = waits.await.unwrap();
        assert!(matches!(end, Err(WaitError::Ended { .. })), "{end:?}");
        times.push(at - began);
        lab.until(&format!("not exists (select from {LISTENING})")).await;
    }
    times.sort();
    println!("an end was told within {:?} (median of {})", times[times.len() / 2], times.len());
    assert!(times[times.len() / 2] < Duration::from_secs(1), "{times:?}");
}
