//! A schema that an earlier version made: with jobs in every state it migrates and works on, beside
//! workers of the older binary.

use std::time::Duration;

use jobkit::{Error, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, Executor, SqlSafeStr};

use crate::races::calls::{claim, heartbeat, settle};

/// What the older version made, and what its workers and operators send.
const SCHEMA: &str = include_str!("upgrade/schema_29.sql");
const STATEMENTS: &str = include_str!("upgrade/statements_29.sql");

/// Fails, until it is told not to.
#[derive(Serialize, Deserialize)]
#[job(kind = "act", concurrency_key = self.key, max_attempts = 2, retention = "1h")]
struct Act {
    key: String,
}

impl Job for Act {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        Ok(())
    }
}

/// An older database with a worker, 1, that has a job of the key `a` in hand; behind it are jobs in
/// every other state.
const SCENE: &str = "
    insert into jobkit.workers (id, name, queues, kinds, lease, lease_until) values
        (1, 'older', '{default}', '{act}', '1 ms', now() + interval '1 day');
    select jobkit.announce('{act}', '{default}', '{0}', '{2}', '{1h}', '{act}', '{1}', '{null}',
        '{3}', '{}');
    select jobkit.announce_limits('{act}', '{1}');
    select jobkit.enqueue('act', jsonb_build_object('key', k), p_concurrency_key => k)
        from unnest(array['a', 'a', 'b', 'c']) k;
    select jobkit.enqueue('act', '{\"key\": \"later\"}', p_concurrency_key => 'later',
        p_run_at => now() + interval '1 hour');
    select jobkit.pause('elsewhere', 'ada', 'for a while');";

async fn older() -> Lab {
    let lab = Lab::empty().await;
    lab.run(SCHEMA).await;
    lab.publish().await;
    lab.run(SCENE).await;
    lab
}

/// Where each of the first five jobs is.
async fn places(lab: &Lab) -> String {
    let sql = "select string_agg(p.place, ' ' order by p.job_id) from jobkit.places p";
    lab.value(sql).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_older_binary_sends_fits_the_schema() {
    let lab = older().await;
    jobkit::migrate(lab.pool()).await.unwrap();
    let mut count = 0;
    for statement in STATEMENTS.split("\n-- @ ").skip(1) {
        let (name, sql) = statement.split_once('\n').unwrap();
        let prepared = lab.pool().prepare(AssertSqlSafe(sql.to_owned()).into_sql_str()).await;
        prepared.unwrap_or_else(|error| panic!("{name}: {error}"));
        count += 1;
    }
    assert_eq!(count, 114);
}

/// A migrated database is the same whatever it began as.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_schema_becomes_the_schema() {
    let (lab, fresh) = (older().await, Lab::new().await);
    jobkit::migrate(lab.pool()).await.unwrap();
    let (older, newest): (String, String) =
        (lab.value(&tables()).await, fresh.value(&tables()).await);
    assert_eq!(older, newest);
    jobkit::migrate(lab.pool()).await.unwrap();
}

