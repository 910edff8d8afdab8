//! Rows of which a worker cannot read everything.

use std::sync::Arc;

use jobkit::{Enqueue, Job, JobContext, Registration, Worker, job};
use jobkit_tests::{Lab, counted};
use serde::{Deserialize, Serialize};
use sqlx::AssertSqlSafe;
use tokio::sync::Notify;

use crate::jobs::Noop;

/// One at a time, each until it is told to end.
#[derive(Serialize, Deserialize)]
#[job(concurrency_key = "k")]
struct Gated;

impl Job<Arc<Notify>> for Gated {
    async fn run(self, cx: JobContext<Arc<Notify>>) -> jobkit::Result {
        cx.state().notified().await;
        Ok(())
    }
}

fn worker(lab: &Lab, end: &Arc<Notify>) -> Worker {
    let jobs = [Registration::of::<Gated, _>(), Registration::of::<Noop, _>()];
    lab.worker().state(Arc::clone(end)).jobs(jobs).queue("default", 20)
}

/// Lets the kinds be known.
async fn announce(lab: &Lab) {
    worker(lab, &Arc::default()).start().await.unwrap().stop().await;
}

const NULL_TAG: &str = "tags = array['a', null]";

#[tokio::test(flavor = "multi_thread")]
async fn what_no_worker_could_read_is_refused() {
    let lab = Lab::new().await;
    announce(&lab).await;
    let jobs = "jobkit.enqueue_all('{noop}', '{default}', '{0}', '{1}', '{null}', '{null}',
        '{null}', '{null}', array['{}'], array[%]::jsonb[], '{null}')";
    for (call, text) in [
        ("jobkit.enqueue('noop', 'null', p_tags => array['a', null])", "a tag is null, or no text"),
        (
            "jobkit.enqueue('noop', 'null', p_tags => array[['a'], ['b']])",
            "a tag is null, or no text",
        ),
        (
            "jobkit.enqueue('noop', 'null', p_tags => array_fill('a'::text, '{33}'))",
            "32 tags at most",
        ),
        ("jobkit.enqueue('noop', 'null', p_tags => array[repeat('ä', 65)])", "128 bytes at most"),
        ("jobkit.enqueue('noop', null)", "the payload is null"),
        (&jobs.replace('%', "'[1]'"), "a tag is null, or no text"),
        (&jobs.replace('%', "'[null]'"), "a tag is null, or no text"),
        (&jobs.replace('%', "'7'"), "the tags are no array"),
    ] {
        let refused = sqlx::query(AssertSqlSafe(format!("select {call}"))).execute(lab.pool());
        let refused = refused.await.expect_err(call);
        let refused = refused.as_database_error().unwrap();
        assert_eq!(refused.code().as_deref(), Some("JK008"), "{call}: {refused}");
        assert!(refused.message().contains(text), "{call}: {refused}");
    }
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    lab.run("select jobkit.enqueue('noop', 'null', p_tags => array_fill('a'::text, '{32}'))").await;
    lab.run("select jobkit.enqueue('noop', 'null', p_tags => '{}')").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_cannot_be_read_is_buried_and_its_neighbours_run() {
    let lab = Lab::new().await;
    announce(&lab).await;
    jobkit::enqueue_all((0..5).map(|_| Noop), lab.pool()).await.unwrap();
    let poison = Noop.enqueue(lab.pool()).await.unwrap();
    let keyed = Gated.enqueue(lab.pool()).await.unwrap();
    let next = Gated.enqueue(lab.pool()).await.unwrap();
    jobkit::enqueue_all((0..5).map(|_| Noop), lab.pool()).await.unwrap();
    lab.run(&format!("update jobkit.jobs set {NULL_TAG} where id in ({poison}, {keyed})")).await;
    let end = Arc::new(Notify::new());
    end.notify_one();
    let worker = worker(&lab, &end).start().await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    let buried = format!(
        "jobkit.dead_letters where reason = 'undecodable' and error like '%`tags`%'
            and attempt = 1 and job_id in ({poison}, {keyed})"
    );
    assert_eq!(lab.count(&buried).await, 2);
    assert_eq!(lab.count(&format!("jobkit.finished where job_id = {next}")).await, 1);
    let counts = counted(&worker, 11).await;
    assert_eq!((counts.finished, counts.lost, counts.unanswered), (11, 0, 0));
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_from_the_ends_of_time_runs_like_any_other() {
    let lab = Lab::new().await;
    jobkit::enqueue_all((0..3).map(|_| Noop), lab.pool()).await.unwrap();
    lab.run(
        "update jobkit.jobs set created_at = 'infinity' where id % 3 = 0;
        update jobkit.jobs set created_at = '-infinity', run_at = '-infinity' where id % 3 = 1;
        update jobkit.jobs set run_at = '294276-12-31' where id % 3 = 2",
    )
    .await;
    let worker = worker(&lab, &Arc::new(Notify::new())).start().await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    let counts = counted(&worker, 3).await;
    worker.stop().await;
    assert_eq!((counts.finished, counts.buried), (3, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_counts_although_what_it_lets_run_cannot_be_read() {
    let lab = Lab::new().await;
    let end = Arc::new(Notify::new());
    let worker = worker(&lab, &end).start().await.unwrap();
    let first = Gated.enqueue(lab.pool()).await.unwrap();
    lab.until(&format!("exists (select from jobkit.claims where {first} = any (job_ids))")).await;
    jobkit::enqueue_all([Gated, Gated], lab.pool()).await.unwrap();
    lab.until("(select count(*) from jobkit.blocked_executions) = 2").await;
    lab.run(&format!("update jobkit.jobs set {NULL_TAG} where id = {first} + 1")).await;
    end.notify_one();
    lab.until("exists (select from jobkit.dead_letters where reason = 'undecodable')").await;
    end.notify_one();
    lab.until("not exists (select from jobkit.jobs)").await;
    let counts = counted(&worker, 2).await;
    worker.stop().await;
    assert_eq!((counts.finished, counts.buried, counts.lost), (2, 1, 0));
    assert!(counts.handed_over > 0);
    lab.check_invariants().await;
}
