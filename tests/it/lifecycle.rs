//! Every way a job can go, from enqueue to its end.

use std::time::{Duration, Instant};

use jobkit::admin::jobs::Cancelled;
use jobkit::error::{ConnectError, DatabaseError};
use jobkit::{Admin, Enqueue, JobId, Worker, WorkerHandle};
use jobkit_tests::Lab;

use crate::jobs::{self, Act, EFFECTS, Noop, Punctual, Slow, Then};

async fn lab() -> Lab {
    let lab = Lab::guarded().await;
    lab.run(EFFECTS).await;
    lab
}

pub(crate) async fn start(lab: &Lab) -> WorkerHandle {
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    worker.queue("default", 10).start().await.unwrap()
}

/// One whose handlers have so long to end once they are asked to.
async fn with_grace(lab: &Lab, grace: Duration) -> WorkerHandle {
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    worker.queue("default", 10).cancel_grace(grace).start().await.unwrap()
}

pub(crate) async fn act(lab: &Lab, then: Then) -> JobId {
    Act::then(then).enqueue(lab.pool()).await.unwrap()
}

pub(crate) async fn outcome(lab: &Lab, job: JobId) -> String {
    let sql = format!(
        "exists (select from jobkit.finished where job_id = {job})
        or exists (select from jobkit.dead_letters where job_id = {job})"
    );
    lab.until(&sql).await;
    let sql = format!(
        "select coalesce((select outcome from jobkit.finished where job_id = {job}),
        (select reason from jobkit.dead_letters where job_id = {job}))"
    );
    lab.value(&sql).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_needs_no_more_than_an_address() {
    let lab = lab().await;
    let job = act(&lab, Then::Succeed).await;
    let worker = Worker::connect(lab.url()).await.unwrap();
    let worker = worker.state(lab.pool().clone()).jobs(jobs::all()).queue("default", 10);
    let worker = worker.start().await.unwrap();
    assert_eq!(outcome(&lab, job).await, "finish");
    worker.stop().await;

    let refused = |url: &'static str| async { Worker::connect(url).await.err() };
    let standby = refused("postgres://a:5432,b:5432/d?target_session_attrs=standby").await;
    assert!(matches!(standby, Some(ConnectError::Address(_))), "{standby:?}");
    for url in ["postgres://nobody@127.0.0.1:1/d", "postgres://nobody@127.0.0.1:1,127.0.0.1:2/d"] {
        let absent = refused(url).await;
        assert!(
            matches!(absent, Some(ConnectError::Database(DatabaseError::Unreachable(_)))),
            "{absent:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_hosts_one_that_is_down_does_no_harm() {
    let lab = lab().await;
    let (user, rest) = lab.url().rsplit_once('@').unwrap();
    let url = format!("{user}@127.0.0.1:1,{rest}");
    let job = act(&lab, Then::Succeed).await;
    let worker = Worker::connect(&url).await.unwrap();
    let worker = worker.state(lab.pool().clone()).jobs(jobs::all()).queue("default", 10);
    let worker = worker.start().await.unwrap();
    assert_eq!(outcome(&lab, job).await, "finish");
    worker.stop().await;
    // Without looking first; and the pool follows.
    let admin = Admin::connect_lazy(&url).unwrap();
    admin.overview().await.unwrap();
    admin.pool().acquire().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn each_outcome_leads_where_it_should() {
    let lab = lab().await;
    let worker = start(&lab).await;
    for (then, ending, attempts) in [
        (Then::Succeed, "finish", 1),
        (Then::FailTimes(2), "finish", 3),
        (Then::Fail("no".to_owned()), "exhausted", 3),
        (Then::Panic("ouch".to_owned()), "exhausted", 3),
        (Then::RetryIn(Duration::from_millis(1)), "exhausted", 3),
        (Then::Discard, "discard", 1),
        (Then::Dead, "dead", 1),
        (Then::SnoozeTimes(4), "finish", 1),
    ] {
        let text = format!("{then:?}");
        let job = act(&lab, then).await;
        assert_eq!(outcome(&lab, job).await, ending, "{text}");
        let last: i32 =
            lab.value(&format!("select max(attempt) from effects where job_id = {job}")).await;
        assert_eq!(last, attempts, "{text}");
    }
    let panic: String =
        lab.value("select error from jobkit.dead_letters where error like '%ouch%'").await;
    assert_eq!(panic, "panicked: ouch");
    worker.stop().await;
    lab.check_invariants().await;
    assert_eq!(lab.count("jobkit.jobs").await, 0);
    assert_eq!(lab.count("jobkit.workers").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_is_a_failed_attempt() {
    let lab = lab().await;
    let worker = start(&lab).await;
    let job = Slow.enqueue(lab.pool()).await.unwrap();
    assert_eq!(outcome(&lab, job).await, "exhausted");
    let error: String = lab.value("select error from jobkit.dead_letters").await;
    assert_eq!(error, "timed out after 50ms");
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_type_of_an_error_is_recorded_but_not_that_of_a_text() {
    let lab = lab().await;
    let worker = start(&lab).await;
    let types = "select string_agg(coalesce(e->>'error_type', '-'), ',') \
        from jobkit.dead_letters, jsonb_array_elements(errors) as e";
    let job = act(&lab, Then::Fail("no".to_owned())).await;
    assert_eq!(outcome(&lab, job).await, "exhausted");
    assert_eq!(lab.value::<String>(types).await, "-,-,-");
    lab.run("delete from jobkit.dead_letters; drop table effects").await;
    let job = act(&lab, Then::Succeed).await;
    assert_eq!(outcome(&lab, job).await, "exhausted");
    let name = std::any::type_name::<sqlx::Error>();
    assert_eq!(lab.value::<String>(types).await, [name; 3].join(","));
    worker.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_that_is_dropped_ends_the_worker_all_the_same() {
    let lab = lab().await;
    let worker = start(&lab).await;
    act(&lab, Then::IgnoreCancel).await;
    lab.until("count(*) = 1 from effects").await;
    let stop = tokio::time::timeout(Duration::from_millis(50), worker.stop());
    assert!(stop.await.is_err(), "the handler ignores it");
    lab.until(
        "not exists (select from pg_stat_activity
            where datname = current_database() and application_name like 'jobkit %')",
    )
    .await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_the_database_refuses_holds_up_no_other() {
    let lab = lab().await;
    lab.run(
        "create function refuse() returns trigger language plpgsql as
            $$ begin raise exception 'not this one' using errcode = '23514'; end $$;
        create trigger refuse before insert on jobkit.attempts for each row
            when (new.error like '%unspeakable%') execute function refuse()",
    )
    .await;
    let worker = start(&lab).await;
    let refused = act(&lab, Then::Fail("unspeakable".to_owned())).await;
    let ids = jobkit::enqueue_all((0..50).map(|_| Act::then(Then::Succeed)), lab.pool()).await;
    assert_eq!(ids.unwrap().len(), 50);
    lab.until("count(*) = 50 from jobkit.finished").await;
    // What stands in for it names the database's reason, which is no secret.
    let stands_in = format!(
        "exists (select from jobkit.attempts where job_id = {refused}
        and error like '%could not be recorded%not this one%')"
    );
    lab.until(&stands_in).await;
    worker.stop().await;
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolled_back_transaction_enqueues_nothing() {
    let lab = lab().await;
    let mut tx = lab.pool().begin().await.unwrap();
    Noop.enqueue(&mut *tx).await.unwrap();
    tx.rollback().await.unwrap();
    let mut tx = lab.pool().begin().await.unwrap();
    let job = Noop.enqueue(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(lab.value::<i64>("select id from jobkit.jobs").await, job.0);
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_jobs_are_one_statement_and_their_ids_are_in_order() {
    // Too many for the guard, and they need no `effects`.
    let lab = Lab::new().await;
    let jobs = (0..10_000).map(|n| Act::then(Then::Fail(n.to_string())));
    let ids = jobkit::enqueue_all(jobs, lab.pool()).await.unwrap();
    assert_eq!(ids.len(), 10_000);
    let wrong: i64 = lab
        .count(&format!("jobkit.jobs where (args->'then'->>'Fail')::bigint <> id - {}", ids[0].0))
        .await;
    assert_eq!(wrong, 0);
    assert_eq!(lab.value::<i64>("select count(distinct xmin::text) from jobkit.jobs").await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_is_cancelled_by_its_own_claim() {
    let lab = lab().await;
    let admin = Admin::new(lab.pool());
    let (long, short) = (Duration::from_secs(5), Duration::from_millis(500));
    for (then, grace) in
        [(Then::WaitForCancel, long), (Then::WaitForStop, long), (Then::IgnoreCancel, short)]
    {
        let worker = with_grace(&lab, grace).await;
        let job = act(&lab, then).await;
        lab.until(&format!("exists (select from effects where job_id = {job})")).await;
        assert_eq!(admin.job(job).cancel().await.unwrap(), Cancelled::Requested);
        assert_eq!(outcome(&lab, job).await, "cancel");
        assert_eq!(admin.job(job).cancel().await.unwrap(), Cancelled::NotFound);
        worker.stop().await;
    }
    assert_eq!(lab.count("effects where what = 'Cancelled'").await, 2);
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_worker_gives_jobs_back_uncharged() {
    let lab = lab().await;
    let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
    let worker = worker.queue("default", 10).stop_grace(Duration::from_millis(50));
    let worker = worker.cancel_grace(Duration::from_secs(2)).start().await.unwrap();
    let jobs = [act(&lab, Then::WaitForCancel).await, act(&lab, Then::IgnoreCancel).await];
    lab.until("count(*) = 2 from effects").await;
    worker.stop().await;
    assert_eq!(lab.count(READY_UNCHARGED).await, jobs.len() as i64);
    assert_eq!(lab.count("effects where what = 'Stopping'").await, 1);
    lab.check_invariants().await;
}

const READY_UNCHARGED: &str =
    "jobkit.ready r join jobkit.jobs j on j.id = r.job_id where attempt = 0";

#[tokio::test(flavor = "multi_thread")]
async fn what_heeds_a_stop_goes_back_long_before_the_grace_ends() {
    let minute = Duration::from_secs(60);
    for by_operator in [false, true] {
        let lab = lab().await;
        let worker = lab.worker().state(lab.pool().clone()).jobs(jobs::all());
        let worker = worker.queue("default", 10).stop_grace(minute).start().await.unwrap();
        act(&lab, Then::WaitForStop).await;
        lab.until("count(*) = 1 from effects").await;
        let (told, id) = (Instant::now(), worker.id());
        if by_operator {
            Admin::new(lab.pool()).worker(id).stop().await.unwrap();
            worker.stopping().await;
            lab.until("(select count(*) from jobkit.ready) = 1").await;
        }
        worker.stop().await;
        assert!(told.elapsed() < minute / 4, "it took {:?}", told.elapsed());
        assert_eq!(lab.count(READY_UNCHARGED).await, 1);
        assert_eq!(lab.count("effects where what = 'Stopping'").await, 1);
        lab.check_invariants().await;
    }
}

/// A failure of its own is one, as long as nobody has asked the attempt to end.
#[tokio::test(flavor = "multi_thread")]
async fn what_fails_within_the_grace_is_charged() {
    let lab = lab().await;
    let worker = start(&lab).await;
    act(&lab, Then::FailAfter(Duration::from_secs(2))).await;
    lab.until("count(*) >= 1 from effects").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.jobs where attempt = 1").await, 1);
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_hears_of_its_timeout_and_may_still_succeed() {
    let lab = lab().await;
    let worker = with_grace(&lab, Duration::from_secs(5)).await;
    let job = Punctual.enqueue(lab.pool()).await.unwrap();
    assert_eq!(outcome(&lab, job).await, "finish");
    let errors = "select string_agg(e->>'error', ',') \
        from jobkit.finished, jsonb_array_elements(errors) as e";
    assert_eq!(lab.value::<String>(errors).await, "timed out after 1s");
    assert_eq!(lab.count("effects where what = 'TimedOut'").await, 2);
    worker.stop().await;
    lab.check_invariants().await;
}
