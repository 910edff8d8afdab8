mod functions;

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, PgPool, Row};

use crate::Error;

/// One step of the schema: a file of tables, or the set of functions as it is then. `readable_by`
/// is the oldest schema version whose binaries still work once it is applied, so that a deploy may
/// roll.
///
/// A file of tables is never edited once it is released: a later one changes what it made. The
/// functions are one set, replaced as a whole ([`functions`]): whoever edits one gives the set the
/// next number, and the set is the last step of all.
struct Migration {
    version: i32,
    name: &'static str,
    readable_by: i32,
    tables: Option<&'static str>,
}

/// The name of the set of functions in the bookkeeping, whatever its number.
const FUNCTIONS: &str = "functions";

macro_rules! migrations {
    ($($version:literal $name:literal readable_by $oldest:literal,)*
        functions $number:literal readable_by $oldest_of_functions:literal) => {
        &[$(Migration {
            version: $version,
            name: $name,
            readable_by: $oldest,
            tables: Some(include_str!(concat!("../migrations/tables/", $name, ".sql"))),
        },)*
        Migration {
            version: $number,
            name: FUNCTIONS,
            readable_by: $oldest_of_functions,
            tables: None,
        }]
    };
}

const MIGRATIONS: &[Migration] = migrations! {
    24 "0024_jobs" readable_by 1,
    25 "0025_permits" readable_by 1,
    26 "0026_workers" readable_by 1,
    27 "0027_history" readable_by 1,
    28 "0028_dead_letters" readable_by 1,
    29 "0029_operators" readable_by 1,
    30 "0030_operation_pace" readable_by 1,
    31 "0031_exhausted" readable_by 1,
    32 "0032_claims_ahead" readable_by 29,
    34 "0034_payloads" readable_by 29,
    40 "0040_optional_keys" readable_by 29,
    42 "0042_payload_versions" readable_by 29,
    50 "0050_schedules" readable_by 29,
    60 "0060_unique_keys" readable_by 29,
    70 "0070_brakes" readable_by 29,
    80 "0080_rates" readable_by 29,
    90 "0090_coalesce" readable_by 29,
    100 "0100_terms" readable_by 29,
    110 "0110_causes" readable_by 29,
    125 "0125_limiters" readable_by 29,
    127 "0127_sweeps" readable_by 29,
    130 "0130_results" readable_by 29,
    140 "0140_progress" readable_by 29,
    150 "0150_topics" readable_by 29,
    160 "0160_queues" readable_by 29,
    185 "0185_endings" readable_by 29,
    190 "0190_encryption" readable_by 29,
    195 "0195_bounded" readable_by 29,
    200 "0200_kept_keys" readable_by 29,
    208 "0208_small_tables" readable_by 29,
    212 "0212_declarations" readable_by 29,
    214 "0214_bounded_holds" readable_by 29,
    216 "0216_clocks" readable_by 29,
    217 "0217_told_to_wait" readable_by 29,
    218 "0218_payload_shapes" readable_by 29,
    223 "0223_acknowledged" readable_by 29,
    functions 230 readable_by 29
};

/// The tables up to this version were made by other files before: their checksums are not ours.
const BASELINE: i32 = 29;

/// How long to wait for a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// The schema version this binary was built for.
pub(crate) const VERSION: i32 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// Steps before this one say themselves how they wait for locks; the others run
/// [patiently](PATIENTLY).
const PATIENT: i32 = 200;

/// How a step waits for its locks.
const PATIENTLY: &str = include_str!("../migrations/patiently.sql");

/// Begins the transaction of a migration.
const BEGIN: &str = include_str!("../migrations/begin.sql");

