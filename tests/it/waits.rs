//! Attempts that somebody else says come too soon: an answer `429`, a queue that is full. They are
//! no failures, and nobody waits for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jobkit::admin::Admin;
use jobkit::admin::explain::Reason;
use jobkit::admin::limits::{Change, To};
use jobkit::enqueue::EnqueueError;
use jobkit::error::{ContextError, InvalidValue};
use jobkit::{Enqueue, Job, JobContext, JobError, JobId, Registration, WorkerHandle, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};

use crate::jobs::Noop;

/// The service, which says `429` so many times more, and where follow-ups are stored.
struct Service {
    busy: AtomicU32,
    pool: sqlx::PgPool,
}

type Scene = Arc<Service>;

/// Asks the service.
#[derive(Serialize, Deserialize)]
#[job(concurrency_key = "page", max_attempts = 4, retention = "1h")]
struct Page;

impl Job<Scene> for Page {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        let busy = &cx.state().busy;
        match busy.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) {
            Ok(_) => Err(cx.retry_after(Duration::from_millis(1), "429: busy").await),
            Err(_) => Ok(()),
        }
    }
}

/// Has jobs of its own in a queue that is full.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 1, retention = "1h")]
struct Parent {
    by: By,
}

/// How it enqueues.
#[derive(Serialize, Deserialize, Clone, Copy)]
enum By {
    Enqueue,
    Completion,
    Sql,
}

impl Job<Scene> for Parent {
    async fn run(self, cx: JobContext<Scene>) -> jobkit::Result {
        let child = Noop.options().queue("children");
        match self.by {
            By::Enqueue => {
                child.enqueue(&cx.state().pool).await?;
            }
            By::Completion => {
                let mut tx = cx.state().pool.begin().await?;
                child.enqueue(&mut *tx).await?;
                cx.complete_in(&mut tx).await?;
                tx.commit().await?;
            }
            By::Sql => {
                let sql = "select jobkit.enqueue('noop', 'null', p_queue => 'children')";
                sqlx::query(sql).execute(&cx.state().pool).await?;
            }
        }
        Ok(())
    }
}

async fn start(lab: &Lab, busy: u32) -> (Scene, WorkerHandle) {
    let service = Arc::new(Service { busy: AtomicU32::new(busy), pool: lab.pool().clone() });
    let jobs = [
        Registration::of::<Page, _>(),
        Registration::of::<Parent, _>(),
        Registration::of::<Noop, _>(),
    ];
    let worker = lab.worker().state(Arc::clone(&service)).jobs(jobs).queue("default", 5);
    let worker = worker.poll(Duration::from_millis(100)).start().await.unwrap();
    (service, worker)
}

/// How many attempts are charged, how often it waited and whether it is told to.
async fn told(lab: &Lab, job: JobId) -> String {
    lab.value(&format!(
        "select format('%s %s %s', attempt, snoozes, waits_since is not null)
        from jobkit.jobs where id = {job}"
    ))
    .await
}

/// What a settle of the job as told to wait for so long makes of it, by its worker 7.
async fn settle(lab: &Lab, job: JobId, wait: &str) -> String {
    settle_as(lab, job, "wait", wait).await
}

/// The same with any outcome after which the job runs again.
async fn settle_as(lab: &Lab, job: JobId, outcome: &str, again_in: &str) -> String {
    lab.run(
        "insert into jobkit.workers (id, name, queues, kinds, lease, lease_until) values
        (7, 'w', '{default}', '{page}', '1 h', now() + interval '1 h') on conflict do nothing",
    )
    .await;
    lab.run(&format!(
        "delete from jobkit.scheduled; delete from jobkit.ready;
        insert into jobkit.claims (worker_id, n, job_ids) values (7, 1, '{{{job}}}')"
    ))
    .await;
    lab.value(&format!(
        "select coalesce((select ending from jobkit.settle(7, jobkit.outcomes('{{1}}',
            '{{{job}}}', '{{{outcome}}}', p_error => '{{429}}', p_delay => '{{{again_in}}}'))),
            'as asked')"
    ))
    .await
}

