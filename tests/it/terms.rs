//! What jobs and kinds say of their own time: until when one may begin, for how long it is tried
//! again, and how long it is kept.

use std::time::Duration;

use jobkit::admin::explain::Reason;
use jobkit::admin::jobs::{Ended, JobPage};
use jobkit::admin::measures::MeasureFilter;
use jobkit::admin::{Admin, Count};
use jobkit::enqueue::EnqueueError;
use jobkit::error::InvalidValue;
use jobkit::{Enqueue, Job, JobContext, JobId, Registration, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Has to begin within an hour, and is tried for one, as often as there is time for.
#[derive(Serialize, Deserialize)]
#[job(
    expires = "1h",
    retry_for = "1h",
    max_attempts = 1000,
    retention = none,
    retention_discarded = "30d",
    backoff = fixed("1ms")
)]
struct Timely {
    fails: bool,
}

impl Job for Timely {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        if self.fails { Err(format!("attempt {}", cx.attempt()).into()) } else { Ok(()) }
    }
}

const SUCCEEDS: Timely = Timely { fails: false };
const FAILS: Timely = Timely { fails: true };
const SECOND: Duration = Duration::from_secs(1);

async fn start(lab: &Lab) -> WorkerHandle {
    let worker = lab.worker().jobs([Registration::of::<Timely, _>()]);
    worker.queue("default", 5).start().await.unwrap()
}

/// Makes all that is stored older.
async fn age(lab: &Lab, by: &str) {
    lab.run(&format!(
        "update jobkit.jobs set run_at = run_at - interval '{by}',
            created_at = created_at - interval '{by}';
        update jobkit.attempts set ended_at = ended_at - interval '{by}'"
    ))
    .await;
}

/// What expired is found apart from what an operator discarded.
async fn apart(admin: &Admin, late: JobId, pointless: JobId) {
    for (words, found, ended) in [
        ("ended:expire", late, Ended::Expired),
        ("state:finished ended:expire", late, Ended::Expired),
        (&format!("ended:expire id:{late}"), late, Ended::Expired),
        ("ended:discard", pointless, Ended::Discarded),
    ] {
        let page = admin.jobs(&words.parse().unwrap(), None, JobPage::ROWS).await.unwrap();
        let jobs: Vec<_> = page.jobs.iter().map(|job| (job.id, job.ended)).collect();
        assert_eq!(jobs, [(found, Some(ended))], "{words}");
        assert_eq!(admin.count_jobs(&words.parse().unwrap()).await.unwrap(), Count::Exactly(1));
    }
    for words in [&*format!("ended:discard id:{late}"), "state:live ended:expire"] {
        let page = admin.jobs(&words.parse().unwrap(), None, JobPage::ROWS).await.unwrap();
        assert!(page.jobs.is_empty(), "{words}");
    }
    let discarded = admin.count_jobs(&"state:discarded".parse().unwrap()).await.unwrap();
    assert_eq!(discarded, Count::Exactly(2));
    assert_eq!(admin.job(late).get().await.unwrap().unwrap().summary.ended, Some(Ended::Expired));
}

#[tokio::test]
async fn a_job_that_comes_too_late_is_discarded_as_expired() {
    let lab = Lab::new().await;
    start(&lab).await.stop().await;
    let late = SUCCEEDS.enqueue(lab.pool()).await.unwrap();
    let own = SUCCEEDS.options().expires(SECOND * 7200).metadata(json!({ "who": "ada" }));
    let own = own.enqueue(lab.pool()).await.unwrap();
    let pointless = SUCCEEDS.enqueue(lab.pool()).await.unwrap();
    Admin::new(lab.pool()).job(pointless).discard("sent by hand").await.unwrap();
    age(&lab, "90 minutes").await;
    let admin = Admin::new(lab.pool());
    let why = admin.job(late).explain().await.unwrap().unwrap().reasons;
    assert!(why.iter().any(|why| matches!(why, Reason::Expires { .. })), "{why:?}");

    let worker = start(&lab).await;
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;
    let ended = "select job_id, outcome, reason, expires_at - finished_at > '29 days'
        from jobkit.finished where outcome = 'expire' and job_id <> $1";
    let (job, outcome, reason, kept): (i64, String, String, bool) =
        sqlx::query_as(ended).bind(pointless.0).fetch_one(lab.pool()).await.unwrap();
    assert_eq!((job, &*outcome, kept), (late.0, "expire", true), "and job {own} has run");
    assert_eq!(reason, "expired: not started within 3600s of its time");
    apart(&admin, late, pointless).await;
    let measured = admin.measures(&MeasureFilter::all(), SECOND * 3600, SECOND * 3600).await;
    let points = measured.unwrap().points;
    assert_eq!(points.iter().map(|point| point.measures.expired).sum::<u64>(), 1);
    assert_eq!(
        points
            .iter()
            .map(|point| point.measures.run.buckets().map(|(_, n)| n).sum::<u64>())
            .sum::<u64>(),
        1
    );
    lab.check_invariants().await;
}

