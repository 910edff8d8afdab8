//! Migrating: by many at once, cut short, by hand, beside the user's own, and by nobody's fault.

use std::time::Duration;

use jobkit::error::MigrateError;
use jobkit::{Enqueue, Registration};
use jobkit_tests::{Lab, wait};
use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::task::JoinSet;

use crate::jobs::Noop;

/// The schema as the catalogue has it: columns, functions, constraints, indexes and settings, but
/// for the days of history.
const CATALOGUE: &str = "
select string_agg(line, E'\\n' order by line) from (
    select concat_ws(' ', 'column', c.relname, c.relkind, c.relpersistence, c.reloptions, a.attname,
        format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attstorage, a.attidentity,
        pg_get_expr(d.adbin, d.adrelid)) as line
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    left join pg_attrdef d on (d.adrelid, d.adnum) = (a.attrelid, a.attnum)
    where c.relnamespace = 'jobkit'::regnamespace and a.attnum > 0 and not a.attisdropped
        and c.relname !~ '^finished_[0-9]'
    union all
    select pg_get_functiondef(p.oid) from pg_proc p
    where p.pronamespace = 'jobkit'::regnamespace
    union all
    select concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid))
    from pg_constraint where connamespace = 'jobkit'::regnamespace
        and conrelid::regclass::text !~ 'finished_[0-9]'
    union all
    select indexdef from pg_indexes
    where schemaname = 'jobkit' and tablename !~ '^finished_[0-9]'
    union all
    select concat_ws(' ', 'migration', version, name, checksum, readable_by)
    from jobkit._migrations
) s";

pub(crate) async fn catalogue(lab: &Lab) -> String {
    lab.value(CATALOGUE).await
}

/// Who waits for another's migration, or at a gate of a test.
pub(crate) const WAITING: &str = "from pg_locks where locktype = 'advisory' and not granted
    and database = (select oid from pg_database where datname = current_database())";

fn lone_pool(lab: &Lab) -> PgPool {
    let options: PgConnectOptions = lab.url().parse().unwrap();
    PgPoolOptions::new().max_connections(1).connect_lazy_with(options)
}

#[tokio::test(flavor = "multi_thread")]
async fn many_may_migrate_at_once() {
    let (lab, reference) = (Lab::empty().await, Lab::new().await);
    let mut starters = JoinSet::new();
    for _ in 0..32 {
        let pool = lone_pool(&lab);
        starters.spawn(async move { jobkit::migrate(&pool).await });
    }
    for outcome in starters.join_all().await {
        outcome.unwrap();
    }
    assert_eq!(catalogue(&lab).await, catalogue(&reference).await);
    let one_transaction = "select count(distinct xmin::text) from jobkit._migrations";
    assert_eq!(lab.value::<i64>(one_transaction).await, 1);
}

