use std::future::Future;
use std::time::{Duration, Instant};

use jobkit::report::Counts;
use jobkit::{Worker, WorkerHandle};
use private_postgres::Pooler;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Executor, PgConnection, PgPool};

use crate::databases::{PUBLISH, ROLES, Throwaway, template, under_roles};
use crate::vacuum::vacuum;

/// How long a test waits for something that must happen.
const PATIENCE: Duration = Duration::from_secs(120);

/// A migrated database of its own for one test, on the shared test server.
///
/// It stays after a test that failed, to be looked at, until a later run starts.
#[derive(Debug)]
pub struct Lab {
    url: String,
    /// Of the application: the same, but where the tests run behind a pooler.
    pool: PgPool,
    direct: PgPool,
    workers: PgPool,
    _pooler: Option<Pooler>,
    _database: Option<Throwaway>,
}

/// With this in the environment the application of each lab comes through a transaction pooler,
/// without a statement cache.
const BEHIND: &str = "JOBKIT_BEHIND_POOLER";

impl Lab {
    /// A fresh migrated database.
    pub async fn new() -> Self {
        let template = template().await;
        let mut lab = Self::with_template(&template).await;
        if under_roles() {
            (lab.pool, lab.workers) = (lab.in_role("operator"), lab.in_role("worker"));
        }
        lab
    }

    /// A fresh migrated database with the [`guard`](Self::guard).
    pub async fn guarded() -> Self {
        let lab = Self::new().await;
        lab.guard().await;
        lab
    }

    /// A fresh database without the schema.
    pub async fn empty() -> Self {
        Self::with_template("template0").await
    }

    /// The same, made with these options: `encoding 'LATIN1' locale 'C'`.
    pub async fn empty_with(options: &str) -> Self {
        Self::with_template(&["template0 ", options].concat()).await
    }

    async fn with_template(template: &str) -> Self {
        let database = Throwaway::new(template).await;
        let lab = Self::at(database.url()).await;
        Self { _database: Some(database), ..lab }
    }

    /// The lab around a database that is there.
    pub async fn at(url: String) -> Self {
        let direct = PgPoolOptions::new().max_connections(16).connect(&url).await;
        let direct = direct.expect("the database was just made");
        if std::env::var_os(BEHIND).is_none() {
            let (pool, workers) = (direct.clone(), direct.clone());
            return Self { url, pool, direct, workers, _pooler: None, _database: None };
        }
        let (pooler, options) = behind_pooler(&url, "").expect("JOBKIT_BEHIND_POOLER asks for it");
        let pool = PgPoolOptions::new().max_connections(16).connect_lazy_with(options);
        let workers = direct.clone();
        Self { url, pool, direct, workers, _pooler: Some(pooler), _database: None }
    }

    /// A pool whose sessions are in one of the roles that jobkit prints.
    fn in_role(&self, role: &str) -> PgPool {
        let options: PgConnectOptions = self.url.parse().expect("the lab's own address");
        let options = options.options([("role", format!("{ROLES}{role}"))]);
        PgPoolOptions::new().max_connections(16).connect_lazy_with(options)
    }

    /// The same database over new connections, once no session from before is left: none of them
    /// reports later what it did.
    pub async fn reconnected(self) -> Self {
        let Self { url, pool, direct, workers, _pooler, _database } = self;
        for pool in [pool, direct, workers] {
            pool.close().await;
        }
        drop(_pooler);
        // Of one connection: while one is on its way back, a larger pool opens another.
        let only = PgPoolOptions::new().max_connections(1).connect(&url).await;
        let only = only.expect("the server is up");
        let others = "select count(*) from pg_stat_activity where datname = current_database()
            and backend_type = 'client backend' and pid <> pg_backend_pid()";
        let ended = || async {
            let left = sqlx::query_scalar::<_, i64>(others).fetch_one(&only).await;
            left.expect("the server is up") == 0
        };
        wait(PATIENCE, "the sessions from before end", ended).await;
        only.close().await;
        Self { _database, ..Self::at(url).await }
    }

    /// Publishes every table, as for a logical replica. The databases of tests begin so: under such
    /// a publication the server refuses each UPDATE and DELETE in a table without a replica
    /// identity, whatever its `wal_level`.
    pub async fn publish(&self) {
        self.run(PUBLISH).await;
    }

