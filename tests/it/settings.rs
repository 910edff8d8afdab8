//! Databases whose defaults are not what one expects: the whole life of jobs in each.

use std::time::Duration;

use jobkit::admin::dead_letters::DeadLetterFilter;
use jobkit::admin::doctor::Check;
use jobkit::admin::jobs::JobQuery;
use jobkit::admin::operations::BulkAction;
use jobkit::admin::{AdminError, Severity};
use jobkit::enqueue::EnqueueError;
use jobkit::error::{DatabaseError, MigrateError, SchemaError, StartError};
use jobkit::{Admin, Enqueue, Job, JobContext, Registration, job};
use jobkit_tests::Lab;
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, PgPool};

/// Fails so often.
#[derive(Serialize, Deserialize)]
#[job(
    max_attempts = 2,
    backoff = fixed("1ms"),
    retention = "1h",
    concurrency_key = self.key,
    concurrency_limit = 1
)]
struct Live {
    key: String,
    fail: u32,
}

impl Job for Live {
    async fn run(self, cx: JobContext) -> jobkit::Result {
        if cx.attempt() <= self.fail { Err("not yet".into()) } else { Ok(()) }
    }
}

/// Settings with which the tests themselves look.
const SANE: &str = "options[default_transaction_isolation]=read%20committed\
    &options[default_transaction_read_only]=off&options[search_path]=public\
    &options[statement_timeout]=0&options[lock_timeout]=0&options[idle_session_timeout]=0\
    &options[idle_in_transaction_session_timeout]=0&options[session_replication_role]=origin\
    &options[standard_conforming_strings]=on";

/// A database, as the application sees it and as the test does.
struct Place {
    theirs: Lab,
    ours: Lab,
    _made: Lab,
}

impl Place {
    /// An empty database made with these options, whose sessions begin with these settings: of the
    /// database, or, what counts for more, of the role in it.
    async fn new(options: &str, settings: &[&str], of_the_role: bool) -> Self {
        let lab = Lab::empty_with(options).await;
        lab.run(HOSTILE).await;
        let name: String = lab.value("select current_database()").await;
        let whose = match of_the_role {
            true => format!("role current_user in database {name}"),
            false => format!("database {name}"),
        };
        for setting in settings {
            lab.run(&format!("alter {whose} set {setting}")).await;
        }
        let theirs = Lab::at(lab.url().to_owned()).await;
        let ours = Lab::at([lab.url(), "&", SANE].concat()).await;
        Self { theirs, ours, _made: lab }
    }

    fn pool(&self) -> &PgPool {
        self.theirs.pool()
    }

    /// Enqueues in a session of the application's, which may write if it says so; and again where
    /// a busy machine took longer than the settings allow.
    async fn enqueue(&self, key: &str, fail: u32) {
        while let Err(error) = self.try_enqueue(key, fail).await {
            assert!(is_late(&error), "{error}");
        }
    }

    async fn try_enqueue(&self, key: &str, fail: u32) -> Result<(), EnqueueError> {
        let mut tx = self.pool().begin_with("begin read write").await?;
        Live { key: key.to_owned(), fail }.enqueue(&mut *tx).await?;
        Ok(tx.commit().await?)
    }

