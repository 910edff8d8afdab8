//! A worker that claims jobs before there is a slot for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jobkit::{Enqueue, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

/// How many run, and the most there were at a time.
#[derive(Debug, Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Takes a millisecond, or never ends.
#[derive(Serialize, Deserialize)]
#[job(retention = none)]
struct Brief {
    ends: bool,
}

impl Job<Arc<Crowd>> for Brief {
    async fn run(self, cx: JobContext<Arc<Crowd>>) -> jobkit::Result {
        let now = cx.state().now.fetch_add(1, Ordering::Relaxed) + 1;
        cx.state().most.fetch_max(now, Ordering::Relaxed);
        if !self.ends {
            cx.cancelled().await;
            return Err("stopped".into());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
        cx.state().now.fetch_sub(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Counts the claims made ahead.
const COUNT: &str = "
    create sequence ahead;
    create function note() returns trigger language plpgsql as $$ begin
        perform nextval('public.ahead');
        return null;
    end $$;
    create trigger note after insert on jobkit.claims
        for each row when (new.ahead) execute function note()";

#[tokio::test(flavor = "multi_thread")]
async fn no_more_jobs_run_than_there_are_slots_and_none_waits_behind_a_long_one() {
    let lab = Lab::guarded().await;
    lab.run(COUNT).await;
    let crowd = Arc::new(Crowd::default());
    let worker = lab.worker().state(Arc::clone(&crowd)).jobs([Registration::of::<Brief, _>()]);
    jobkit::enqueue_all((0..2_000).map(|_| Brief { ends: true }), lab.pool()).await.unwrap();
    // The last of the short ones bring some of these along.
    jobkit::enqueue_all((0..20).map(|_| Brief { ends: false }), lab.pool()).await.unwrap();
    let worker = worker.queue("default", 4).start().await.unwrap();
    lab.until("count(*) = 16 from jobkit.ready").await;
    lab.until("coalesce(sum(cardinality(job_ids)), 0) = 4 from jobkit.claims").await;
    assert_eq!(crowd.most.load(Ordering::Relaxed), 4);
    let ahead: i64 =
        lab.value("select case when is_called then last_value else 0 end from ahead").await;
    assert!(ahead > 10, "{ahead} claims ahead");
    // What has begun is known to have with the next heartbeat.
    lab.until("not exists (select from jobkit.claims where ahead)").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.ready").await, 20);
    assert_eq!(lab.count("jobkit.jobs where attempt > 0 or crashes > 0").await, 0);
    lab.check_invariants().await;
}

/// Jobs of a queue beside that one are not in its way.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_free_has_what_another_one_would_let_wait() {
    let lab = Lab::guarded().await;
    let crowd = Arc::new(Crowd::default());
    let worker = || lab.worker().state(Arc::clone(&crowd)).jobs([Registration::of::<Brief, _>()]);
    jobkit::enqueue_all((0..1_000).map(|_| Brief { ends: true }), lab.pool()).await.unwrap();
    jobkit::enqueue_all((0..4).map(|_| Brief { ends: false }), lab.pool()).await.unwrap();
    let busy = worker().queue("default", 2).start().await.unwrap();
    let free = worker().queue("default", 2).start().await.unwrap();
    lab.until("not exists (select from jobkit.ready)").await;
    lab.until("sum(cardinality(job_ids)) = 4 from jobkit.claims").await;
    lab.until(
        "not exists (select from jobkit.claims c group by c.worker_id
        having sum(cardinality(c.job_ids)) > 2)",
    )
    .await;
    busy.stop().await;
    free.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_gives_back_what_waits() {
    let lab = Lab::guarded().await;
    let crowd = Arc::new(Crowd::default());
    let worker = lab.worker().state(Arc::clone(&crowd)).jobs([Registration::of::<Brief, _>()]);
    for _ in 0..3 {
        jobkit::enqueue_all((0..3_000).map(|_| Brief { ends: true }), lab.pool()).await.unwrap();
    }
    let first = Brief { ends: true }.enqueue(lab.pool()).await.unwrap();
    let worker = worker.queue("default", 4).start().await.unwrap();
    lab.until("exists (select from jobkit.claims where ahead)").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.claims").await, 0);
    assert_eq!(lab.count("jobkit.jobs").await, lab.count("jobkit.ready").await);
    assert_eq!(lab.count("jobkit.jobs where attempt > 0 or crashes > 0").await, 0);
    assert_eq!(lab.count(&format!("jobkit.jobs where id = {first}")).await, 1, "it was in time");
    lab.check_invariants().await;
}