    /// The address of the database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The pool of the application, of at most 16 connections: what enqueues and operates.
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// A pool of the same size that goes to the server in any case: for what works, and looks.
    pub fn direct(&self) -> &PgPool {
        &self.direct
    }

    /// A worker with times fit for tests: lease 8 s, poll 200 ms. It serves no queue yet. Whoever
    /// waits for a lease to end gives it a shorter one: it takes nobody's jobs back before it has
    /// been up for as long as its own.
    pub fn worker(&self) -> Worker {
        Worker::new(self.workers.clone())
            .lease(Duration::from_secs(8))
            .heartbeat(Duration::from_millis(500))
            .reap_every(Duration::from_millis(200))
            .poll(Duration::from_millis(200))
            .stop_grace(Duration::from_secs(5))
            .cancel_grace(Duration::from_millis(500))
    }

    /// A connection of its own, for tests that watch one session wait for another.
    pub async fn session(&self, name: &str) -> Session {
        let options: PgConnectOptions = self.url.parse().expect("the lab's own address");
        let mut connection =
            options.application_name(name).connect().await.expect("the server is up");
        let pid = sqlx::query_scalar("select pg_backend_pid()")
            .fetch_one(&mut connection)
            .await
            .expect("the server is up");
        Session { connection, pid }
    }

    /// A session that plans like a worker's, whatever the statistics say.
    pub async fn worker_session(&self, name: &str) -> Session {
        let mut session = self.session(name).await;
        let set = sqlx::query(include_str!("../jobkit/src/store/sql/session_set.sql"));
        let set = set.bind(false).bind("0").bind("0").bind("0").bind("off").bind("off").bind("on");
        let set = set.bind("force_generic_plan");
        set.execute(&mut session.connection).await.expect("these are settings of ours");
        session.run("reset search_path").await.expect("the lab's own is left");
        session
    }

    /// Runs statements.
    pub async fn run(&self, sql: &str) {
        let done = self.direct.execute(AssertSqlSafe(sql.to_owned())).await;
        done.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    /// Vacuums and analyses a table in which nobody writes, as autovacuum would have long done.
    pub async fn vacuum(&self, table: &str) {
        vacuum(&self.direct, table).await;
    }

    /// The only value of a query.
    pub async fn value<T>(&self, sql: &str) -> T
    where
        T: Send + Unpin + sqlx::Type<sqlx::Postgres> + for<'r> sqlx::Decode<'r, sqlx::Postgres>,
    {
        let value = sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&self.direct).await;
        value.unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    /// The number of rows of a table (or of a table with a condition).
    pub async fn count(&self, from: &str) -> i64 {
        self.value(&format!("select count(*) from {from}")).await
    }

    /// Waits until a condition in SQL holds; fails with the query when it never does.
    pub async fn until(&self, sql: &str) {
        self.until_within(PATIENCE, sql).await;
    }

    /// [`until`](Self::until) with a patience of its own.
    pub async fn until_within(&self, patience: Duration, sql: &str) {
        let holds =
            || async { self.value::<Option<bool>>(&format!("select {sql}")).await == Some(true) };
        if !holds_within(patience, holds).await {
            panic!("not within {patience:?}: {sql}; there are {}", self.jobs().await);
        }
    }

    /// The first jobs that have not ended, for whoever reads of a failure.
    async fn jobs(&self) -> String {
        let jobs = sqlx::query_scalar(include_str!("jobs.sql")).fetch_one(&self.direct).await;
        jobs.unwrap_or_else(|error| format!("no tables ({error})"))
    }

    /// Waits until one session is blocked by another: the barrier of every race test. By process
    /// ids, because the waiting session is busy in a task of its own.
    pub async fn until_blocked(&self, waiting: i32, holding: i32) {
        self.until(&format!("{holding} = any (pg_blocking_pids({waiting}))")).await;
    }

    /// Fails when the storage breaks one of its promises: a live job is not in exactly one place,
    /// a row of an ended job is left, permits and semaphores disagree, …; or when the guard had to
    /// refuse a commit.
    pub async fn check_invariants(&self) {
        let sql = "select what, who from jobkit.violations limit 20";
        let violations: Vec<(String, String)> =
            sqlx::query_as(sql).fetch_all(&self.direct).await.expect("the tables are there");
        assert!(violations.is_empty(), "invariants are violated: {violations:?}");
        if self.is_guarded().await {
            let alarmed: bool = self.value("select is_called from guard.alarms").await;
            assert!(!alarmed, "the guard refused a commit: the server's log says which");
        }
    }

    /// From now on refuses every commit that violates a promise of the storage, with SQLSTATE
    /// `JK099`. What a transaction touched is checked by looks at whole tables: not for a test with
    /// thousands of jobs.
    pub async fn guard(&self) {
        // Its triggers look at more than roles may.
        if !under_roles() && !self.is_guarded().await {
            self.run(include_str!("guard.sql")).await;
        }
    }

    async fn is_guarded(&self) -> bool {
        self.value("select to_regnamespace('guard') is not null").await
    }

    /// Statements whose result no transaction of jobkit's would commit: the guard lets them pass.
    pub async fn run_unguarded(&self, sql: &str) {
        self.run(&format!("set local session_replication_role = replica; {sql}")).await;
    }

    /// Breaks an installed function or view on purpose: replaces a passage that it has once.
    pub async fn mutate(&self, function: &str, find: &str, replace: &str) {
        let text = format!(
            "select coalesce(pg_get_functiondef(to_regproc('jobkit.{function}')),
                'create or replace view jobkit.{function} as '
                    || pg_get_viewdef(to_regclass('jobkit.{function}')))"
        );
        let text: String = self.value(&text).await;
        let found = text.matches(find).count();
        assert_eq!(found, 1, "{function} has this passage {found} times: {find:?}");
        // Between two passages of one function it need not make sense.
        let text = text.replace(find, replace);
        self.run(&format!("set check_function_bodies = off; {text}")).await;
    }
}

