//! Somebody holds the lock of a concurrency key, and goes on holding it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jobkit::{Enqueue, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

const SETTLE_WAITS: &str = "exists (select from pg_stat_activity
    where datname = current_database() and query like '%jobkit.settle%'
        and wait_event_type = 'Lock')";

/// Runs until it is told to end.
#[derive(Serialize, Deserialize)]
#[job(concurrency_key = "k")]
struct Gated;

impl Job<Arc<Notify>> for Gated {
    async fn run(self, cx: JobContext<Arc<Notify>>) -> jobkit::Result {
        cx.state().notified().await;
        Ok(())
    }
}

/// Has a key of another group, or none.
#[derive(Serialize, Deserialize)]
#[job(concurrency_key = self.0.then_some("k"))]
struct Quick(bool);

impl Job for Quick {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// Has a key of its own.
#[derive(Serialize, Deserialize)]
#[job(concurrency_key = self.0)]
struct Own(i32);

impl Job for Own {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_of_other_jobs_are_written_and_that_one_later() {
    let lab = Lab::guarded().await;
    let end = Arc::new(Notify::new());
    let jobs = [Registration::of::<Gated, _>(), Registration::of::<Quick, _>()];
    let worker = lab.worker().state(Arc::clone(&end)).jobs(jobs).queue("default", 10);
    let worker = worker.start().await.unwrap();
    let gated = Gated.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.claims)").await;
    let mut holder = lab.session("holder").await;
    holder.run("begin; select from jobkit.semaphores for update").await.unwrap();
    end.notify_one();
    lab.until(SETTLE_WAITS).await;
    for with_key in [true, false] {
        jobkit::enqueue_all((0..20).map(|_| Quick(with_key)), lab.pool()).await.unwrap();
    }
    lab.until("(select count(*) from jobkit.finished) = 40").await;
    let live = format!("exists (select from jobkit.jobs where id = {gated})");
    assert!(lab.value::<bool>(&format!("select {live}")).await, "its key is held");
    holder.run("commit").await.unwrap();
    lab.until(&format!("not {live}")).await;
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_other_keys_and_of_none_start() {
    let lab = Lab::guarded().await;
    let end = Arc::new(Notify::new());
    let jobs = [Registration::of::<Gated, _>(), Registration::of::<Quick, _>()];
    let worker = lab.worker().state(Arc::clone(&end)).jobs(jobs).queue("default", 10);
    let worker = worker.stop_grace(Duration::ZERO).cancel_grace(Duration::ZERO);
    let worker = worker.start().await.unwrap();
    Gated.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.claims)").await;
    let mut holder = lab.session("holder").await;
    holder.run("begin; select from jobkit.semaphores for update").await.unwrap();
    // Each claim finds one of the key that is held among the others.
    for _ in 0..3 {
        Gated.enqueue(lab.pool()).await.unwrap();
        jobkit::enqueue_all([Quick(true), Quick(false)], lab.pool()).await.unwrap();
    }
    lab.until("(select count(*) from jobkit.finished) = 6").await;
    holder.run("commit").await.unwrap();
    worker.stop().await;
    lab.check_invariants().await;
}

/// What has ended and is not settled counts as if it ran.
#[tokio::test(flavor = "multi_thread")]
async fn claims_stop_while_outcomes_pile_up() {
    let jobs = (0..8000).map(|_| Quick(false));
    // Neither claimer begins a claim beyond 1,000 more than there are slots, and each brings 500 at
    // most; there is room for 500 whose settle is put off.
    let most = most_claimed(jobs).await;
    assert!(most <= 3000, "{most} were claimed at a time");
}

/// It holds its permits as well: where jobs have keys, neither claimer begins a claim beyond as
/// many as there are slots, but for the second one's first, and each brings 500 at most.
#[tokio::test(flavor = "multi_thread")]
async fn claims_of_keys_stop_sooner() {
    let most = most_claimed((0..8000).map(Own)).await;
    assert!(most <= 1600, "{most} were claimed at a time");
}

/// How many of these jobs a worker of 500 slots claims while a settle waits.
async fn most_claimed<J: Job>(jobs: impl Iterator<Item = J>) -> i64 {
    let lab = Lab::new().await;
    let ids = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    let mut holder = lab.session("holder").await;
    let lock = format!("begin; select from jobkit.jobs where id = {} for update", ids[0]);
    holder.run(&lock).await.unwrap();
    let jobs = [Registration::of::<Quick, _>(), Registration::of::<Own, _>()];
    let worker = lab.worker().jobs(jobs).queue("default", 500).start().await.unwrap();
    lab.until(SETTLE_WAITS).await;
    let claimed = "select coalesce(sum(cardinality(job_ids)), 0)::bigint from jobkit.claims";
    lab.until(&format!("({claimed}) >= 500")).await;
    let (began, mut most) = (Instant::now(), 500);
    while began.elapsed() < Duration::from_millis(500) {
        most = most.max(lab.value::<i64>(claimed).await);
    }
    holder.run("commit").await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
    most
}

/// A session left open in a transaction that called one of our functions is in the way of the sweep
/// of a worker's start; while that waits, everybody waits behind it.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_beside_an_open_transaction_holds_nobody_up_for_long() {
    let lab = Lab::guarded().await;
    let mut holder = lab.session("holder").await;
    holder.run("begin; select from jobkit.sweep('', '', 1)").await.unwrap();
    let worker =
        lab.worker().jobs([Registration::of::<crate::jobs::Noop, _>()]).queue("default", 10);
    let worker = worker.start().await.unwrap();
    let waits = "select exists (select from pg_locks where not granted
            and database = (select oid from pg_database where datname = current_database())
            and relation = 'jobkit.limits'::regclass and mode = 'ExclusiveLock')
        from pg_sleep(0.01)";
    let (began, mut looks, mut waiting) = (Instant::now(), 0, 0);
    while began.elapsed() < Duration::from_secs(6) {
        looks += 1;
        waiting += i32::from(lab.value::<bool>(waits).await);
    }
    assert!(waiting * 10 < looks, "it waits in {waiting} of {looks} looks");
    holder.run("commit").await.unwrap();
    worker.stop().await;
}
