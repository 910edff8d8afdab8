//! An address with several hosts: a primary and its standby, which takes over.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use jobkit::enqueue::EnqueueError;
use jobkit::error::{ConnectError, DatabaseError};
use jobkit::{Admin, Enqueue, Job, JobContext, Registration, Worker, WorkerHandle, job};
use jobkit_tests::Lab;
use private_postgres::Cluster;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;
use tokio::task::JoinHandle;

use crate::copies::program;
use crate::outage::nobody_is_charged;
use crate::restart::missing;
use crate::stage::{PATIENCE, all_done, crashable, heavy_turn, light_turn, with};

/// Says that it ran, and under which key.
#[derive(Serialize, Deserialize, Debug, Clone)]
#[job(retention = "1h")]
struct Numbered {
    number: u64,
}

/// Number, id and idempotency key of each run.
type Runs = Arc<Mutex<Vec<(u64, i64, String)>>>;

impl Job<Runs> for Numbered {
    async fn run(self, cx: JobContext<Runs>) -> jobkit::Result {
        cx.state().lock().unwrap().push((self.number, cx.id().0, cx.idempotency_key()));
        // Some of them run when the primary freezes.
        let time = if self.number.is_multiple_of(20) { 1000 } else { 5 };
        tokio::time::sleep(Duration::from_millis(time)).await;
        Ok(())
    }
}

/// The default.
const LEASE: Duration = Duration::from_secs(20);

/// A primary and its standby, and the address of both.
struct Pair {
    primary: Arc<Cluster>,
    standby: Arc<Cluster>,
    lab: Lab,
    url: String,
}

impl Pair {
    /// `None` where the programs are missing.
    async fn new() -> Option<Self> {
        program("pg_basebackup")?;
        let (primary, lab) = crashable(&[]).await;
        let made = Arc::clone(&primary);
        let standby = tokio::task::spawn_blocking(move || made.standby().unwrap()).await.unwrap();
        let (user, primary_host) = lab.url().rsplit_once('@').unwrap();
        let standby_at = at(&standby);
        let (standby_host, _) = standby_at.rsplit_once('/').unwrap();
        // The standby first.
        let url = format!("{user}@{standby_host},{primary_host}");
        Some(Self { primary, standby: Arc::new(standby), lab, url })
    }

    /// Stops all processes of the primary where they are. It is woken up when it is dropped.
    fn freeze(&self) {
        let postmaster = self.primary.postmaster_pid().unwrap().to_string();
        signal("STOP", &postmaster);
        let children = Command::new("pgrep").args(["-P", &postmaster]).output().unwrap().stdout;
        for child in String::from_utf8(children).unwrap().lines() {
            signal("STOP", child);
        }
    }

    async fn worker(&self, runs: &Runs, lease: Duration) -> WorkerHandle {
        let worker = Worker::connect(&self.url).await.unwrap().state(Arc::clone(runs));
        let worker = worker.jobs([Registration::of::<Numbered, _>()]).queue("default", 20);
        worker.lease(lease).start().await.unwrap()
    }

    /// Promotes the standby, and says how long it then took until more jobs were finished there.
    async fn take_over(&self) -> (Lab, Duration) {
        with(&self.standby, Cluster::promote).await;
        let promoted = Instant::now();
        let lab = Lab::at(self.standby.url()).await;
        let done = lab.count("jobkit.finished").await;
        let more = format!("count(*) > {done} from jobkit.finished");
        lab.until_within(PATIENCE, &more).await;
        (lab, promoted.elapsed())
    }
}

fn at(cluster: &Cluster) -> String {
    cluster.url().rsplit_once('@').unwrap().1.to_owned()
}

fn signal(name: &str, pid: &str) {
    // One that has just ended is as good as stopped.
    let _sent = Command::new("kill").args(["-s", name, pid]).status().unwrap();
}