async fn page(lab: &Lab) -> JobId {
    Page.options().enqueue(lab.pool()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_answers_429_charge_no_attempt() {
    let lab = Lab::new().await;
    let job = page(&lab).await;
    let (_, worker) = start(&lab, 10).await;
    lab.until("exists (select from jobkit.finished)").await;
    let ended = "select format('%s %s %s', outcome, attempt, snoozes) from jobkit.finished";
    assert_eq!(lab.value::<String>(ended).await, "finish 1 10", "{job}");
    let counts = worker.counts();
    assert_eq!((counts.snoozed, counts.retried, counts.finished), (10, 0, 1));
    worker.stop().await;
    lab.check_invariants().await;
}

/// A day after the first one, each is a failed attempt.
#[tokio::test]
async fn who_is_told_to_wait_for_a_day_is_charged() {
    let lab = Lab::new().await;
    lab.run("select jobkit.finished_prepare(2)").await;
    let job = Noop.options().max_attempts(3).enqueue(lab.pool()).await.unwrap();
    assert_eq!(settle(&lab, job, "12 h").await, "as asked");
    assert_eq!(told(&lab, job).await, "0 1 t");
    let why = Admin::new(lab.pool()).job(job).explain().await.unwrap().unwrap().reasons;
    assert!(why.iter().any(|why| matches!(why, Reason::ToldToWait { .. })), "{why:?}");
    let older = "update jobkit.jobs set waits_since = waits_since - interval '13 h'";
    lab.run(older).await;
    assert_eq!(settle(&lab, job, "12 h").await, "retry");
    assert_eq!(told(&lab, job).await, "1 1 t");
    assert_eq!(settle(&lab, job, "1 h").await, "as asked");
    // The clock steps back: it is no more than a day, from now on.
    lab.run("update jobkit.jobs set waits_since = waits_since + interval '3 days'").await;
    assert_eq!(settle(&lab, job, "23 h").await, "as asked");
    assert_eq!(settle(&lab, job, "25 h").await, "retry");
    assert_eq!(settle(&lab, job, "25 h").await, "bury");
    let letter = "select reason || ' ' || error from jobkit.dead_letters";
    assert_eq!(lab.value::<String>(letter).await, "exhausted 429");
    lab.run("delete from jobkit.claims; delete from jobkit.workers").await;
    lab.check_invariants().await;
}

/// What a job says of its time for retries holds for its waits.
#[tokio::test]
async fn a_time_for_retries_bounds_waits() {
    let lab = Lab::new().await;
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    let job = Noop.options().retry_for(hours(72)).enqueue(lab.pool()).await.unwrap();
    assert_eq!(settle(&lab, job, "24 h").await, "as asked");
    lab.run("update jobkit.jobs set waits_since = waits_since - interval '47 h'").await;
    assert_eq!(settle(&lab, job, "24 h").await, "as asked");
    let why = Admin::new(lab.pool()).job(job).explain().await.unwrap().unwrap().reasons;
    assert!(why.iter().any(|why| matches!(why, Reason::RetriedUntil { .. })), "{why:?}");
    lab.run("update jobkit.jobs set waits_since = waits_since - interval '2 h'").await;
    assert_eq!(settle(&lab, job, "24 h").await, "bury");
    let reason = "select reason from jobkit.dead_letters";
    assert_eq!(lab.value::<String>(reason).await, "out_of_time");
}

/// A budget is that of waits in a row: one of last week takes nothing from those of today.
#[tokio::test]
async fn whatever_is_no_wait_ends_a_row_of_waits() {
    let lab = Lab::new().await;
    lab.run("select jobkit.finished_prepare(2)").await;
    let hour = Duration::from_secs(3600);
    for (outcome, charged) in [("snooze", 0), ("retry", 1)] {
        for time in [None, Some(hour)] {
            let job = Noop.options().max_attempts(3);
            let job = time.into_iter().fold(job, jobkit::enqueue::Pending::retry_for);
            let job = job.enqueue(lab.pool()).await.unwrap();
            assert_eq!(settle(&lab, job, "59 min").await, "as asked");
            lab.run("update jobkit.jobs set waits_since = waits_since - interval '25 h'").await;
            assert_eq!(settle_as(&lab, job, outcome, "1 s").await, "as asked", "{time:?}");
            assert_eq!(told(&lab, job).await, format!("{charged} {} f", 2 - charged));
            assert_eq!(settle(&lab, job, "59 min").await, "as asked", "{outcome} {time:?}");
            let failed = "update jobkit.attempts set ended_at = ended_at - interval '50 min'";
            lab.run(failed).await;
            assert_eq!(settle(&lab, job, "58 min").await, "as asked", "{outcome} {time:?}");
            // A stop of the worker is no outcome of the handler.
            assert_eq!(settle_as(&lab, job, "release", "1 s").await, "as asked");
            assert_eq!(told(&lab, job).await, format!("{charged} {} t", 4 - charged));
            lab.run(
                "delete from jobkit.claims; delete from jobkit.jobs; delete from jobkit.attempts",
            )
            .await;
        }
    }
}

/// By itself, in the transaction that completes the parent, and by a statement of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_of_follow_ups_fails_no_attempt() {
    let lab = Lab::new().await;
    let admin = Admin::new(lab.pool());
    let _ = admin.queue("children").set(&Change::new().waiting(1)).await.unwrap();
    Noop.options().queue("children").enqueue(lab.pool()).await.unwrap();
    lab.run("select jobkit.look_at_bounds('children')").await;
    let parents = [By::Enqueue, By::Completion, By::Sql].map(|by| Parent { by });
    jobkit::enqueue_all(parents, lab.pool()).await.unwrap();
    let (_, worker) = start(&lab, 0).await;
    lab.until("(select count(*) from jobkit.scheduled) = 3").await;
    let waiting = "select string_agg(distinct format('%s %s', attempt, snoozes), ' ')
        from jobkit.jobs where kind = 'parent'";
    assert_eq!(lab.value::<String>(waiting).await, "0 1");
    let _ = admin.queue("children").set(&Change::new().waiting(To::Reset)).await.unwrap();
    jobkit::testing::advance(lab.pool(), Duration::from_secs(6)).await.unwrap();
    lab.until("(select count(*) from jobkit.finished) = 3").await;
    assert_eq!(lab.count("jobkit.ready where queue = 'children'").await, 4);
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test]
async fn a_wait_beyond_the_calendar_is_refused() {
    let lab = Lab::new().await;
    let years = |years: u64| Duration::from_secs(years * 365 * 24 * 60 * 60);
    for wait in [years(8_000), years(300_000), Duration::MAX] {
        let refused = Noop.options().after(wait).enqueue(lab.pool()).await;
        assert!(
            matches!(refused, Err(EnqueueError::Invalid(InvalidValue::Range { .. }))),
            "{refused:?}"
        );
    }
    let job = Noop.options().after(years(7_000)).enqueue(lab.pool()).await.unwrap();
    let sql =
        format!("select extract(year from run_at)::integer from jobkit.jobs where id = {job}");
    assert!((9_000..9_100).contains(&lab.value::<i32>(&sql).await));
    let cx = jobkit::testing::context(()).build();
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    assert!(!cx.pause_key(month).await.unwrap());
    for pause in [month + Duration::from_micros(1), Duration::MAX] {
        for refused in [
            cx.pause_key(pause).await,
            cx.pause_key_of("g", "k", pause).await,
            cx.limiter("l").pause(pause).await,
        ] {
            assert!(
                matches!(refused, Err(ContextError::Invalid(InvalidValue::Range { .. }))),
                "{refused:?}"
            );
        }
    }
    assert!(JobError::snooze(Duration::MAX).is_failure());
}
