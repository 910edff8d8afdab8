//! A worker with few connections: how many they are, and that nobody waits there for long.

use std::sync::Arc;
use std::time::Duration;

use jobkit::admin::operations::BulkAction;
use jobkit::{Admin, Enqueue, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

/// Those of the worker: its admin's are called otherwise.
const SESSIONS: &str = "from pg_stat_activity where datname = current_database()
    and application_name like 'jobkit%' and application_name <> 'jobkit admin'";

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

#[derive(Serialize, Deserialize)]
#[job]
struct Plain;

impl Job for Plain {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// Of a queue that nobody serves.
#[derive(Serialize, Deserialize)]
#[job(queue = "other")]
struct Faraway;

impl Job for Faraway {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// While jobs run, duties come again and again, and an operation is carried out.
#[tokio::test(flavor = "multi_thread")]
async fn they_are_three_whatever_there_is_to_do() {
    let lab = Lab::new().await;
    jobkit::enqueue_all((0..3000).map(|_| Faraway), lab.pool()).await.unwrap();
    jobkit::enqueue_all((0..3000).map(|_| Plain), lab.pool()).await.unwrap();
    let every = Duration::from_millis(20);
    let worker = lab.worker().jobs([Registration::of::<Plain, _>()]).queue("default", 20);
    let worker = worker.poll(every).sweep_every(every).replay_every(every);
    let worker = worker.lease(Duration::from_secs(20)).heartbeat(every).reap_every(every);
    let worker = worker.start().await.unwrap();
    let all = BulkAction::Cancel("queue:other".parse().unwrap());
    Admin::new(lab.pool()).begin_operation(&all, "", "all").await.unwrap();
    let count = format!("select count(*) {SESSIONS}");
    let mut most = 0;
    while lab.value::<bool>("select exists (select from jobkit.jobs)").await {
        most = most.max(lab.value::<i64>(&count).await);
    }
    assert!(most <= 3, "{most}");
    lab.until(&format!("count(*) = 3 {SESSIONS}")).await;
    worker.stop().await;
    lab.until(&format!("count(*) = 0 {SESSIONS}")).await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn they_are_three_by_default_up_to_twenty_slots_and_after_they_broke() {
    let lab = Lab::new().await;
    let worker = |slots| {
        let worker = lab.worker().jobs([Registration::of::<Plain, _>()]);
        worker.queue("default", 10).queue("more", slots)
    };
    for (worker, sessions) in [
        (worker(10), "= 3"),
        (worker(11), "> 3"),
        (worker(11).few_connections(true), "= 3"),
        (worker(10).few_connections(false), "> 3"),
    ] {
        let worker = worker.start().await.unwrap();
        lab.until(&format!("count(*) {sessions} {SESSIONS}")).await;
        worker.stop().await;
    }
    let worker = worker(10).start().await.unwrap();
    lab.until(&format!("count(*) = 3 {SESSIONS}")).await;
    let ended = format!("select bool_and(pg_terminate_backend(pid, 10000)) {SESSIONS}");
    assert!(lab.value::<bool>(&ended).await);
    jobkit::enqueue_all((0..200).map(|_| Plain), lab.pool()).await.unwrap();
    let mut most = 0;
    while lab.value::<bool>("select exists (select from jobkit.jobs)").await {
        most = most.max(lab.value::<i64>(&format!("select count(*) {SESSIONS}")).await);
    }
    assert!(most <= 3, "{most}");
    lab.until(&format!("count(*) = 3 {SESSIONS}")).await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// Waits until a call of this kind has waited for the holder of a lock for a second: four times as
/// long as most calls may.
async fn until_it_waits_long(lab: &Lab, call: &str, holder: i32) {
    lab.until(&format!(
        "exists (select from pg_stat_activity where application_name = 'jobkit work'
            and query ~ '{call}' and {holder} = any (pg_blocking_pids(pid))
            and clock_timestamp() - query_start > '1 s')"
    ))
    .await;
}

/// Once in a while it may wait for as long as with a connection of its own, and jobs wait with it;
/// then they go on, whatever becomes of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_duty_whose_lock_is_never_free_for_a_short_while_has_it_in_the_end() {
    let lab = Lab::guarded().await;
    Faraway.enqueue(lab.pool()).await.unwrap();
    let mut holder = lab.session("holder").await;
    holder.run("begin; select from jobkit.jobs for update").await.unwrap();
    let worker = lab.worker().jobs([Registration::of::<Plain, _>()]).queue("default", 20);
    let worker = worker.start().await.unwrap();
    let all = BulkAction::Cancel("queue:other".parse().unwrap());
    Admin::new(lab.pool()).begin_operation(&all, "", "all").await.unwrap();
    until_it_waits_long(&lab, "jobkit.operate", holder.pid).await;
    for round in 1..=2 {
        jobkit::enqueue_all((0..20).map(|_| Plain), lab.pool()).await.unwrap();
        lab.until(&format!("(select count(*) from jobkit.finished) = {}", round * 20)).await;
    }
    assert_eq!(lab.count("jobkit.jobs").await, 1, "it is held");
    holder.run("commit").await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// Nobody waits with it, and a start that fails ends the process.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_waits_for_locks_as_long_as_with_all_connections() {
    let lab = Lab::guarded().await;
    let mut holder = lab.session("holder").await;
    holder.run("begin; lock jobkit.workers in access exclusive mode").await.unwrap();
    let worker = lab.worker().jobs([Registration::of::<Plain, _>()]).queue("default", 20);
    let start = tokio::spawn(worker.start());
    until_it_waits_long(&lab, "", holder.pid).await;
    holder.run("commit").await.unwrap();
    start.await.unwrap().unwrap().stop().await;
    lab.check_invariants().await;
}

/// It waits for a lock on the connection of all, until it is put off; the others have their turn.
#[tokio::test(flavor = "multi_thread")]
async fn jobs_go_on_while_an_outcome_waits_for_a_key() {
    let lab = Lab::guarded().await;
    let end = Arc::new(Notify::new());
    let jobs = [Registration::of::<Gated, _>(), Registration::of::<Plain, _>()];
    let worker = lab.worker().state(Arc::clone(&end)).jobs(jobs).queue("default", 20);
    let worker = worker.start().await.unwrap();
    let gated = Gated.enqueue(lab.pool()).await.unwrap();
    lab.until("exists (select from jobkit.claims)").await;
    let mut holder = lab.session("holder").await;
    holder.run("begin; select from jobkit.semaphores for update").await.unwrap();
    end.notify_one();
    let waits = "exists (select from pg_stat_activity where application_name = 'jobkit work'
        and datname = current_database() and wait_event_type = 'Lock')";
    lab.until(waits).await;
    for round in 1..=3 {
        jobkit::enqueue_all((0..20).map(|_| Plain), lab.pool()).await.unwrap();
        lab.until(&format!("(select count(*) from jobkit.finished) = {}", round * 20)).await;
    }
    let live = format!("exists (select from jobkit.jobs where id = {gated})");
    assert!(lab.value::<bool>(&format!("select {live}")).await, "its key is held");
    holder.run("commit").await.unwrap();
    lab.until(&format!("not {live}")).await;
    worker.stop().await;
    lab.check_invariants().await;
}