/// Enqueues until it is told to end, as well as it can; returns the ids of what was acknowledged.
fn produce(urls: [String; 2], enough: &Arc<AtomicBool>) -> JoinHandle<Vec<i64>> {
    let enough = Arc::clone(enough);
    tokio::spawn(async move {
        let mut pools = urls.map(|url| PgPool::connect_lazy(&url).unwrap());
        let (mut acknowledged, mut number) = (Vec::new(), 0);
        while !enough.load(Ordering::Relaxed) {
            number += 1;
            let job = Numbered { number };
            match tokio::time::timeout(Duration::from_secs(1), job.enqueue(&pools[0])).await {
                Ok(Ok(id)) => acknowledged.push(id.0),
                _ => pools.swap(0, 1),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        acknowledged
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_hosts_the_one_that_takes_writes_is_kept() {
    let _turn = light_turn().await;
    let Some(pair) = Pair::new().await else { return };
    let runs = Runs::default();
    let worker = pair.worker(&runs, LEASE).await;
    Numbered { number: 1 }.enqueue(pair.lab.pool()).await.unwrap();
    pair.lab.until("count(*) = 1 from jobkit.finished").await;
    worker.stop().await;

    let reads_only = "select pg_is_in_recovery()";
    let admin = Admin::connect(&pair.url).await.unwrap();
    let reads: bool = sqlx::query_scalar(reads_only).fetch_one(admin.pool()).await.unwrap();
    assert!(!reads, "an operator is where he can act");
    admin.queue("default").pause("").await.unwrap();
    let any = Admin::connect(&[&pair.url, "?target_session_attrs=any"].concat()).await.unwrap();
    let reads: bool = sqlx::query_scalar(reads_only).fetch_one(any.pool()).await.unwrap();
    assert!(reads, "the first that answers");
    // `sleepers` is not there on a standby: its table is unlogged.
    let reader = PgPool::connect(&pair.standby.url()).await.unwrap();
    pair.lab.until("replay_lsn >= pg_current_wal_lsn() from pg_stat_replication").await;
    let refused = Numbered { number: 2 }.enqueue(&reader).await;
    assert!(matches!(refused, Err(EnqueueError::Database(DatabaseError::ReadOnly))), "{refused:?}");
    let list = format!("postgres://postgres@127.0.0.1:1,{}", at(&pair.standby));
    let none = Admin::connect(&list).await.err();
    assert!(matches!(none, Some(ConnectError::Database(DatabaseError::ReadOnly))), "{none:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_follow_a_fail_over_and_nobody_is_charged() {
    fail_over(LEASE, Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fail_over_that_takes_three_leases_charges_nobody() {
    fail_over(Duration::from_secs(2), Duration::from_secs(6)).await;
}

/// The load goes on for a while.
async fn more_finish(promoted: &Lab) {
    let finished = promoted.count("jobkit.finished").await;
    let more = format!("count(*) > {} from jobkit.finished", finished + 500);
    promoted.until_within(PATIENCE, &more).await;
}

/// The standby is promoted so long after the primary froze. With synchronous replication nothing
/// that was acknowledged is lost.
async fn fail_over(lease: Duration, down: Duration) {
    let _turn = heavy_turn().await;
    let Some(pair) = Pair::new().await else { return };
    pair.lab.run("alter system set synchronous_standby_names = 'walreceiver'").await;
    pair.lab.run("select pg_reload_conf()").await;
    pair.lab.until("exists (select from pg_stat_replication where sync_state = 'sync')").await;
    let runs = Runs::default();
    let workers = [pair.worker(&runs, lease).await, pair.worker(&runs, lease).await];
    let enough = Arc::new(AtomicBool::new(false));
    let urls = || [pair.lab.url().to_owned(), pair.standby.url()];
    let producers = [produce(urls(), &enough), produce(urls(), &enough)];
    pair.lab.until_within(PATIENCE, "count(*) > 300 from jobkit.finished").await;

    pair.freeze();
    tokio::time::sleep(down).await;
    let (promoted, after) = pair.take_over().await;
    println!("progress {:.1} s after the promotion", after.as_secs_f64());
    assert!(after < Duration::from_secs(30), "progress only after {after:?}");
    let before = promoted.count("jobkit.jobs").await;
    println!("{before} jobs were live then");
    more_finish(&promoted).await;
    enough.store(true, Ordering::Relaxed);
    let mut acknowledged = Vec::new();
    for producer in producers {
        acknowledged.extend(producer.await.unwrap());
    }
    all_done(&promoted).await;
    println!("{} jobs were acknowledged", acknowledged.len());
    assert!(acknowledged.len() > 300, "there was hardly any load");
    assert_eq!(missing(&promoted, &acknowledged).await, 0);
    nobody_is_charged(&promoted).await;
    for worker in workers {
        worker.stop().await;
    }
    promoted.check_invariants().await;
}

/// With asynchronous replication the last commits are lost, and ids come again; keys do not.
#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_does_not_come_again_after_a_fail_over() {
    let _turn = heavy_turn().await;
    let Some(pair) = Pair::new().await else { return };
    let runs = Runs::default();
    let worker = pair.worker(&runs, LEASE).await;
    let enough = Arc::new(AtomicBool::new(false));
    let producer = produce([pair.lab.url().to_owned(), pair.standby.url()], &enough);
    pair.lab.until_within(PATIENCE, "count(*) > 50 from jobkit.finished").await;
    // From here on nothing is sent to the standby: it is what will be lost.
    let sender: i32 = pair.lab.value("select pid from pg_stat_replication").await;
    signal("STOP", &sender.to_string());
    let sent = pair.lab.count("jobkit.finished").await;
    let more = format!("count(*) > {} from jobkit.finished", sent + 200);
    pair.lab.until_within(PATIENCE, &more).await;

    pair.freeze();
    let (promoted, after) = pair.take_over().await;
    println!("progress {:.1} s after the promotion", after.as_secs_f64());
    assert!(after < Duration::from_secs(30), "progress only after {after:?}");
    more_finish(&promoted).await;
    enough.store(true, Ordering::Relaxed);
    producer.await.unwrap();
    all_done(&promoted).await;
    worker.stop().await;
    let mut runs = std::mem::take(&mut *runs.lock().unwrap());
    let again = |mut all: Vec<(String, u64)>| {
        all.sort();
        all.dedup();
        all.windows(2).filter(|two| two[0].0 == two[1].0).count()
    };
    let ids = again(runs.iter().map(|(number, id, _)| (id.to_string(), *number)).collect());
    assert!(ids > 0, "no id was given out again: nothing was lost");
    println!("{ids} ids came again");
    let keys = again(runs.drain(..).map(|(number, _, key)| (key, number)).collect());
    assert_eq!(keys, 0, "a key of two jobs");
    promoted.check_invariants().await;
}