    /// The same in SQL.
    async fn enqueue_sql(&self, key: &str) {
        let sql = format!(
            "select jobkit.enqueue('live', '{{\"key\": \"{key}\", \"fail\": 0}}',
                p_concurrency_key => '{key}', p_tags => '{{a}}')"
        );
        while let Err(error) = self.try_run(&sql).await {
            assert!(is_late(&error), "{error}");
        }
    }

    async fn try_run(&self, sql: &str) -> Result<(), EnqueueError> {
        let mut tx = self.pool().begin_with("begin read write").await?;
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut *tx).await?;
        Ok(tx.commit().await?)
    }

    /// Whose claim a reaper has to take back.
    async fn die_with_a_job(&self) {
        self.enqueue("dead", 0).await;
        let claim = "select jobkit.register(31, 'dead', '{default}', '{live}', '1 s', '{5}');
            select from jobkit.claim(31, 1, '{live}', '{default}', '{5}')";
        self.ours.run(claim).await;
        assert_eq!(self.ours.count("jobkit.claims").await, 1);
    }

    /// All that happens to jobs: enqueued, run, retried, buried, reaped.
    async fn live(&self) -> jobkit::WorkerHandle {
        jobkit::migrate(self.pool()).await.unwrap();
        jobkit::migrate(self.pool()).await.unwrap();
        let start = async || {
            let worker = self.theirs.worker().jobs([Registration::of::<Live, _>()]);
            worker.lease(Duration::from_secs(2)).queue("default", 10).start().await.unwrap()
        };
        start().await.stop().await;
        self.die_with_a_job().await;
        let worker = start().await;
        for (key, fail) in [("a", 0), ("a", 1), ("a", 9), ("b", 0)] {
            self.enqueue(key, fail).await;
        }
        self.enqueue_sql("a").await;
        self.ours.until("(select count(*) from jobkit.dead_letters) = 1").await;
        self.ours.until("(select count(*) from jobkit.finished) = 5").await;
        worker
    }

    /// A pause waits for a lock longer than an application's statement may.
    async fn pause_in_vain_for(&self, admin: &Admin, time: &str) {
        let mut holder = self.ours.session("holder").await;
        // The database's defaults are the holder's, too: it lasts all the same.
        holder
            .run(
                "do $$ begin
                    if current_setting('transaction_timeout', true) is not null then
                        perform set_config('transaction_timeout', '0', false);
                    end if;
                end $$",
            )
            .await
            .unwrap();
        holder.run("begin; lock table jobkit.limits in row share mode").await.unwrap();
        let pause = admin.clone();
        let pause = tokio::spawn(async move { pause.queue("default").pause("").await });
        let waits = format!(
            "exists (select from pg_stat_activity where {} = any (pg_blocking_pids(pid))
                and query_start < clock_timestamp() - interval '{time}')",
            holder.pid
        );
        self.ours.until(&waits).await;
        holder.run("commit").await.unwrap();
        assert!(pause.await.unwrap().unwrap());
    }

    /// What an operator sees and does.
    async fn operate(&self, admin: &Admin) {
        let found = admin.doctor().await.unwrap().findings;
        // The server of the tests is not a durable one.
        let mut severe = found.iter().filter(|finding| finding.check != Check::Durability);
        assert!(severe.all(|found| found.severity < Severity::Critical), "{found:?}");
        assert_eq!(admin.overview().await.unwrap().running, 0);
        let finished =
            JobQuery { listing: jobkit::admin::jobs::Listing::Finished, ..JobQuery::default() };
        assert_eq!(admin.jobs(&finished, None, 10).await.unwrap().jobs.len(), 5);
        let letters = DeadLetterFilter::all();
        let listed = admin.dead_letters(&letters, None, 10).await.unwrap();
        assert_eq!(listed.entries.len(), 1);
        let replay = BulkAction::Replay(letters);
        let begun = admin.begin_operation(&replay, "", "once").await;
        if self
            .theirs
            .value::<String>("select pg_catalog.current_setting('transaction_read_only')")
            .await
            == "on"
        {
            assert!(
                matches!(begun, Err(AdminError::Database(DatabaseError::ReadOnly))),
                "{begun:?}"
            );
            return;
        }
        // Nine failures are more than two times two attempts: it is buried again.
        let done = format!(
            "exists (select from jobkit.operations where id = {} and state = 'done')",
            begun.unwrap().id
        );
        self.ours.until(&done).await;
        self.ours.until("exists (select from jobkit.dead_letters where cycles > 1)").await;
        let matches = "args.list.0.key:a kind:live".parse().unwrap();
        assert!(admin.jobs(&matches, None, 10).await.unwrap().jobs.is_empty());
        self.pause_in_vain_for(admin, "300 ms").await;
        assert!(admin.queue("default").resume().await.unwrap());
    }
}

/// Whether a session ran into one of the limits of time in its settings, or was ended by it.
fn is_late(error: &EnqueueError) -> bool {
    use DatabaseError as E;
    let EnqueueError::Database(E::Failed(error) | E::Unreachable(error)) = error else {
        return false;
    };
    match error.as_database_error().and_then(|answer| answer.code()) {
        Some(code) => ["57014", "55P03", "25P03", "25P04", "57P05"].contains(&&*code),
        None => matches!(error, sqlx::Error::Io(_)),
    }
}

async fn whole_life(options: &str, settings: &[&str], of_the_role: bool) {
    let place = Place::new(options, settings, of_the_role).await;
    let worker = place.live().await;
    place.operate(&Admin::new(place.pool())).await;
    worker.stop().await;
    assert_eq!(place.ours.count("jobkit.workers").await, 0);
    place.ours.check_invariants().await;
}

/// A schema with names that our statements use, and other things behind them.
const HOSTILE: &str = "create schema evil;
    create table evil.jobs ();
    create table evil._migrations ();
    create function evil.lie(int8, int8) returns boolean language sql as 'select false';
    create operator evil.= (leftarg = int8, rightarg = int8, function = evil.lie);
    create function evil.lie(timestamptz, timestamptz) returns boolean
        language sql as 'select false';
    create operator evil.> (leftarg = timestamptz, rightarg = timestamptz, function = evil.lie);
    create operator evil.< (leftarg = timestamptz, rightarg = timestamptz, function = evil.lie);
    create function evil.lie(text, text) returns boolean language sql as 'select false';
    create operator evil.= (leftarg = text, rightarg = text, function = evil.lie);
    create function evil.clock_timestamp() returns timestamptz
        language sql as $$ select timestamptz '-infinity' $$;
    create function evil.max(int4) returns int4 language sql as 'select 0';
    create function evil.pg_backend_pid() returns int4
        language sql as 'select (random() * 1000)::int4';
    create function evil.pg_is_in_recovery() returns boolean language sql as 'select true';
    create function evil.current_setting(text) returns text language sql as 'select null';
    create function evil.current_setting(text, boolean) returns text language sql as 'select null';
    create function evil.set_config(text, text, boolean) returns text
        language sql as 'select null';
    create function evil.pg_notify(text, text) returns void language sql as 'select'";

