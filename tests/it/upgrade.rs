//! An upgrade to a next version that is made up: jobs in every state and workers of this version go
//! on beside the newer schema, or stop where it does not serve them.

use std::time::Duration;

use jobkit::admin::dead_letters::DeadLetterId;
use jobkit::testing::migrate_further;
use jobkit::{Admin, Enqueue, Error, Job, JobContext, Registration, WorkerHandle, job};
use jobkit_tests::{Lab, Session};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::jobs::{self, Act, EFFECTS, Noop, Then};
use crate::migrations::WAITING;

/// What the next version does to the tables, …
const TABLES: &str = "alter table jobkit.jobs add column colour text;
    create index jobs_coloured on jobkit.jobs (colour) where colour is not null;";

/// … and to the functions: one has a parameter more, one another body, and one is new.
const FUNCTIONS: &str = "
    drop function jobkit.pause(text, text, text);
    create or replace function jobkit.pause(
        p_queue text, p_actor text default null, p_reason text default null,
        p_colour text default 'red'
    ) returns boolean language sql as $$
        insert into jobkit.queues (name, paused_at, paused_by, reason)
        values (p_queue, clock_timestamp(), p_actor, p_colour) returning true
    $$;
    create or replace function jobkit.enqueue_form_1() returns boolean
    language sql immutable as $$ select 1 = 1 $$;
    create or replace function jobkit.paint() returns text
    language sql as $$ select 'red' $$;
";

/// The version of the schema.
async fn version(lab: &Lab) -> i32 {
    lab.value("select max(version) from jobkit._migrations").await
}

async fn further(pool: &PgPool, readable_by: i32) -> Result<(), Error> {
    migrate_further(pool, TABLES, FUNCTIONS, readable_by).await
}

/// The jobs of a key, of which one runs at a time: until the gate opens.
#[derive(Serialize, Deserialize)]
#[job(kind = "gated_by_key", concurrency_key = "k", retention = "1h")]
struct Keyed;

impl Job<PgPool> for Keyed {
    async fn run(self, cx: JobContext<PgPool>) -> jobkit::Result {
        jobs::trace(&cx, "begin").await?;
        sqlx::query("select pg_advisory_xact_lock(4711)").execute(cx.state()).await?;
        Ok(())
    }
}

async fn start(lab: &Lab) -> Result<WorkerHandle, Error> {
    let all = jobs::all().into_iter().chain([Registration::of::<Keyed, _>()]);
    lab.worker().state(lab.pool().clone()).jobs(all).queue("default", 10).start().await
}

/// Closed as long as the session is there.
async fn gate(lab: &Lab) -> Session {
    let mut gate = lab.session("gate").await;
    gate.run("select pg_advisory_lock(4711)").await.unwrap();
    gate
}