#[tokio::test]
async fn one_that_has_begun_does_not_expire() {
    let lab = Lab::new().await;
    let job = FAILS.enqueue(lab.pool()).await.unwrap();
    let worker = start(&lab).await;
    lab.until("exists (select from jobkit.attempts)").await;
    worker.stop().await;
    age(&lab, "59 minutes").await;
    lab.run("update jobkit.jobs set run_at = run_at - interval '1 day'").await;
    let attempts = lab.count("jobkit.attempts").await;
    let worker = start(&lab).await;
    lab.until(&format!("(select count(*) from jobkit.attempts) > {attempts}")).await;
    worker.stop().await;
    let why = Admin::new(lab.pool()).job(job).explain().await.unwrap().unwrap().reasons;
    assert!(why.iter().any(|why| matches!(why, Reason::RetriedUntil { .. })), "{why:?}");
}

#[tokio::test]
async fn a_job_whose_time_for_retries_is_over_becomes_a_dead_letter() {
    let lab = Lab::new().await;
    let short = FAILS.enqueue(lab.pool()).await.unwrap();
    let long = FAILS.options().retry_for(SECOND * 7200);
    let long = long.enqueue(lab.pool()).await.unwrap();
    let worker = start(&lab).await;
    lab.until("(select count(distinct job_id) from jobkit.attempts) = 2").await;
    worker.stop().await;
    age(&lab, "61 minutes").await;
    let worker = start(&lab).await;
    lab.until("exists (select from jobkit.dead_letters)").await;
    worker.stop().await;
    let dead = "select job_id, reason, attempt < max_attempts,
            errors -> -1 ->> 'outcome' from jobkit.dead_letters";
    let dead: Vec<(i64, String, bool, String)> =
        sqlx::query_as(dead).fetch_all(lab.pool()).await.unwrap();
    assert_eq!(dead, [(short.0, "out_of_time".to_owned(), true, "bury".to_owned())]);
    assert_eq!(lab.count(&format!("jobkit.jobs where id = {long}")).await, 1);
    lab.check_invariants().await;
}

/// A first failure whose retry would come too late is the last.
#[tokio::test]
async fn a_backoff_beyond_the_time_for_retries_is_not_waited_for() {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts, announced_at)
        values ('slow', 'default', 0, 20, now());
        select jobkit.enqueue('slow', p_terms => '{\"retry_for\": 5}');
        insert into jobkit.workers (id, name, queues, kinds, lease, lease_until)
        values (1, 'w', '{default}', '{slow}', '1 hour', now() + interval '1 hour')",
    )
    .await;
    let claim = "select job_id from jobkit.claim(1, 1, '{slow}', '{default}', '{1}')
        where job_id is not null";
    let job = lab.value::<i64>(claim).await;
    let settle = format!(
        "select ending from jobkit.settle(1, jobkit.outcomes('{{1}}', '{{{job}}}', '{{retry}}',
            p_error => '{{late}}', p_reason => '{{exhausted}}', p_delay => '{{6 s}}'))"
    );
    assert_eq!(lab.value::<String>(&settle).await, "bury");
    assert_eq!(lab.count("jobkit.dead_letters where reason = 'out_of_time'").await, 1);
    lab.check_invariants().await;
}

#[tokio::test]
async fn what_cannot_be_said_is_refused_before_anything_is_sent() {
    let lab = Lab::new().await;
    let refused = SUCCEEDS.options().expires(Duration::ZERO).enqueue(lab.pool()).await;
    assert!(
        matches!(refused, Err(EnqueueError::Invalid(InvalidValue::Range { value: 0, .. }))),
        "{refused:?}"
    );
    let refused = SUCCEEDS.options().retry_for(SECOND * 400 * 86_400).enqueue(lab.pool()).await;
    assert!(
        matches!(refused, Err(EnqueueError::Invalid(InvalidValue::Range { .. }))),
        "{refused:?}"
    );
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    let array = SUCCEEDS.options().expires(SECOND).metadata(json!([1]));
    array.enqueue(lab.pool()).await.unwrap();
    assert_eq!(lab.count("jobkit.jobs where metadata = '[1]'").await, 1);
}
