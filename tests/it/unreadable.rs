//! Rows of which a worker cannot read everything.

use std::sync::Arc;

use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::jobs::JobQuery;
use jobkit::admin::operations::BulkAction;
use jobkit::admin::{Admin, Count};
use jobkit::{Enqueue, Job, JobContext, JobId, Registration, Worker, job};
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
    let jobs = "jobkit.enqueue_all(jobkit.new_jobs('{noop}', '{default}', '{0}', '{1}',
        array['{}'], p_tags => array[%]::jsonb[]))";
    for (call, text) in [
        (
            "jobkit.enqueue('noop', 'null', p_tags => array['a', null])",
            "a tag is null or not a string",
        ),
        (
            "jobkit.enqueue('noop', 'null', p_tags => array[['a'], ['b']])",
            "a tag is null or not a string",
        ),
        (
            "jobkit.enqueue('noop', 'null', p_tags => array_fill('a'::text, '{33}'))",
            "32 tags at most",
        ),
        ("jobkit.enqueue('noop', 'null', p_tags => array[repeat('ä', 65)])", "128 bytes at most"),
        ("jobkit.enqueue('noop', null)", "the payload is null"),
        ("jobkit.enqueue('noop', p_terms => '[]')", "not an object"),
        ("jobkit.enqueue('noop', p_terms => '{\"expires\": \"1h\"}')", "expires and retry_for"),
        ("jobkit.enqueue('noop', p_terms => '{\"retry_for\": 1e9}')", "expires and retry_for"),
        ("jobkit.enqueue('noop', p_terms => '{\"expire\": 1}')", "expires and retry_for"),
        ("jobkit.enqueue('noop', p_terms => '{\"carried\": [\"a\"]}')", "and carried"),
        ("jobkit.enqueue('noop', p_terms => '{\"carried\": {\"a\": 1}}')", "and carried"),
        (
            "jobkit.enqueue('noop', p_terms => jsonb_build_object('carried',
                jsonb_build_object('a', repeat('x', 16384))))",
            "16384 bytes at most",
        ),
        (&jobs.replace('%', "'[1]'"), "a tag is null or not a string"),
        (&jobs.replace('%', "'[null]'"), "a tag is null or not a string"),
        (&jobs.replace('%', "'7'"), "the tags are not an array"),
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

/// One that waits is changed, and none is inserted.
#[tokio::test(flavor = "multi_thread")]
async fn what_replaces_a_job_is_checked_as_well() {
    let lab = Lab::new().await;
    announce(&lab).await;
    lab.run("select jobkit.enqueue('noop', 'null', p_unique_key => 'k')").await;
    for (option, text) in [
        ("p_terms => '{\"expires\": 0}'", "expires and retry_for"),
        ("p_terms => '{\"carried\": {\"a\": 1}}'", "and carried"),
        ("p_tags => array['a', null]", "a tag is null or not a string"),
    ] {
        let call = format!(
            "select jobkit.enqueue('noop', 'null', p_unique_key => 'k',
                p_on_duplicate => 'replace', {option})"
        );
        let refused = sqlx::query(AssertSqlSafe(call)).execute(lab.pool()).await;
        let refused = refused.expect_err(option);
        let refused = refused.as_database_error().unwrap();
        assert_eq!(refused.code().as_deref(), Some("JK008"), "{option}: {refused}");
        assert!(refused.message().contains(text), "{option}: {refused}");
    }
    assert_eq!(lab.count("jobkit.jobs where terms is null and tags is null").await, 1);
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

/// What json takes and jsonb does not. No door lets it in: it comes by the owner's INSERT.
const NO_JSONB: [&str; 4] = [
    r#"{"a": "\u0000", "b": "1"}"#,
    r#"{"a": "\ud800", "b": "1"}"#,
    r#"{"a": "x\uDFFF", "b": "1"}"#,
    r#"{"a": 1e999999, "b": "1"}"#,
];

/// On every tab, but for what a path leads into.
async fn lists_pass_over_it(admin: &Admin) {
    for listing in ["live", "ready", "scheduled", "retrying", "running", "blocked", "finished"] {
        let query: JobQuery = format!("state:{listing} args.b:1").parse().unwrap();
        let found = admin.jobs(&query, None, 20).await.unwrap();
        let expected = if ["live", "scheduled"].contains(&listing) { 6 } else { 0 };
        assert_eq!(found.jobs.len(), expected, "{listing}");
        assert_eq!(
            admin.count_jobs(&query).await.unwrap(),
            Count::Exactly(expected.try_into().unwrap())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_that_is_no_jsonb_is_in_nobodys_way() {
    let lab = Lab::new().await;
    announce(&lab).await;
    let admin = Admin::new(lab.pool());
    lab.run(
        "select jobkit.enqueue('noop', '{\"b\": \"1\"}', p_run_at => now() + '1 h')
        from generate_series(1, 9)",
    )
    .await;
    for (id, args) in (1..).zip(NO_JSONB) {
        lab.run(&format!("update jobkit.jobs set args = '{args}' where id = {id}")).await;
    }
    lists_pass_over_it(&admin).await;
    // Its own page says what it is.
    for id in 1..=4 {
        let job = admin.job(JobId(id)).get().await.unwrap().unwrap();
        assert!(!job.args.is_readable(), "{id}");
        assert!(job.args.reveal().starts_with("\"unreadable: "), "{}", job.args.reveal());
        assert!(admin.job(JobId(id)).explain().await.unwrap().is_some());
    }
    assert!(admin.job(JobId(5)).get().await.unwrap().unwrap().args.is_readable());
    // So does the dead letter that it becomes, beside those of others.
    lab.run(
        "delete from jobkit.scheduled where job_id < 7;
        select jobkit.bury(j, 1, 'exhausted', 'no', null) from jobkit.jobs j where id < 7",
    )
    .await;
    let dead = admin.dead_letters(&DeadLetterFilter::all(), None, 20).await.unwrap();
    let ids: Vec<_> = dead.entries.iter().map(|entry| entry.id).collect();
    let letters = admin.whole_dead_letters(&ids).await.unwrap();
    assert_eq!(letters.len(), 6);
    assert_eq!(letters.iter().filter(|letter| !letter.args.is_readable()).count(), 4);
    let job = admin.job(JobId(1)).get().await.unwrap().unwrap();
    assert!(!job.args.is_readable());
    // An operation by such a search does the others.
    let query: JobQuery = "state:scheduled args.b:1".parse().unwrap();
    let begun = admin.begin_operation(&BulkAction::Cancel(query), "", "all").await.unwrap();
    let worker = worker(&lab, &Arc::default()).start().await.unwrap();
    lab.until(&format!(
        "exists (select from jobkit.operations where id = {} and (state, done) = ('done', 3))",
        begun.id
    ))
    .await;
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    worker.stop().await;
    lab.check_invariants().await;
}
