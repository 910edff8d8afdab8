//! A worker that is there only while there is something to do.

use std::time::Duration;

use jobkit::error::{InvalidValue, RunError, StartError};
use jobkit::{Enqueue, Registration, Worker};
use jobkit_tests::Lab;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::jobs::Noop;

const SECOND: Duration = Duration::from_secs(1);

/// Nobody is registered, and no session but those of the test is there.
const RESTS: &str = "not exists (select from jobkit.workers) and not exists (select from \
    pg_stat_activity where datname = current_database() and application_name like 'jobkit%')";

/// A worker on demand that looks this often, and what ends it.
fn start(
    lab: &Lab,
    look_every: Duration,
) -> (jobkit::report::Caller, oneshot::Sender<()>, JoinHandle<Result<(), RunError>>) {
    let pool = lab.direct().clone();
    let build = move || {
        let worker = Worker::new(pool.clone()).jobs([Registration::of::<Noop, _>()]);
        worker.queue("default", 5).poll(Duration::from_millis(200))
    };
    let worker = Worker::on_demand(build).idle_after(SECOND).look_every(look_every);
    let (end, ended) = oneshot::channel::<()>();
    let caller = worker.caller();
    let run = worker.run_until(async { drop(ended.await) });
    (caller, end, tokio::spawn(run))
}

#[tokio::test(flavor = "multi_thread")]
async fn it_rests_and_comes_back() {
    let lab = Lab::new().await;
    Noop.enqueue(lab.pool()).await.unwrap();
    let (caller, end, run) = start(&lab, SECOND);
    lab.until("exists (select from jobkit.workers)").await;
    lab.until("not exists (select from jobkit.jobs)").await;
    lab.until(RESTS).await;
    // By its own look.
    Noop.enqueue(lab.pool()).await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    lab.until(RESTS).await;
    drop(caller);
    end.send(()).unwrap();
    run.await.unwrap().unwrap();
    lab.check_invariants().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_comes_when_it_is_called_or_something_is_due() {
    let lab = Lab::new().await;
    let (caller, end, run) = start(&lab, 3600 * SECOND);
    lab.until("exists (select from jobkit.workers)").await;
    lab.until(RESTS).await;
    // It is called for the one; the other becomes due in more than its idleness.
    Noop.options().after(4 * SECOND).enqueue(lab.pool()).await.unwrap();
    Noop.enqueue(lab.pool()).await.unwrap();
    caller.call();
    lab.until("count(*) <= 1 from jobkit.jobs").await;
    lab.until(RESTS).await;
    lab.until("not exists (select from jobkit.jobs)").await;
    lab.until(RESTS).await;
    end.send(()).unwrap();
    run.await.unwrap().unwrap();
    lab.check_invariants().await;
}

/// Whoever holds a table while the worker comes back lets go of it one day.
#[tokio::test(flavor = "multi_thread")]
async fn it_tries_again_where_somebody_is_in_the_way() {
    let lab = Lab::new().await;
    let (caller, end, run) = start(&lab, SECOND);
    lab.until("exists (select from jobkit.workers)").await;
    lab.until(RESTS).await;
    let mut session = lab.session("in the way").await;
    session.run("begin; lock table jobkit.workers in exclusive mode").await.unwrap();
    Noop.enqueue(lab.pool()).await.unwrap();
    caller.call();
    let waiting = "exists (select from pg_locks where not granted
        and database = (select oid from pg_database where datname = current_database())
        and relation = 'jobkit.workers'::regclass)";
    lab.until(waiting).await;
    lab.until(&format!("not {waiting}")).await;
    session.run("rollback").await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    end.send(()).unwrap();
    run.await.unwrap().unwrap();
    lab.check_invariants().await;
}