/// Where the server has it; in partitions that are made later as well.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_is_compressed_by_lz4() {
    let lab = Lab::new().await;
    lab.run("select jobkit.finished_prepare(30)").await;
    let methods = "select string_agg(distinct a.attcompression::text, ',') from pg_attribute a
        where a.attname in ('args', 'metadata') and a.attrelid in (
            select 'jobkit.dead_letters'::regclass
            union all select relid from pg_partition_tree('jobkit.finished'))";
    let lz4 = "select 'lz4' = any (enumvals) from pg_settings
        where name = 'default_toast_compression'";
    let expected = if lab.value(lz4).await { "l" } else { "" };
    assert_eq!(lab.value::<String>(methods).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_migration_goes_on_and_a_killed_one_leaves_nothing() {
    let lab = Lab::empty().await;
    let mut blocker = lab.session("blocker").await;
    let lock = "select pg_advisory_lock(hashtextextended('jobkit migrations', 0))";
    blocker.run(lock).await.unwrap();

    let migrate = jobkit::migrate(lab.pool());
    let short = tokio::time::timeout(Duration::from_millis(300), migrate).await;
    assert!(short.is_err(), "the lock is taken");
    lab.until(&format!("count(*) = 1 {WAITING}")).await;
    lab.run(&format!("select pg_terminate_backend(pid) {WAITING}")).await;
    lab.until(&format!("count(*) = 0 {WAITING}")).await;
    assert_eq!(lab.count("pg_namespace where nspname = 'jobkit'").await, 0);

    let short = tokio::time::timeout(Duration::from_millis(300), jobkit::migrate(lab.pool())).await;
    assert!(short.is_err(), "the lock is taken");
    blocker.run("select pg_advisory_unlock_all()").await.unwrap();
    let there = async || lab.count("pg_namespace where nspname = 'jobkit'").await == 1;
    wait(Duration::from_secs(30), "the dropped migration ends", there).await;
    jobkit::migrate(lab.pool()).await.unwrap();
    Noop.enqueue(lab.pool()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_ends_midway_leaves_nothing_half_done() {
    let lab = Lab::empty().await;
    let reference = Lab::new().await;
    for micros in [500, 2_000, 8_000, 20_000, 40_000, 60_000] {
        let pool_of = lab.url().to_owned();
        let cut_short = tokio::task::spawn_blocking(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let options: PgConnectOptions = pool_of.parse().unwrap();
                let pool = PgPoolOptions::new().connect_lazy_with(options);
                let limit = Duration::from_micros(micros);
                let _cut_short = tokio::time::timeout(limit, jobkit::migrate(&pool)).await;
            });
            runtime.shutdown_background();
        });
        cut_short.await.unwrap();
        let there = lab.count("pg_class where relnamespace::regnamespace::text = 'jobkit'").await;
        if there > 0 {
            assert_eq!(catalogue(&lab).await, catalogue(&reference).await, "after {micros} µs");
        }
    }
    jobkit::migrate(lab.pool()).await.unwrap();
    assert_eq!(catalogue(&lab).await, catalogue(&reference).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_users_own_migrations_are_not_touched() {
    let lab = Lab::empty().await;
    lab.run(
        "create table _sqlx_migrations (version bigint primary key, description text not null,
            success boolean not null, checksum bytea not null);
        insert into _sqlx_migrations values (1, 'users', true, '\\x01'), (2, 'half', false, '');
        create table _migrations (mine text);",
    )
    .await;
    let state = "select concat((select jsonb_agg(m) from _sqlx_migrations m),
        (select jsonb_agg(distinct xmin::text) from _sqlx_migrations),
        (select jsonb_agg(relname order by relname) from pg_class
         where relnamespace = 'public'::regnamespace))";
    let before: String = lab.value(state).await;
    jobkit::migrate(lab.pool()).await.unwrap();
    jobkit::migrate(lab.pool()).await.unwrap();
    assert_eq!(lab.value::<String>(state).await, before);
    lab.run("drop table _sqlx_migrations, _migrations").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_up_to_date_database_is_only_read() {
    let lab = Lab::new().await;
    let role = format!("jobkit_test_{:016x}", fastrand::u64(..));
    lab.run(&format!(
        "create role {role} login;
        alter role {role} set default_transaction_read_only = on;
        grant usage on schema jobkit to {role};
        grant select on jobkit._migrations to {role};"
    ))
    .await;
    // A table lock that stops every writer, but no reader.
    let mut reader = lab.session("reader").await;
    reader.run("begin; lock table jobkit._migrations in share mode").await.unwrap();
    let options: PgConnectOptions = lab.url().parse().unwrap();
    let pool = PgPoolOptions::new().connect_lazy_with(options.username(&role));
    jobkit::migrate(&pool).await.unwrap();
    reader.run("commit").await.unwrap();
    lab.until(&format!("count(*) = 0 from pg_stat_activity where usename = '{role}'")).await;
    lab.run(&format!("drop owned by {role}; drop role {role}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_migration_is_noticed() {
    let lab = Lab::new().await;
    lab.run("update jobkit._migrations set checksum = 'another' where version = 5").await;
    let error = jobkit::migrate(lab.pool()).await.unwrap_err();
    assert!(matches!(error, MigrateError::Edited { version: 5 }), "{error:?}");
    // Also when there is something to do, which then is not done.
    let newest = "version = (select max(version) from jobkit._migrations)";
    lab.run(&format!("delete from jobkit._migrations where {newest}")).await;
    let count = lab.count("jobkit._migrations").await;
    let error = jobkit::migrate(lab.pool()).await.unwrap_err();
    assert!(matches!(error, MigrateError::Edited { version: 5 }), "{error:?}");
    assert_eq!(lab.count("jobkit._migrations").await, count);
}

/// The first worker need not make them, which takes it longer than all else.
#[tokio::test(flavor = "multi_thread")]
async fn a_migrated_database_has_days_of_history() {
    let lab = Lab::empty().await;
    jobkit::migrate(lab.pool()).await.unwrap();
    // One fewer than there are: midnight may be near.
    assert_eq!(lab.value::<i32>("select jobkit.finished_prepare(14)").await, 0);
    let attached = "pg_inherits where inhparent = 'jobkit.finished'::regclass";
    assert!(lab.count(attached).await >= 15);
    assert_eq!(lab.count("jobkit.finished_days").await, lab.count(attached).await);
}

/// `CST` is read as a time of America, whoever wrote it.
#[tokio::test(flavor = "multi_thread")]
async fn days_that_are_made_by_hand_begin_at_midnight_of_utc() {
    let lab = Lab::empty().await;
    let mut session = lab.session("by hand").await;
    session.run("set datestyle = 'SQL, DMY'; set timezone = 'Asia/Shanghai'").await.unwrap();
    session.run(&jobkit::migration_sql()).await.unwrap();
    let shifted = "pg_class where relnamespace = 'jobkit'::regnamespace and relispartition
        and pg_get_expr(relpartbound, oid) !~ '00:00:00\\+00.*00:00:00\\+00'";
    assert_eq!(lab.count(shifted).await, 0);
    assert!(lab.value::<i32>("select jobkit.finished_prepare(20)").await > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sql_makes_the_same_by_hand() {
    let (lab, reference) = (Lab::empty().await, Lab::new().await);
    lab.run(&jobkit::migration_sql()).await;
    let by_hand = catalogue(&lab).await;
    assert_eq!(by_hand, catalogue(&reference).await);
    let notes = "select jsonb_agg(m order by version)::text from jobkit._migrations m";
    let before: String = lab.value(notes).await;
    jobkit::migrate(lab.pool()).await.unwrap();
    assert_eq!(lab.value::<String>(notes).await, before);
    assert_eq!(catalogue(&lab).await, by_hand);

    let mut session = lab.session("again").await;
    let again = session.run(&jobkit::migration_sql()).await.unwrap_err();
    assert!(again.as_database_error().is_some(), "{again}");
    session.run("rollback").await.unwrap();
    assert_eq!(catalogue(&lab).await, by_hand);
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_defaults_of_the_database_do_no_harm() {
    let lab = Lab::empty().await;
    let name: String = lab.value("select current_database()").await;
    lab.run(&format!(
        "alter database {name} set default_transaction_isolation = serializable;
        alter database {name} set default_transaction_read_only = on;
        alter database {name} set search_path = nowhere;
        alter database {name} set timezone = 'Pacific/Kiritimati';
        alter database {name} set datestyle = 'German';
        alter database {name} set statement_timeout = '1s'"
    ))
    .await;
    let pool = lone_pool(&lab);
    jobkit::migrate(&pool).await.unwrap();
    let mut producer = lab.session("producer").await;
    producer.run("set default_transaction_read_only = off").await.unwrap();
    Noop.enqueue(&mut producer.connection).await.unwrap();
    let worker = jobkit::Worker::new(pool).jobs([Registration::of::<Noop, _>()]);
    let worker = worker.poll(Duration::from_millis(200)).queue("default", 1).start().await.unwrap();
    lab.until("count(*) = 0 from jobkit.jobs").await;
    worker.stop().await;
    assert_eq!(lab.count("jobkit.dead_letters").await, 0);
}

/// The set is made without a look at what its bodies name.
#[tokio::test(flavor = "multi_thread")]
async fn every_body_of_the_set_is_valid() {
    let lab = Lab::new().await;
    let bodies: String = lab
        .value(
            "select string_agg(pg_get_functiondef(p.oid), ';' order by p.oid) from pg_proc p
            where p.pronamespace = 'jobkit'::regnamespace",
        )
        .await;
    lab.run(&bodies).await;
}

/// Claims of keys read a view of the set, and a reader may last.
#[tokio::test(flavor = "multi_thread")]
async fn a_newer_set_waits_for_no_reader_of_a_view_that_is_as_it_was() {
    let lab = Lab::new().await;
    let mut reader = lab.session("reader").await;
    reader.run("begin; select * from jobkit.key_limits, jobkit.violations limit 0").await.unwrap();
    lab.run("delete from jobkit._migrations where name = 'functions'").await;
    jobkit::migrate(lab.pool()).await.unwrap();
    reader.run("commit").await.unwrap();
}
