mod functions;

use std::borrow::Cow;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, PgPool, Row};

use crate::error::{DatabaseError, MigrateError, SchemaError};

/// One step of the schema: a file of tables, or the set of functions. `readable_by` is the oldest
/// schema version whose binaries still work once it is applied, which allows rolling deploys.
///
/// A file of tables is never edited once it is released; a later one changes what it created. The
/// functions are one set, replaced as a whole ([`functions`]): an edit of one gives the set the
/// next number, and the set is the last of all steps.
#[derive(Clone)]
struct Step {
    version: i32,
    name: &'static str,
    readable_by: i32,
    sql: Cow<'static, str>,
}

/// The name of the set of functions in the bookkeeping, independent of its number.
const FUNCTIONS: &str = "functions";

/// The number of the set of functions, and the oldest version whose binaries it serves.
const SET: (i32, i32) = (20, 1);

macro_rules! tables {
    ($($version:literal $name:literal readable_by $oldest:literal,)*) => {
        &[$(Step {
            version: $version,
            name: $name,
            readable_by: $oldest,
            sql: Cow::Borrowed(include_str!(concat!("../migrations/tables/", $name, ".sql"))),
        },)*]
    };
}

const TABLES: &[Step] = tables! {
    1 "0001_jobs" readable_by 1,
    2 "0002_kinds" readable_by 1,
    3 "0003_limits" readable_by 1,
    4 "0004_permits" readable_by 1,
    5 "0005_unique_keys" readable_by 1,
    6 "0006_workers" readable_by 1,
    7 "0007_history" readable_by 1,
    8 "0008_causes" readable_by 1,
    9 "0009_schedules" readable_by 1,
    10 "0010_topics" readable_by 1,
    11 "0011_reports" readable_by 1,
    12 "0012_operations" readable_by 1,
    13 "0013_audit" readable_by 1,
    14 "0014_measures" readable_by 1,
    15 "0015_storage" readable_by 1,
    16 "0016_batches" readable_by 1,
};

/// How long to wait for a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// The schema version this binary was built for.
pub(crate) const VERSION: i32 = SET.0;

/// How a step waits for its locks.
const PATIENTLY: &str = include_str!("../migrations/patiently.sql");

/// Begins the transaction of a migration.
const BEGIN: &str = include_str!("../migrations/begin.sql");

/// Brings the schema `jobkit` to the version this binary needs.
///
/// Call it before workers start and before the first enqueue. Any number of processes may call it
/// at once: the first one does the work in one transaction, the others find it done. If there is
/// nothing to do, it is a plain SELECT, so that an application role without the right to create
/// tables can call it too. It has its own bookkeeping (`jobkit._migrations`) and does not touch
/// yours.
///
/// Dropping the future does not interrupt a migration that has started.
///
/// # Errors
/// [`MigrateError::Edited`] if an applied step differs from the one in this binary; otherwise
/// [`MigrateError::Database`]: [`DatabaseError::Unreachable`]; [`DatabaseError::ReadOnly`];
/// [`SchemaError::Newer`] if the schema is too new for this binary; [`SchemaError::ServerTooOld`];
/// [`SchemaError::Encoding`] if the database is not UTF-8; [`DatabaseError::Failed`] if the role
/// lacks a privilege to create the schema or a part of it.
pub async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    let options = pool.connect_options();
    apply(&options, Schema::ours()).await
}