/// One database session.
#[derive(Debug)]
pub struct Session {
    /// The connection itself.
    pub connection: PgConnection,
    /// Its process id at the server.
    pub pid: i32,
}

impl Session {
    /// Runs statements, and says what went wrong.
    pub async fn run(&mut self, sql: &str) -> sqlx::Result<()> {
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut self.connection).await.map(drop)
    }

    /// The only value of a query.
    pub async fn value<T>(&mut self, sql: &str) -> sqlx::Result<T>
    where
        T: Send + Unpin + sqlx::Type<sqlx::Postgres> + for<'r> sqlx::Decode<'r, sqlx::Postgres>,
    {
        sqlx::query_scalar(AssertSqlSafe(sql.to_owned())).fetch_one(&mut self.connection).await
    }
}

/// A pooler with these settings before this database, and how an application connects through it
/// that follows our advice.
///
/// # Errors
/// Says why there is none.
pub fn behind_pooler(url: &str, settings: &str) -> Result<(Pooler, PgConnectOptions), String> {
    let options: PgConnectOptions = url.parse().expect("the lab's own address");
    if std::env::var_os("DATABASE_URL").is_some_and(|url| !url.is_empty()) {
        return Err("the server is not ours".to_owned());
    }
    let pooler =
        Pooler::start(options.get_port(), settings).map_err(|error| format!("{error:#}"))?;
    let pooler = pooler.ok_or("PgBouncer is missing: apt-get install pgbouncer")?;
    let options = options.port(pooler.port()).extra_float_digits(None).statement_cache_capacity(0);
    Ok((pooler, options))
}

/// What a worker has counted once so many jobs are finished: it counts an outcome when it has the
/// answer, which is after everybody can see it.
pub async fn counted(worker: &WorkerHandle, finished: u64) -> Counts {
    let counted = async || worker.counts().finished >= finished;
    wait(PATIENCE, "the worker has counted what is finished", counted).await;
    worker.counts()
}

/// Waits for a condition, looking every 10 ms; fails with `what` after `patience`.
pub async fn wait<F: Future<Output = bool>>(
    patience: Duration,
    what: &str,
    holds: impl FnMut() -> F,
) {
    assert!(holds_within(patience, holds).await, "not within {patience:?}: {what}");
}

/// Whether a condition holds by then.
async fn holds_within<F: Future<Output = bool>>(
    patience: Duration,
    mut holds: impl FnMut() -> F,
) -> bool {
    let deadline = Instant::now() + patience;
    while !holds().await {
        if Instant::now() >= deadline {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    true
}
