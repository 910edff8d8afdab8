//! Behind a transaction pooler, where a session is a stranger's after each transaction.
//!
//! With `JOBKIT_BEHIND_POOLER` in the environment the tests of `enqueue` and `admin` run there too.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::jobs::JobQuery;
use jobkit::admin::limits::Change;
use jobkit::admin::operations::{BulkAction, OperationState};
use jobkit::error::StartError;
use jobkit::{Admin, Enqueue, Job, JobContext, JobId, Registration, enqueue_all, job};
use jobkit_tests::{Lab, behind_pooler};
use private_postgres::Pooler;
use serde::{Deserialize, Serialize};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, PgPool};

use crate::jobs::Noop;

/// All settings of a session, by name, and the statements it has prepared. But for those of the
/// language itself, which a session knows once it has run a function.
type Seen = BTreeSet<(String, Option<String>)>;

const SETTINGS: &str = "select name, setting from pg_settings
    where name not like 'plpgsql.%'
    union all select 'prepared ' || name, statement from pg_prepared_statements";

async fn settings(connection: &mut PgConnection) -> Seen {
    let rows = sqlx::query_as(SETTINGS).persistent(false).fetch_all(connection).await.unwrap();
    rows.into_iter().collect()
}

/// A round of everything an operator sees.
async fn round_of_looks(admin: &Admin) {
    admin.overview().await.unwrap();
    admin.queues().await.unwrap();
    admin.kinds().await.unwrap();
    admin.jobs(&JobQuery::default(), None, 10).await.unwrap();
    admin.dead_letters(&DeadLetterFilter::all(), None, 10).await.unwrap();
    admin.doctor().await.unwrap();
    admin.violations().await.unwrap();
}

/// A round of everything an operator does.
async fn round(admin: &Admin) {
    round_of_looks(admin).await;
    admin.acting_as("ada").queue("mail").pause("why").await.unwrap();
    admin.queue("mail").resume().await.unwrap();
    assert!(admin.group("nobody").set(&Change::new().running(2)).await.is_ok());
    admin.job(JobId(1)).cancel().await.unwrap();
    let key = format!("{:x}", fastrand::u64(..));
    let all = BulkAction::Cancel(JobQuery::default());
    let begun = admin.begin_operation(&all, "", &key).await.unwrap();
    admin.operation(begun.id).run().await.unwrap();
    admin.operations(None, 10).await.unwrap();
}

/// A pooler and the options to connect through it to the lab's database, as strangers do. Without
/// one the test is skipped, and with `JOBKIT_NEED_POOLER` in the environment it fails.
fn behind(lab: &Lab, settings: &str) -> Option<(Pooler, PgConnectOptions)> {
    let pooler = behind_pooler(lab.url(), settings).map_err(|why| {
        assert!(std::env::var_os("JOBKIT_NEED_POOLER").is_none(), "{why}");
        // Not by `eprintln!`, which nobody sees when the test passes.
        writeln!(std::io::stderr(), "SKIPPED, no pooler: {why}").expect("stderr takes it");
    });
    let (pooler, options) = pooler.ok()?;
    // The pooler itself carries the name of a client from session to session, where it has one.
    Some((pooler, options.application_name("stranger")))
}

/// Both sessions of the pool, by process: one transaction of each at once, which runs this first.
async fn sessions(options: &PgConnectOptions, first: &str) -> BTreeMap<i32, Seen> {
    let mut seen = BTreeMap::new();
    let mut connections = [options.connect().await.unwrap(), options.connect().await.unwrap()];
    for connection in &mut connections {
        let begin = ["begin; ", first].concat();
        connection.execute(sqlx::raw_sql(AssertSqlSafe(begin))).await.unwrap();
        let row = sqlx::query_scalar("select pg_backend_pid()").persistent(false);
        let pid = row.fetch_one(&mut *connection).await.unwrap();
        seen.insert(pid, settings(connection).await);
    }
    for mut connection in connections {
        connection.execute(sqlx::raw_sql("commit")).await.unwrap();
        connection.close().await.unwrap();
    }
    seen
}

/// The names that sqlx gives, taken by strangers.
fn taken() -> String {
    (1..30).map(|n| format!("prepare sqlx_s_{n} as select 'a stranger''s';")).collect()
}