/// The catalogue of the tests of migrations, without the bookkeeping.
fn tables() -> String {
    let (catalogue, _) = crate::migrations::CATALOGUE.rsplit_once("union all").unwrap();
    format!("{catalogue}) s")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_schema_with_jobs_in_every_state_works_on_beside_an_older_worker() {
    let lab = older().await;
    let call = async |sql: String| lab.value::<Option<String>>(&sql).await.unwrap_or_default();
    // One of each key runs, the other of `a` is blocked; then one is dead, one waits for its retry.
    let claimed = call(claim(1, 1, 10)).await;
    assert_eq!(claimed, "1 3 4");
    assert_eq!(call(settle(1, 1, 3, "bury")).await, "");
    assert_eq!(call(settle(1, 1, 4, "retry")).await, "");
    lab.run("select jobkit.replay(d.id) from jobkit.dead_letters d").await;
    let state = "blocked scheduled scheduled ready";
    assert_eq!(places(&lab).await.replace("claimed ", "").replace("running ", ""), state);

    jobkit::migrate(lab.pool()).await.unwrap();
    lab.check_invariants().await;
    let version: i32 = lab.value("select max(version) from jobkit._migrations").await;
    assert!(version > 29);

    // The older worker goes on: it beats, claims the replay, and hands its permit on.
    assert_eq!(call(heartbeat(1)).await, "true");
    lab.run("update jobkit.workers set lease_until = now() + interval '1 day'").await;
    assert_eq!(call(claim(1, 2, 10)).await, "6");
    assert_eq!(call(settle(1, 2, 6, "finish")).await, "");
    assert_eq!(call(settle(1, 1, 1, "finish")).await, "2 unblock");
    assert_eq!(call(claim(1, 3, 10)).await, "2");
    assert_eq!(lab.count("jobkit.dead_letters where state = 'resolved'").await, 1);

    // A worker of the new one runs the rest, beside it; its job goes on when it has died.
    let worker = lab.worker().jobs([Registration::of::<Act, _>()]).queue("default", 5);
    let worker = worker.lease(Duration::from_secs(2)).start().await.unwrap();
    lab.run(
        "with moved as (update jobkit.scheduled set run_at = now() returning job_id)
        update jobkit.jobs j set run_at = now() from moved m where j.id = m.job_id",
    )
    .await;
    lab.until("count(*) = 1 from jobkit.jobs").await;
    lab.run("update jobkit.workers set lease_until = now() - interval '1 s' where id = 1").await;
    lab.until("count(*) = 0 from jobkit.jobs").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.finished where outcome = 'finish'").await, 5);
    lab.check_invariants().await;
}

/// An older worker searches for them, and is told that there are none; a new one ends them where it
/// claims them.
#[tokio::test(flavor = "multi_thread")]
async fn an_older_worker_leaves_jobs_without_attempts_to_new_ones() {
    let lab = older().await;
    lab.run("update jobkit.jobs set attempt = max_attempts").await;
    jobkit::migrate(lab.pool()).await.unwrap();
    assert!(!lab.value::<bool>("select exhausted from jobkit.recover_look()").await);
    assert_eq!(lab.count("jobkit.exhausted(0, 100)").await, 0);
    assert_eq!(lab.value::<i32>("select jobkit.recover('{1, 2, 3, 4, 5}')").await, 0);
    assert_eq!(lab.count("jobkit.jobs").await, 5);
    let worker = lab.worker().jobs([Registration::of::<Act, _>()]).queue("default", 5);
    let worker = worker.start().await.unwrap();
    // But for the one whose time has not come.
    lab.until("count(*) = 1 from jobkit.jobs").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.dead_letters where reason = 'exhausted'").await, 4);
}

/// Nobody has to wait for a migration that waits for somebody's long transaction.
#[tokio::test(flavor = "multi_thread")]
async fn producers_pass_a_migration_that_waits_for_one_of_them() {
    let lab = older().await;
    let enqueue = "select jobkit.enqueue('act', '{\"key\": \"z\"}', p_concurrency_key => 'z')";
    let mut long = lab.session("long").await;
    long.run("begin").await.unwrap();
    long.run(enqueue).await.unwrap();
    let pool = lab.pool().clone();
    let migrating = tokio::spawn(async move { jobkit::migrate(&pool).await });
    let waits = "exists (select from pg_locks where not granted
        and database = (select oid from pg_database where datname = current_database())
        and relation = 'jobkit.jobs'::regclass and mode = 'AccessExclusiveLock')";
    lab.until(waits).await;
    lab.run(enqueue).await;
    lab.until(waits).await;
    long.run("commit").await.unwrap();
    migrating.await.unwrap().unwrap();
    assert_eq!(lab.count("jobkit.jobs").await, 7);
    assert_eq!(lab.count("pg_class where relname = 'jobs_exhausted'").await, 0);
}

#[tokio::test]
async fn a_schema_from_before_the_baseline_is_refused() {
    let lab = older().await;
    lab.run("delete from jobkit._migrations where version > 20").await;
    let error = jobkit::migrate(lab.pool()).await.unwrap_err();
    assert!(matches!(error, Error::SchemaTooOld { found: 20, oldest: 29 }), "{error:?}");
}