/// Applies the missing steps, in a task of its own: a transaction whose future is dropped would
/// stay open for a while.
async fn apply(options: &PgConnectOptions, schema: Schema) -> Result<(), MigrateError> {
    // Not every pooler supports this setting, and we read no floats as text.
    let options = options.clone().extra_float_digits(None);
    tokio::spawn(async move { migrate_with(&options, &schema).await })
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// Brings the schema to a hypothetical next version: one more step for `tables`, and a next set of
/// functions, changed by `functions`. Binaries from `readable_by` on work with both. For tests of
/// upgrades.
///
/// # Errors
/// As [`migrate`].
#[cfg(feature = "testing")]
pub async fn migrate_further(
    pool: &PgPool,
    tables: &'static str,
    functions: &str,
    readable_by: i32,
) -> Result<(), MigrateError> {
    let Schema(mut steps) = Schema::ours();
    let set = steps.len() - 1;
    let next = functions::script() + functions;
    steps[set] = Step::new(VERSION + 2, FUNCTIONS, readable_by, next);
    steps.insert(set, Step::new(VERSION + 1, "next", readable_by, tables));
    apply(&pool.connect_options(), Schema(steps)).await
}

/// The SQL that [`migrate`] runs on an empty database, to apply it by other means: one transaction,
/// which fails if it has been applied before.
#[must_use]
pub fn migration_sql() -> String {
    let steps = Schema::ours().0;
    let scripts: String = steps.iter().map(Step::script).collect();
    format!("{BEGIN}{scripts}commit;\n")
}

/// The steps that a binary carries, in their order.
struct Schema(Vec<Step>);

impl Schema {
    fn ours() -> Self {
        let (version, readable_by) = SET;
        let set = Step::new(version, FUNCTIONS, readable_by, functions::script());
        Self(TABLES.iter().cloned().chain([set]).collect())
    }

    fn version(&self) -> i32 {
        self.0.last().map_or(0, |step| step.version)
    }

    /// Whether the database is at this version; it may be behind, or have no schema.
    ///
    /// # Errors
    /// As [`check`], except for these two.
    async fn fits(&self, connection: &mut PgConnection) -> Result<bool, MigrateError> {
        use SchemaError::{Missing, Older};
        match check_for(connection, self.version()).await {
            Ok(()) => Ok(true),
            Err(DatabaseError::Schema(Missing | Older { .. })) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The steps that have not been applied, after checking that the others match.
    async fn missing(&self, connection: &mut PgConnection) -> Result<Vec<&Step>, MigrateError> {
        let applied = sqlx::raw_sql("select version, name, checksum from jobkit._migrations");
        let applied = applied.fetch_all(connection).await?;
        let applied = applied.iter().map(Applied::read).collect::<sqlx::Result<Vec<_>>>()?;
        let mut missing = Vec::new();
        for step in &self.0 {
            if !step.is_in(&applied)? {
                missing.push(step);
            }
        }
        Ok(missing)
    }
}

impl Step {
    fn new(
        version: i32,
        name: &'static str,
        readable_by: i32,
        sql: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self { version, name, readable_by, sql: sql.into() }
    }

    fn is_set(&self) -> bool {
        self.name == FUNCTIONS
    }

    /// The step and the note that it was applied, as one script.
    fn script(&self) -> String {
        let Self { version, name, readable_by, sql } = self;
        let checksum = checksum(sql);
        let waits = if self.is_set() { sql.to_string() } else { PATIENTLY.replace("{step}", sql) };
        format!(
            "\n-- {name}\n{waits}\ninsert into jobkit._migrations (version, name, checksum, \
             readable_by) values ({version}, '{name}', '{checksum}', {readable_by});\n"
        )
    }

    /// Whether it is applied.
    ///
    /// # Errors
    /// [`MigrateError::Edited`] if the applied step differs from the one in this binary.
    fn is_in(&self, applied: &[Applied]) -> Result<bool, MigrateError> {
        // A newer set of functions serves this binary, too; an older one never replaces it.
        let is_newer = |a: &Applied| a.name == FUNCTIONS && a.version > self.version;
        if self.is_set() && applied.iter().any(is_newer) {
            return Ok(true);
        }
        match applied.iter().find(|applied| applied.version == self.version) {
            Some(applied) if applied.checksum != checksum(&self.sql) => {
                Err(MigrateError::Edited { version: self.version })
            }
            found => Ok(found.is_some()),
        }
    }
}

/// A step that was applied.
struct Applied {
    version: i32,
    name: String,
    checksum: String,
}

impl Applied {
    fn read(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            version: row.try_get("version")?,
            name: row.try_get("name")?,
            checksum: row.try_get("checksum")?,
        })
    }
}

/// FNV-1a (64 bits) of a text: it has to notice an edit, not an attack.
pub(crate) fn checksum(text: &str) -> String {
    let bytes = text.bytes().filter(|byte| *byte != b'\r');
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

async fn migrate_with(options: &PgConnectOptions, schema: &Schema) -> Result<(), MigrateError> {
    let connection = tokio::time::timeout(PATIENCE, options.connect()).await;
    let mut connection = connection.map_err(|_| DatabaseError::unreachable(PATIENCE))??;
    let done = run(&mut connection, schema).await;
    // Closing ends the transaction, and with it the lock, in both outcomes.
    let closed = connection.close().await;
    done.and(closed.map_err(MigrateError::from))
}

async fn run(connection: &mut PgConnection, schema: &Schema) -> Result<(), MigrateError> {
    if schema.fits(connection).await? && schema.missing(connection).await?.is_empty() {
        return Ok(());
    }
    sqlx::raw_sql(BEGIN).execute(&mut *connection).await?;
    // Another binary may have migrated while this one waited.
    schema.fits(connection).await?;
    for step in schema.missing(connection).await? {
        tracing::info!(version = step.version, name = step.name, "jobkit.migrate");
        let script = AssertSqlSafe(step.script());
        sqlx::raw_sql(script).execute(&mut *connection).await?;
    }
    sqlx::raw_sql("commit").execute(&mut *connection).await?;
    Ok(())
}

/// The version of the schema. Checks that this binary can work with it, and that all its migrations
/// were applied unchanged. Plain SELECTs.
///
/// # Errors
/// As [`check`], and [`MigrateError::Edited`]; [`SchemaError::Older`] also if a step is missing
/// below an applied one.
pub(crate) async fn inspect(connection: &mut PgConnection) -> Result<i32, MigrateError> {
    check(connection).await?;
    let found = applied(connection).await?.0;
    if Schema::ours().missing(connection).await?.is_empty() {
        Ok(found)
    } else {
        Err(SchemaError::Older { found, needed: VERSION }.into())
    }
}

/// Whether this binary can work with this database as it is; a plain SELECT.
///
/// # Errors
/// As [`migrate`], and [`SchemaError::Missing`] or [`SchemaError::Older`] if it has to run.
pub(crate) async fn check(connection: &mut PgConnection) -> Result<(), DatabaseError> {
    check_for(connection, VERSION).await
}

async fn check_for(connection: &mut PgConnection, version: i32) -> Result<(), DatabaseError> {
    let server = sqlx::raw_sql(include_str!("store/sql/server.sql"));
    let server = server.fetch_one(&mut *connection).await?;
    judge_server(server.try_get("version")?, server.try_get("encoding")?)?;
    let (found, readable_by) = applied(connection).await?;
    Ok(judge(version, found, readable_by)?)
}

/// The newest migration applied, and the oldest binary that may work with them all.
async fn applied(connection: &mut PgConnection) -> sqlx::Result<(i32, i32)> {
    let look = sqlx::raw_sql(include_str!("store/sql/schema_version.sql"));
    let found = look.fetch_one(connection).await?;
    Ok((found.try_get("version")?, found.try_get("readable_by")?))
}

fn judge_server(version_num: i32, encoding: String) -> Result<(), SchemaError> {
    match version_num / 10_000 {
        14.. if encoding == "UTF8" => Ok(()),
        14.. => Err(SchemaError::Encoding { found: encoding }),
        version => Err(SchemaError::ServerTooOld { version }),
    }
}

/// The rule: a binary works with its own schema version, and with newer ones if every step since
/// then allows it.
fn judge(version: i32, found: i32, readable_by: i32) -> Result<(), SchemaError> {
    if readable_by > version {
        Err(SchemaError::Newer { found, known: version })
    } else if found == 0 {
        Err(SchemaError::Missing)
    } else if found < version {
        Err(SchemaError::Older { found, needed: version })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
