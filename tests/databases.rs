//! The databases of the tests on their server: made, and gone again.

use std::sync::{OnceLock, mpsc};
use std::time::{SystemTime, UNIX_EPOCH};

use private_postgres::Purpose;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, PgConnection, PgPool};
use tokio::sync::OnceCell;

/// The name of a database that goes with its test, unless that fails: thousands of them would
/// fill a disk.
#[derive(Debug)]
pub(crate) struct Throwaway(String);

impl Throwaway {
    /// A copy of this database.
    pub(crate) async fn new(template: &str) -> Self {
        let name = format!("jobkit_test_{}_{:08x}", now(), fastrand::u32(..));
        let mut server = server().await;
        server
            .execute(AssertSqlSafe(format!("create database {name} template {template}")))
            .await
            .expect("the test server makes databases");
        server.close().await.expect("an idle connection closes");
        Self(name)
    }

    /// Its address.
    pub(crate) fn url(&self) -> String {
        at_database(&self.0)
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _the_process_ends = janitor().send(std::mem::take(&mut self.0));
        }
    }
}

/// Drops databases beside the tests. What is left when the process ends goes with the next run.
fn janitor() -> &'static mpsc::Sender<String> {
    static JANITOR: OnceLock<mpsc::Sender<String>> = OnceLock::new();
    JANITOR.get_or_init(|| {
        let (names, dropped) = mpsc::channel::<String>();
        std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a thread has a runtime").block_on(async {
                let mut server = server().await;
                for name in dropped {
                    drop_database(&mut server, &name).await;
                }
            });
        });
        names
    })
}

async fn drop_database(server: &mut PgConnection, name: &str) {
    let drop = format!("drop database if exists {name} with (force)");
    let _gone_already = server.execute(AssertSqlSafe(drop)).await;
}

fn server_url() -> &'static str {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| private_postgres::url(Purpose::Test).expect("a server for the tests"))
}

async fn server() -> PgConnection {
    PgConnection::connect(server_url()).await.expect("the test server is up")
}

/// The server's address with another database.
fn at_database(name: &str) -> String {
    let options: PgConnectOptions = server_url().parse().expect("a PostgreSQL address");
    options.database(name).to_url_lossy().to_string()
}

/// Removes the days of history that a migration makes: which they are depends on when.
const FORGET_DAYS: &str = "do $$ declare v_day text; begin
    for v_day in select inhrelid::regclass from pg_inherits
        where inhparent = 'jobkit.finished'::regclass
    loop execute 'drop table ' || v_day; end loop;
    delete from jobkit.finished_days;
end $$";

/// Publishes every table, as [`Lab::publish`](crate::Lab::publish) does.
pub(crate) const PUBLISH: &str = "create publication everything for all tables";

/// The worst a planner can know: of tables that were vacuumed while they were empty it believes
/// that they are read quickly from end to end. So it is wherever nothing happens for a while.
const VACUUM: &str = "vacuum analyze";

/// The migrated database that tests copy; made once for each state of the migrations.
pub(crate) async fn template() -> String {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    TEMPLATE.get_or_init(make_template).await.clone()
}

async fn make_template() -> String {
    let sql = jobkit::migration_sql();
    let roles = roles();
    let text = [&*sql, FORGET_DAYS, PUBLISH, &roles, VACUUM].concat();
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let name = format!("jobkit_template_{hash:016x}");
    let mut server = server().await;
    // Other test binaries may be at it; the lock ends with the connection.
    server.execute("select pg_advisory_lock(4711)").await.expect("nobody holds it for long");
    drop_old(&mut server).await;
    let made: bool =
        sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
            .bind(&name)
            .fetch_one(&mut server)
            .await
            .expect("the catalogue can be read");
    if !made {
        let half = format!("{name}_half");
        for sql in [
            format!("drop database if exists {half}"),
            format!("create database {half} template template0"),
        ] {
            server.execute(AssertSqlSafe(sql)).await.expect("databases can be made");
        }
        let pool = PgPool::connect(&at_database(&half)).await.expect("it was just made");
        jobkit::migrate(&pool).await.expect("the migrations apply");
        (&pool).execute(FORGET_DAYS).await.expect("nothing is in them");
        (&pool).execute(PUBLISH).await.expect("the tests are a superuser");
        (&pool).execute(AssertSqlSafe(roles)).await.expect("the tests are a superuser");
        (&pool).execute(VACUUM).await.expect("the tests are a superuser");
        pool.close().await;
        server
            .execute(AssertSqlSafe(format!("alter database {half} rename to {name}")))
            .await
            .expect("nobody is connected to it");
    }
    server.close().await.expect("an idle connection closes");
    name
}

/// With this in the environment the application of a lab acts in the role of an operator, and its
/// workers in that of a worker: the roles that jobkit prints.
pub(crate) fn under_roles() -> bool {
    std::env::var_os("JOBKIT_UNDER_ROLES").is_some()
}

/// What their names begin with.
pub(crate) const ROLES: &str = "jobkit_test_";

/// Their SQL; what tests make for themselves is theirs, too.
fn roles() -> String {
    if !under_roles() {
        return String::new();
    }
    let sql = jobkit::admin::roles::sql(ROLES).expect("it is a prefix");
    let both = format!("{ROLES}operator, {ROLES}worker");
    format!(
        "{sql}grant create on schema public to {both};
        alter default privileges grant all on tables to {both};
        alter default privileges grant all on sequences to {both};"
    )
}

/// Drops databases of runs that began more than half an hour ago.
async fn drop_old(server: &mut PgConnection) {
    let old: Vec<String> = sqlx::query_scalar(
        "select datname from pg_database where datname like 'jobkit\\_test\\_%'
         and split_part(datname, '_', 3)::bigint < $1 - 1800",
    )
    .bind(now())
    .fetch_all(&mut *server)
    .await
    .expect("the catalogue can be read");
    for name in old {
        drop_database(server, &name).await;
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(0)
}