/// Brings the schema `jobkit` to the version this binary needs.
///
/// Call it before workers start and before the first enqueue. Any number of processes may call it
/// at once: the first one does the work in one transaction, the others find it done. When nothing
/// is to do it is a plain SELECT, so an application role without the right to create tables can
/// call it too. It has its own bookkeeping (`jobkit._migrations`) and does not touch yours.
///
/// Dropping the future does not interrupt a migration that has begun.
///
/// # Errors
/// [`Error::Unreachable`]; [`Error::ServerTooOld`]; [`Error::Encoding`] when the database is not
/// UTF-8; [`Error::SchemaTooOld`] when it was made before the first release;
/// [`Error::SchemaNewer`] when the database has moved on beyond this binary;
/// [`Error::SchemaEdited`] when an applied step is not the one this binary carries;
/// [`Error::Database`] when the role may not create what is missing.
pub async fn migrate(pool: &PgPool) -> Result<(), Error> {
    // Not every pooler knows this one, and we read no floats as text.
    let options = (*pool.connect_options()).clone().extra_float_digits(None);
    // A task of its own: a transaction whose future is dropped would stay open for a while.
    tokio::spawn(async move { migrate_with(&options).await })
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// The SQL that [`migrate`] runs on an empty database, for those who apply it by other means:
/// one transaction, which fails when it has been applied before.
#[must_use]
pub fn migration_sql() -> String {
    let mut script = BEGIN.to_owned();
    for migration in MIGRATIONS {
        script.push_str(&migration.script());
    }
    script.push_str("commit;\n");
    script
}

impl Migration {
    fn sql(&self) -> String {
        self.tables.map_or_else(functions::script, str::to_owned)
    }

    /// The step and the note that it was applied, as one script.
    fn script(&self) -> String {
        let Self { version, name, readable_by, .. } = self;
        let mut sql = self.sql();
        let checksum = checksum(&sql);
        if self.tables.is_some() && *version >= PATIENT {
            sql = PATIENTLY.replace("{step}", &sql);
        }
        format!(
            "\n-- {name}\n{sql}\ninsert into jobkit._migrations (version, name, checksum, \
             readable_by) values ({version}, '{name}', '{checksum}', {readable_by});\n"
        )
    }

    /// Whether it is applied.
    ///
    /// # Errors
    /// [`Error::SchemaEdited`] when what was applied is not what this binary carries.
    fn is_in(&self, applied: &[Applied]) -> Result<bool, Error> {
        let is_theirs = |a: &Applied| a.version == BASELINE && !is_ours(a);
        let is_baseline = self.version <= BASELINE && applied.iter().any(is_theirs);
        // A newer set of functions serves this binary, too; an older one never replaces it.
        let is_newer = |a: &Applied| a.name == FUNCTIONS && a.version > self.version;
        if is_baseline || self.tables.is_none() && applied.iter().any(is_newer) {
            return Ok(true);
        }
        match applied.iter().find(|applied| applied.version == self.version) {
            Some(applied) if applied.checksum != checksum(&self.sql()) => {
                Err(Error::SchemaEdited { version: self.version })
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

/// Whether this binary carries a step of this name.
fn is_ours(applied: &Applied) -> bool {
    MIGRATIONS.iter().any(|migration| migration.name == applied.name)
}

/// FNV-1a (64 bits) of a text: it has to notice an edit, not an attack.
pub(crate) fn checksum(text: &str) -> String {
    let bytes = text.bytes().filter(|byte| *byte != b'\r');
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

async fn migrate_with(options: &PgConnectOptions) -> Result<(), Error> {
    let connection = tokio::time::timeout(PATIENCE, options.connect()).await;
    let mut connection = connection.map_err(|_| Error::unreachable(PATIENCE))??;
    let done = run(&mut connection).await;
    // Closing ends the transaction, and with it the lock, in both outcomes.
    let closed = connection.close().await;
    done.and(closed.map_err(Error::from))
}

async fn run(connection: &mut PgConnection) -> Result<(), Error> {
    match check(connection).await {
        Err(Error::SchemaMissing | Error::SchemaOlder { .. }) => {}
        Ok(()) => return missing(connection).await.map(drop),
        Err(error) => return Err(error),
    }
    sqlx::raw_sql(BEGIN).execute(&mut *connection).await.map_err(Error::from)?;
    for migration in missing(connection).await? {
        tracing::info!(version = migration.version, name = migration.name, "jobkit.migrate");
        let script = AssertSqlSafe(migration.script());
        sqlx::raw_sql(script).execute(&mut *connection).await.map_err(Error::from)?;
    }
    sqlx::raw_sql("commit").execute(&mut *connection).await?;
    Ok(())
}

/// The steps that have not been applied, after a look whether the others are those we carry.
async fn missing(connection: &mut PgConnection) -> Result<Vec<&'static Migration>, Error> {
    let applied = sqlx::raw_sql("select version, name, checksum from jobkit._migrations");
    let applied = applied.fetch_all(connection).await?;
    let applied = applied.iter().map(Applied::read).collect::<sqlx::Result<Vec<_>>>()?;
    let newest = applied.iter().map(|applied| applied.version).max().unwrap_or(0);
    if (1..BASELINE).contains(&newest) && !applied.iter().all(is_ours) {
        return Err(Error::SchemaTooOld { found: newest, oldest: BASELINE });
    }
    let mut missing = Vec::new();
    for migration in MIGRATIONS {
        if !migration.is_in(&applied)? {
            missing.push(migration);
        }
    }
    Ok(missing)
}

/// The version of the schema, which this binary can work with; and whether its migrations are those
/// that were applied. Plain SELECTs.
///
/// # Errors
/// As [`check`], and [`Error::SchemaEdited`].
pub(crate) async fn inspect(connection: &mut PgConnection) -> Result<i32, Error> {
    check(connection).await?;
    missing(connection).await?;
    Ok(applied(connection).await?.0)
}

/// Whether this binary can work with this database as it is; a plain SELECT.
///
/// # Errors
/// As [`migrate`], and [`Error::SchemaMissing`] or [`Error::SchemaOlder`] when it has to run.
pub(crate) async fn check(connection: &mut PgConnection) -> Result<(), Error> {
    let server = sqlx::raw_sql(include_str!("store/sql/server.sql"));
    let server = server.fetch_one(&mut *connection).await?;
    judge_server(server.try_get("version")?)?;
    let encoding: String = server.try_get("encoding")?;
    if encoding != "UTF8" {
        return Err(Error::Encoding { found: encoding });
    }
    let (found, readable_by) = applied(connection).await?;
    judge(found, readable_by)
}

/// The newest migration applied, and the oldest binary that may work with them all.
async fn applied(connection: &mut PgConnection) -> Result<(i32, i32), Error> {
    let look = sqlx::raw_sql(include_str!("store/sql/schema_version.sql"));
    let found = look.fetch_one(connection).await?;
    Ok((found.try_get("version")?, found.try_get("readable_by")?))
}

fn judge_server(version_num: i32) -> Result<(), Error> {
    match version_num / 10_000 {
        14.. => Ok(()),
        version => Err(Error::ServerTooOld { version }),
    }
}

/// The rule: a binary works with its own schema version, and with newer ones as long as every
/// step since says so.
fn judge(found: i32, readable_by: i32) -> Result<(), Error> {
    if readable_by > VERSION {
        Err(Error::SchemaNewer { found, known: VERSION })
    } else if found == 0 {
        Err(Error::SchemaMissing)
    } else if found < VERSION {
        Err(Error::SchemaOlder { found, needed: VERSION })
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