/// Nobody else could write it: the job would run again.
#[tokio::test(flavor = "multi_thread")]
async fn it_does_not_rest_before_an_outcome_is_written() {
    let lab = Lab::new().await;
    let pool = lab.direct().clone();
    let build = move || {
        let worker = Worker::new(pool.clone()).jobs([Registration::of::<Noop, _>()]);
        let worker = worker.queue("default", 5).poll(SECOND / 5).lease(4 * SECOND);
        worker.reap_every(SECOND / 5).stop_within(SECOND)
    };
    let (end, ended) = oneshot::channel::<()>();
    let worker = Worker::on_demand(build).idle_after(SECOND).look_every(SECOND);
    let run = tokio::spawn(worker.run_until(async { drop(ended.await) }));
    Noop.options().after(3 * SECOND).enqueue(lab.pool()).await.unwrap();
    let mut session = lab.session("in the way").await;
    session.run("begin; select from jobkit.jobs for update").await.unwrap();
    let long_ago = "exists (select from jobkit.claims
        where claimed_at < clock_timestamp() - interval '12 s')";
    lab.until(long_ago).await;
    session.run("rollback").await.unwrap();
    lab.until("not exists (select from jobkit.jobs)").await;
    assert_eq!(lab.count("jobkit.lost_workers").await, 0);
    end.send(()).unwrap();
    run.await.unwrap().unwrap();
    lab.check_invariants().await;
}

/// What it looks for.
#[tokio::test]
async fn it_knows_what_there_is_to_do() {
    const LOOK: &str = include_str!("../../jobkit/src/store/sql/next_work.sql");
    let lab = Lab::new().await;
    let seconds = format!("select extract(epoch from w.rests)::float8 from ({LOOK}) w");
    let of = |queue: &'static str, prefix: &'static str| {
        let look = sqlx::query_scalar::<_, Option<f64>>(sqlx::AssertSqlSafe(seconds.clone()));
        let look = look.bind(vec![queue]).bind(vec![prefix]);
        async { look.fetch_one(lab.direct()).await.unwrap() }
    };
    let seconds = || of("default", "tenant-");
    assert_eq!(seconds().await, None);
    Noop.options().queue("another").enqueue(lab.pool()).await.unwrap();
    assert_eq!(seconds().await, None, "others serve it");
    assert_eq!(of("default", "ano").await, Some(0.0), "it matches a pattern");
    lab.run("insert into jobkit.scheduled (run_at, job_id) values ('infinity', 0)").await;
    assert_eq!(seconds().await, None, "never");
    Noop.options().after(3600 * SECOND).enqueue(lab.pool()).await.unwrap();
    assert!(seconds().await.is_some_and(|next| (3000.0..=3600.0).contains(&next)));
    Noop.enqueue(lab.pool()).await.unwrap();
    assert_eq!(seconds().await, Some(0.0));
    lab.run("select jobkit.pause_limit('queue', 'default', null, null, 'test', '')").await;
    assert!(seconds().await.is_some_and(|next| next > 3000.0), "a paused queue is nothing to do");
    lab.run("select jobkit.resume_limit('queue', 'default')").await;
    assert_eq!(seconds().await, Some(0.0));
    for (scope, name) in [("kind", "noop"), ("all", "")] {
        lab.run(&format!("select jobkit.pause_limit('{scope}', '{name}', null, null, 'test', '')"))
            .await;
        assert!(seconds().await.is_some_and(|next| next > 3000.0), "{scope} is paused");
        lab.run(&format!("select jobkit.resume_limit('{scope}', '{name}')")).await;
        assert_eq!(seconds().await, Some(0.0));
    }
    lab.run("delete from jobkit.ready").await;
    lab.run("insert into jobkit.claims (worker_id, n, job_ids) values (1, 1, '{1}')").await;
    assert_eq!(seconds().await, Some(0.0), "a claim that nobody holds is to be reaped");
}

#[tokio::test]
async fn what_is_wrong_with_it_shows_at_once() {
    let lab = Lab::new().await;
    let pool = lab.direct().clone();
    let nothing = Worker::on_demand(move || Worker::new(pool.clone())).run_until_signal().await;
    assert!(matches!(nothing, Err(RunError::Start(StartError::Problems(_)))), "{nothing:?}");
    let pool = lab.direct().clone();
    let hasty = Worker::on_demand(move || Worker::new(pool.clone()).queue("default", 1));
    let hasty = hasty.idle_after(Duration::ZERO).run_until_signal().await;
    assert!(matches!(hasty, Err(RunError::Invalid(InvalidValue::Range { .. }))), "{hasty:?}");
}