/// Fails when a session of the pool is not what it was.
async fn assert_untouched(options: &PgConnectOptions, before: &BTreeMap<i32, Seen>) {
    let after = sessions(options, "").await;
    assert!(after.keys().eq(before.keys()), "other sessions");
    for (pid, seen) in after {
        let changed: Vec<_> = seen.symmetric_difference(&before[&pid]).collect();
        assert!(changed.is_empty(), "{changed:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_leaves_no_setting_behind_a_pooler() {
    let lab = Lab::new().await;
    let Some((_pooler, options)) = behind(&lab, "") else { return };
    let before = sessions(&options, &taken()).await;
    assert_eq!(before.len(), 2);
    let admin = Admin::new(&PgPool::connect_lazy_with(options.clone()));
    // One after another, and two at a time, so that both sessions are used.
    round(&admin).await;
    tokio::join!(round(&admin), round(&admin));
    assert_untouched(&options, &before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_run_behind_a_pooler_and_leave_nothing_there() {
    let lab = Lab::empty().await;
    let Some((_pooler, options)) = behind(&lab, "") else { return };
    let before = sessions(&options, &taken()).await;
    // As an application has it that does not know of poolers.
    let pool = PgPool::connect_lazy_with(options.clone().statement_cache_capacity(100));
    let migrate = || jobkit::migrate(&pool);
    for done in <[_; 4]>::from(tokio::join!(migrate(), migrate(), migrate(), migrate())) {
        done.unwrap();
    }
    migrate().await.unwrap();
    assert_untouched(&options, &before).await;
    lab.check_invariants().await;
}

/// Whatever the pooler does with its sessions: gives the one it has, the last one, or each in turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_behind_a_transaction_pooler_is_refused() {
    let lab = Lab::new().await;
    for settings in ["default_pool_size = 1", "", "server_round_robin = 1"] {
        let Some((_pooler, options)) = behind(&lab, settings) else { return };
        let all = !settings.ends_with("size = 1");
        let before = if all { sessions(&options, "").await } else { BTreeMap::new() };
        let pool = PgPoolOptions::new().connect_lazy_with(options.clone());
        let worker = jobkit::Worker::new(pool).jobs([Registration::of::<Noop, _>()]);
        let refused = worker.queue("default", 1).start().await;
        assert!(matches!(refused, Err(StartError::TransactionPooler)), "{settings}: {refused:?}");
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("connect the worker to the server itself"), "{text}");
        assert_eq!(lab.count("jobkit.workers").await, 0);
        if all {
            assert_untouched(&options, &before).await;
        }
    }
}

/// Fails as long as something is broken, if it is one of a hundred.
#[derive(Serialize, Deserialize)]
#[job(max_attempts = 1, retention = "1h")]
struct Ship {
    order: u32,
}

impl Job<Arc<AtomicBool>> for Ship {
    async fn run(self, cx: JobContext<Arc<AtomicBool>>) -> jobkit::Result {
        let fails = self.order.is_multiple_of(100) && cx.state().load(Ordering::Relaxed);
        if fails { Err("broken".into()) } else { Ok(()) }
    }
}

const ORDERS: u32 = 10_000;

/// One producer of four: in each transaction a row of the application and up to nine jobs, each
/// third of them rolled back; some jobs by a statement of their own. Returns how many are there.
async fn produce(pool: PgPool, producer: u32) -> i64 {
    let (mut order, mut kept) = (producer * ORDERS / 4, 0);
    let end = order + ORDERS / 4;
    while order < end {
        let jobs: Vec<_> = (order..end.min(order + fastrand::u32(1..10))).collect();
        order += u32::try_from(jobs.len()).unwrap();
        if jobs.len() == 9 {
            for order in &jobs {
                Ship { order: *order }.enqueue(&pool).await.unwrap();
            }
            kept += 9;
            continue;
        }
        let mut tx = pool.begin().await.unwrap();
        if jobs.len() > 4 {
            let later = jobs.iter().map(|order| Ship { order: *order }.options().priority(1));
            enqueue_all(later, &mut *tx).await.unwrap();
        } else {
            let insert = sqlx::query("insert into orders values ($1)").persistent(false);
            insert.bind(i64::from(jobs[0])).execute(&mut *tx).await.unwrap();
            for order in &jobs {
                Ship { order: *order }.enqueue(&mut *tx).await.unwrap();
            }
        }
        if order.is_multiple_of(3) {
            tx.rollback().await.unwrap();
        } else {
            tx.commit().await.unwrap();
            kept += i64::try_from(jobs.len()).unwrap();
        }
    }
    kept
}

/// Acts on everything that matches, and returns how many that were.
async fn operate(admin: &Admin, all: BulkAction, key: &str) -> u64 {
    let begun = admin.begin_operation(&all, "", key).await.unwrap();
    let ended = admin.operation(begun.id).run().await.unwrap().unwrap();
    assert_eq!((ended.state, ended.skipped), (OperationState::Done, 0));
    ended.done
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_ten_thousand_jobs_is_lost_behind_a_pooler_nor_left_there() {
    let lab = Lab::new().await;
    let Some((_pooler, options)) = behind(&lab, "") else { return };
    lab.run("create table orders (id bigint)").await;
    let before = sessions(&options, &taken()).await;
    let pool = PgPoolOptions::new().max_connections(8).connect_lazy_with(options.clone());
    let admin = Admin::new(&pool);
    let broken = Arc::new(AtomicBool::new(true));
    let worker = lab.worker().jobs([Registration::of::<Ship, _>()]).state(Arc::clone(&broken));
    let worker = worker.queue("default", 100).start().await.unwrap();

    let producers: Vec<_> = (0..4).map(|n| tokio::spawn(produce(pool.clone(), n))).collect();
    let other = (0..50).map(|order| Ship { order }.options().queue("other"));
    enqueue_all(other, &pool).await.unwrap();
    let mut kept = 50;
    for producer in producers {
        round_of_looks(&admin).await;
        kept += producer.await.unwrap();
    }
    let other = BulkAction::Cancel("queue:other".parse().unwrap());
    assert_eq!(operate(&admin, other, "cancel").await, 50);
    lab.until("not exists (select from jobkit.jobs)").await;

    broken.store(false, Ordering::Relaxed);
    let dead = lab.count("jobkit.dead_letters").await;
    let all = BulkAction::Replay(DeadLetterFilter::all());
    assert_eq!(operate(&admin, all, "replay").await, dead.cast_unsigned());
    lab.until("not exists (select from jobkit.jobs)").await;
    worker.stop().await;

    assert!(dead > 20, "{dead}");
    assert_eq!(lab.count("jobkit.finished where outcome = 'cancel'").await, 50);
    assert_eq!(lab.count("jobkit.finished where outcome = 'finish'").await, kept - 50);
    assert_eq!(lab.count("jobkit.dead_letters where resolved_at is null").await, 0);
    lab.check_invariants().await;
    assert_untouched(&options, &before).await;
}