/// A worker, and jobs in every state: of one key one runs and one is blocked, one is dead, one
/// waits for its time, and one in a queue that is paused.
async fn scene(lab: &Lab) -> (WorkerHandle, Session) {
    lab.run(EFFECTS).await;
    let gate = gate(lab).await;
    let worker = start(lab).await.unwrap();
    Admin::new(lab.pool()).pause("elsewhere", "ada", "for a while").await.unwrap();
    Act::then(Then::Dead).enqueue(lab.pool()).await.unwrap();
    jobkit::enqueue_all([Keyed, Keyed], lab.pool()).await.unwrap();
    let later = Act::then(Then::FailTimes(1)).options().after(Duration::from_secs(3600));
    later.enqueue(lab.pool()).await.unwrap();
    Noop.options().queue("elsewhere").enqueue(lab.pool()).await.unwrap();
    lab.until("count(*) = 1 from jobkit.dead_letters, jobkit.blocked_executions").await;
    lab.until(&format!("count(*) = 1 {WAITING}")).await;
    (worker, gate)
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_in_every_state_and_their_worker_go_on_beside_a_newer_schema() {
    let lab = Lab::new().await;
    let before = version(&lab).await;
    let (worker, mut gate) = scene(&lab).await;
    further(lab.pool(), before).await.unwrap();
    assert_eq!(version(&lab).await, before + 2);
    assert_eq!(lab.count("jobkit.blocked_executions").await, 1, "the other one runs still");
    gate.run("select pg_advisory_unlock(4711)").await.unwrap();

    // All that this version sends fits: it replays, pauses and resumes, and more of it start.
    let admin = Admin::new(lab.pool());
    let letter: i64 = lab.value("select id from jobkit.dead_letters").await;
    admin.replay(DeadLetterId(letter)).await.unwrap();
    admin.pause("third", "ada", "").await.unwrap();
    assert_eq!(lab.count("jobkit.queues where reason = 'red'").await, 1, "by the new function");
    let second = start(&lab).await.unwrap();
    lab.run(
        "with moved as (update jobkit.scheduled set run_at = now() returning job_id)
        update jobkit.jobs j set run_at = now() from moved m where j.id = m.job_id",
    )
    .await;
    lab.until("count(*) = 1 from jobkit.jobs").await;
    lab.until("count(*) = 1 from jobkit.dead_letters where state = 'open' and cycles = 2").await;
    assert_eq!(lab.count("jobkit.finished where outcome = 'finish'").await, 3);
    worker.stop().await;
    second.stop().await;
    lab.check_invariants().await;

    // An older set never replaces a newer one.
    jobkit::migrate(lab.pool()).await.unwrap();
    further(lab.pool(), before).await.unwrap();
    assert_eq!(lab.value::<String>("select jobkit.paint()").await, "red");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_does_not_serve_a_worker_lets_it_finish_what_it_runs() {
    let lab = Lab::new().await;
    let (worker, mut gate) = scene(&lab).await;
    let known = version(&lab).await;
    further(lab.pool(), known + 1).await.unwrap();
    let refused = start(&lab).await.unwrap_err();
    assert!(
        matches!(refused, Error::SchemaNewer { found, .. } if found == known + 2),
        "{refused:?}"
    );
    // It looks every 30 s.
    tokio::time::timeout(Duration::from_secs(60), worker.stopping()).await.unwrap();
    lab.run("select jobkit.enqueue('act', '{\"then\": \"Succeed\"}')").await;
    // Five polls.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(lab.count("jobkit.ready where kind = 'act'").await, 1, "it claims no more");
    assert_eq!(lab.count("jobkit.claims").await, 1, "and what it has runs");
    gate.run("select pg_advisory_unlock(4711)").await.unwrap();
    lab.until("exists (select from jobkit.finished where kind = 'gated_by_key')").await;
    worker.stop().await;
    lab.check_invariants().await;
}

/// A step that was forgotten below one that is there is applied; and whoever waits for another's
/// migration looks again whether it is served then.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_step_is_applied_and_who_waited_judges_anew() {
    let lab = Lab::new().await;
    let known = version(&lab).await;
    further(lab.pool(), known).await.unwrap();
    lab.run(&format!(
        "alter table jobkit.jobs drop column colour;
        delete from jobkit._migrations where version = {known} + 1"
    ))
    .await;
    further(lab.pool(), known).await.unwrap();
    assert_eq!(lab.count("jobkit.jobs where colour is null").await, 0);

    let late = Lab::empty().await;
    let mut other = late.session("other").await;
    let lock = "select pg_advisory_lock(hashtextextended('jobkit migrations', 0))";
    other.run(lock).await.unwrap();
    let pool = late.pool().clone();
    let waiting = tokio::spawn(async move { jobkit::migrate(&pool).await });
    late.until(&format!("count(*) = 1 {WAITING}")).await;
    let newer = jobkit::migration_sql().replace("select pg_advisory_xact_lock", "select length");
    let newer = newer.replace("length(hashtextextended('jobkit migrations', 0))", "1");
    other.run(&newer).await.unwrap();
    let note = format!("insert into jobkit._migrations values ({0}, 'later', 'x', {0})", known + 9);
    other.run(&note).await.unwrap();
    other.run("select pg_advisory_unlock_all()").await.unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::SchemaNewer { .. }), "{error:?}");
}

/// Whatever it began as.
#[tokio::test(flavor = "multi_thread")]
async fn an_upgraded_schema_is_the_same_as_a_new_one() {
    let (lab, fresh) = (Lab::new().await, Lab::empty().await);
    let known = version(&lab).await;
    further(lab.pool(), known).await.unwrap();
    further(fresh.pool(), known).await.unwrap();
    let catalogue = crate::migrations::catalogue;
    let without_bookkeeping = |all: String| {
        let ours = all.lines().filter(|line| !line.starts_with("migration "));
        ours.map(str::to_owned).collect::<Vec<_>>()
    };
    let of = async |lab: &Lab| without_bookkeeping(catalogue(lab).await);
    assert_eq!(of(&lab).await, of(&fresh).await);
}

/// Nobody has to wait for a migration that waits for somebody's long transaction.
#[tokio::test(flavor = "multi_thread")]
async fn producers_pass_a_migration_that_waits_for_one_of_them() {
    let lab = Lab::new().await;
    let known = version(&lab).await;
    start(&lab).await.unwrap().stop().await;
    let enqueue = "select jobkit.enqueue('noop', 'null')";
    let mut long = lab.session("long").await;
    long.run("begin").await.unwrap();
    long.run(enqueue).await.unwrap();
    let pool = lab.pool().clone();
    let migrating = tokio::spawn(async move { further(&pool, known).await });
    let waits = "exists (select from pg_locks where not granted
        and database = (select oid from pg_database where datname = current_database())
        and relation = 'jobkit.jobs'::regclass and mode = 'AccessExclusiveLock')";
    lab.until(waits).await;
    lab.run(enqueue).await;
    lab.until(waits).await;
    long.run("commit").await.unwrap();
    migrating.await.unwrap().unwrap();
    assert_eq!(lab.count("jobkit.jobs where colour is null").await, 2);
}