/// Makes a test of each row.
macro_rules! in_databases {
    ($($name:ident: $options:literal $settings:expr,)+) => {
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            whole_life($options, &$settings, false).await;
        })+
    };
}

in_databases! {
    sessions_that_end_when_idle: "" ["idle_session_timeout = '250ms'"],
    timeouts_as_for_web_requests: "" [
        "statement_timeout = '250ms'", "lock_timeout = '50ms'",
        "idle_in_transaction_session_timeout = '250ms'",
    ],
    serializable_transactions: "" [
        "default_transaction_isolation = 'serializable'", "default_transaction_deferrable = on",
    ],
    repeatable_reads: "" ["default_transaction_isolation = 'repeatable read'"],
    transactions_that_only_read: "" ["default_transaction_read_only = on"],
    a_hostile_search_path: "" ["search_path = evil, pg_catalog, public"],
    triggers_that_do_not_fire: "" ["session_replication_role = replica", "row_security = off"],
    texts_of_another_style: "" [
        "timezone = 'Asia/Kathmandu'", "datestyle = 'German, DMY'",
        "intervalstyle = 'sql_standard'",
        "bytea_output = 'escape'", "standard_conforming_strings = off", "backslash_quote = on",
        "quote_all_identifiers = on", "extra_float_digits = 3", "array_nulls = off",
        "client_encoding = 'LATIN1'", "transform_null_equals = on",
    ],
    plans_of_another_mind: "" [
        "enable_indexscan = off", "enable_bitmapscan = off", "enable_nestloop = off",
        "plan_cache_mode = force_generic_plan", "jit_above_cost = 0", "jit = on",
        "synchronous_commit = off", "plpgsql.extra_errors = 'all'",
        "plpgsql.variable_conflict = use_variable",
    ],
    a_locale_of_the_system: "encoding 'UTF8' locale 'C.UTF-8'" [],
}

/// A database has had ICU's rules as its own since PostgreSQL 15.
#[tokio::test(flavor = "multi_thread")]
async fn icu_with_turkish_letters() {
    if version().await >= 150_000 {
        let options = "encoding 'UTF8' locale_provider icu icu_locale 'tr-TR' locale 'C'";
        whole_life(options, &[], false).await;
    }
}

async fn version() -> i32 {
    Lab::empty().await.value("select current_setting('server_version_num')::int").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_with_settings_of_its_own() {
    let settings = [
        "idle_session_timeout = '250ms'",
        "statement_timeout = '250ms'",
        "lock_timeout = '50ms'",
        "idle_in_transaction_session_timeout = '250ms'",
        "default_transaction_isolation = 'serializable'",
        "search_path = evil, pg_catalog, public",
        "session_replication_role = replica",
        "standard_conforming_strings = off",
    ];
    whole_life("", &settings, true).await;
}

/// PostgreSQL 17 and later.
#[tokio::test(flavor = "multi_thread")]
async fn transactions_that_may_not_last() {
    if version().await >= 170_000 {
        for of_the_role in [false, true] {
            whole_life("", &["transaction_timeout = '250ms'"], of_the_role).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_not_utf8_is_refused_before_anything_is_made() {
    for encoding in ["LATIN1", "EUC_JP", "SQL_ASCII"] {
        let lab = Lab::empty_with(&format!("encoding '{encoding}' locale 'C'")).await;
        let worker = || lab.worker().jobs([Registration::of::<Live, _>()]).queue("default", 1);
        let migrated = jobkit::migrate(lab.pool()).await.unwrap_err();
        let started = worker().start().await.unwrap_err();
        let (MigrateError::Database(migrated), StartError::Database(started)) = (migrated, started)
        else {
            panic!("{encoding}")
        };
        for refused in [migrated, started] {
            let DatabaseError::Schema(refused) = refused else { panic!("{encoding}: {refused:?}") };
            assert_eq!(refused, SchemaError::Encoding { found: encoding.to_owned() });
            assert!(refused.to_string().contains("encoding 'UTF8'"), "{refused}");
        }
        let found = Admin::new(lab.pool()).doctor().await.unwrap().findings;
        assert!(found[0].found.contains("the encoding of this database"), "{found:?}");
        let script = AssertSqlSafe(jobkit::migration_sql());
        sqlx::raw_sql(script)
            .execute(&mut lab.session("by hand").await.connection)
            .await
            .unwrap_err();
        let made: bool = lab.value("select to_regnamespace('jobkit') is not null").await;
        assert!(!made, "{encoding}");
    }
}
