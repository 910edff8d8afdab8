//! Behind a transaction pooler, where a session is a stranger's after each transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::jobs::JobQuery;
use jobkit::admin::operations::BulkAction;
use jobkit::{Admin, Error, JobId, Registration};
use jobkit_tests::Lab;
use private_postgres::Pooler;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, Executor, PgConnection, PgPool};

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

/// A round of everything an operator does.
async fn round(admin: &Admin) {
    admin.overview().await.unwrap();
    admin.queues().await.unwrap();
    admin.groups().await.unwrap();
    admin.jobs(&JobQuery::default(), None, 10).await.unwrap();
    admin.dead_letters(&DeadLetterFilter::all(), None, 10).await.unwrap();
    admin.doctor().await.unwrap();
    admin.violations().await.unwrap();
    admin.pause("mail", "ada", "why").await.unwrap();
    admin.resume("mail").await.unwrap();
    assert!(admin.limit_group("nobody", Some(2)).await.is_ok());
    admin.cancel(JobId(1)).await.unwrap();
    let key = format!("{:x}", fastrand::u64(..));
    let all = BulkAction::Cancel(JobQuery::default());
    let begun = admin.begin_operation(&all, "", &key).await.unwrap();
    admin.carry_out(begun.id).await.unwrap();
    admin.operations(None, 10).await.unwrap();
}

/// A pooler and the options to connect through it to the lab's database, as strangers do.
fn behind(lab: &Lab) -> Option<(Pooler, PgConnectOptions)> {
    let options: PgConnectOptions = lab.url().parse().unwrap();
    let pooler = match std::env::var_os("DATABASE_URL").is_some_and(|url| !url.is_empty()) {
        true => Err("the server is not ours"),
        false => Pooler::start(options.get_port()).unwrap().ok_or("apt-get install pgbouncer"),
    };
    // Not by `eprintln!`, which nobody sees when the test passes.
    let pooler = pooler.map_err(|why| writeln!(std::io::stderr(), "SKIPPED, no pooler: {why}"));
    let pooler = pooler.ok()?;
    // The pooler itself carries the name of a client from session to session, where it has one.
    let options = options.port(pooler.port()).extra_float_digits(None).application_name("stranger");
    Some((pooler, options.statement_cache_capacity(0)))
}

/// Both sessions of the pool, by process: one transaction of each at once.
async fn sessions(options: &PgConnectOptions) -> BTreeMap<i32, Seen> {
    let mut seen = BTreeMap::new();
    let mut connections = [options.connect().await.unwrap(), options.connect().await.unwrap()];
    for connection in &mut connections {
        connection.execute(sqlx::raw_sql("begin")).await.unwrap();
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

/// Fails when a session of the pool is not what it was.
async fn assert_untouched(options: &PgConnectOptions, before: &BTreeMap<i32, Seen>) {
    let after = sessions(options).await;
    assert!(after.keys().eq(before.keys()), "other sessions");
    for (pid, seen) in after {
        let new: Vec<_> = seen.difference(&before[&pid]).collect();
        assert!(new.is_empty(), "{new:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_leaves_no_setting_behind_a_pooler() {
    let lab = Lab::new().await;
    let Some((_pooler, options)) = behind(&lab) else { return };
    let before = sessions(&options).await;
    assert_eq!(before.len(), 2);
    let admin = Admin::new(&PgPool::connect_lazy_with(options.clone()));
    // One after another, and two at a time, so that both sessions are used.
    round(&admin).await;
    tokio::join!(round(&admin), round(&admin));
    assert_untouched(&options, &before).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_behind_a_transaction_pooler_is_refused() {
    let lab = Lab::new().await;
    let Some((_pooler, options)) = behind(&lab) else { return };
    let before = sessions(&options).await;
    let pool = PgPoolOptions::new().connect_lazy_with(options.clone());
    let worker = jobkit::Worker::new(pool).jobs([Registration::of::<Noop, _>()]);
    let refused = worker.queue("default", 1).start().await;
    assert!(matches!(refused, Err(Error::TransactionPooler)), "{refused:?}");
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("connect the worker to the server itself"), "{text}");
    assert_eq!(lab.count("jobkit.workers").await, 0);
    assert_untouched(&options, &before).await;
}
