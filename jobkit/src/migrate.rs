use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, PgConnection, PgPool};

use crate::Error;

/// One step of the schema. Once released they are never edited; `readable_by` is the oldest schema
/// version whose binaries still work once this step is applied, so that a deploy may roll.
struct Migration {
    version: i32,
    name: &'static str,
    readable_by: i32,
    sql: &'static str,
}

macro_rules! migrations {
    ($($version:literal $name:literal readable_by $oldest:literal,)*) => {
        &[$(Migration {
            version: $version,
            name: $name,
            readable_by: $oldest,
            sql: include_str!(concat!("../migrations/", $name, ".sql")),
        },)*]
    };
}

const MIGRATIONS: &[Migration] = migrations! {
    1 "0001_tables" readable_by 1,
    2 "0002_wake" readable_by 1,
    3 "0003_enqueue" readable_by 1,
    4 "0004_worker" readable_by 1,
    5 "0005_claim" readable_by 1,
    6 "0006_claim_parts" readable_by 1,
    7 "0007_endings" readable_by 1,
    8 "0008_settle" readable_by 1,
    9 "0009_reap" readable_by 1,
    10 "0010_promote" readable_by 1,
    11 "0011_cancel" readable_by 1,
    12 "0012_prune" readable_by 1,
    13 "0013_semaphore" readable_by 1,
    14 "0014_fill" readable_by 1,
    15 "0015_reschedule" readable_by 1,
    16 "0016_limits" readable_by 1,
    17 "0017_pause" readable_by 1,
    18 "0018_sweep" readable_by 1,
    19 "0019_bury" readable_by 1,
    20 "0020_replay" readable_by 1,
    21 "0021_dead_letters" readable_by 1,
    22 "0022_recover" readable_by 1,
    23 "0023_violations" readable_by 1,
    24 "0024_operate" readable_by 1,
    25 "0025_measures" readable_by 1,
    26 "0026_jobs" readable_by 1,
    27 "0027_operations" readable_by 1,
    28 "0028_operation_steps" readable_by 1,
    29 "0029_stuck" readable_by 1,
    30 "0030_operation_pace" readable_by 1,
};

/// How long to wait for a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// The schema version this binary was built for.
pub(crate) const VERSION: i32 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// Takes the lock that lets one migration run at a time, held until the commit; then makes the
/// schema and its bookkeeping, which the next statements look into.
const BEGIN: &str = "\
begin isolation level read committed read write;
set local client_min_messages = warning;
set local search_path = pg_catalog, pg_temp;
set local standard_conforming_strings = on;
set local lock_timeout = '60s';
set local statement_timeout = 0;
set local idle_in_transaction_session_timeout = 0;
do $$ begin
    -- Of PostgreSQL 17 and later.
    if current_setting('transaction_timeout', true) is not null then
        perform set_config('transaction_timeout', '0', true);
    end if;
    if current_setting('server_encoding') <> 'UTF8' then
        raise exception 'jobkit: the encoding of this database is %, not UTF8',
            current_setting('server_encoding')
            using hint = 'Make another: create database ... encoding ''UTF8'' template template0';
    end if;
end $$;
select pg_advisory_xact_lock(hashtextextended('jobkit migrations', 0));
do $$ begin
    -- IF NOT EXISTS would ask for the right to create schemas even when it is there.
    if to_regnamespace('jobkit') is null then create schema jobkit; end if;
end $$;
create table if not exists jobkit._migrations (
    version integer primary key,
    name text not null,
    checksum text not null,
    readable_by integer not null,
    applied_at timestamptz not null default clock_timestamp()
);
";

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
/// UTF-8; [`Error::SchemaNewer`] when the database has
/// moved on beyond this binary; [`Error::SchemaEdited`] when an applied step is not the one this
/// binary carries; [`Error::Database`] when the role may not create what is missing.
pub async fn migrate(pool: &PgPool) -> Result<(), Error> {
    let options = (*pool.connect_options()).clone();
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
    /// The step and the note that it was applied, as one script.
    fn script(&self) -> String {
        let Self { version, name, readable_by, sql } = self;
        let checksum = self.checksum();
        format!(
            "\n-- {name}\n{sql}\ninsert into jobkit._migrations (version, name, checksum, \
             readable_by) values ({version}, '{name}', '{checksum}', {readable_by});\n"
        )
    }

    /// FNV-1a (64 bits) of the text: it has to notice an edit, not an attack.
    fn checksum(&self) -> String {
        let hash = self
            .sql
            .bytes()
            .filter(|byte| *byte != b'\r')
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        format!("{hash:016x}")
    }
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
    let applied: Vec<(i32, String)> =
        sqlx::query_as("select version, checksum from jobkit._migrations")
            .fetch_all(connection)
            .await?;
    let mut missing = Vec::new();
    for migration in MIGRATIONS {
        match applied.iter().find(|(version, _)| *version == migration.version) {
            Some((_, checksum)) if *checksum != migration.checksum() => {
                return Err(Error::SchemaEdited { version: migration.version });
            }
            Some(_) => {}
            None => missing.push(migration),
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
    let (server, encoding): (i32, String) =
        sqlx::query_as(include_str!("store/sql/server.sql")).fetch_one(&mut *connection).await?;
    judge_server(server)?;
    if encoding != "UTF8" {
        return Err(Error::Encoding { found: encoding });
    }
    let (found, readable_by) = applied(connection).await?;
    judge(found, readable_by)
}

/// The newest migration applied, and the oldest binary that may work with them all.
async fn applied(connection: &mut PgConnection) -> Result<(i32, i32), Error> {
    let query = sqlx::query_as(include_str!("store/sql/schema_version.sql"));
    Ok(query.fetch_one(connection).await?)
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
mod tests {
    use super::*;

    #[test]
    fn a_newer_schema_is_refused_only_when_it_says_so() {
        assert!(judge(VERSION, 1).is_ok());
        assert!(judge(VERSION + 5, 1).is_ok());
        assert!(matches!(judge(VERSION + 5, VERSION + 1), Err(Error::SchemaNewer { .. })));
        assert!(matches!(judge(VERSION - 1, 1), Err(Error::SchemaOlder { .. })));
        assert!(matches!(judge(0, 0), Err(Error::SchemaMissing)));
    }

    #[test]
    fn a_server_before_14_is_refused_by_its_major_version() {
        assert!(judge_server(140_000).is_ok());
        assert!(judge_server(180_001).is_ok());
        let error = judge_server(130_014).expect_err("13 is too old");
        assert_eq!(error.to_string(), "this server is PostgreSQL 13; jobkit needs 14 or newer");
        assert!(matches!(judge_server(90_624), Err(Error::ServerTooOld { version: 9 })));
    }

    #[test]
    fn versions_count_up_from_one() {
        for (migration, version) in MIGRATIONS.iter().zip(1..) {
            assert_eq!(migration.version, version);
            assert!(migration.name.starts_with(&format!("{version:04}_")), "{}", migration.name);
            assert!(migration.readable_by <= version);
        }
    }
}
