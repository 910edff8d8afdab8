use std::time::Duration;

use sqlx::postgres::PgRow;
use sqlx::{PgConnection, Row};

use super::diagnosis::{HorizonHolder, TableSize};
use crate::store::{Call, duration};
use crate::{Error, migrate};

/// The version of the schema, and whether this binary can work with it.
pub(crate) struct InspectSchema;

impl Call for InspectSchema {
    /// The error is an answer too: the outer one would mean that there was none.
    type Answer = Result<i32, Error>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        match migrate::inspect(connection).await {
            Err(Error::Unreachable(error) | Error::Database(error)) => Err(error),
            inspected => Ok(inspected),
        }
    }
}

/// Settings of the server that decide whether a commit survives.
pub(crate) struct DurabilitySettings;

impl Call for DurabilitySettings {
    /// Name and value.
    type Answer = Vec<(String, String)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/doctor_settings.sql")).fetch_all(connection).await
    }
}

/// Settings of the server that throughput depends on.
pub(crate) struct ServerSettings;

impl Call for ServerSettings {
    /// Name and value.
    type Answer = Vec<(String, String)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/server_settings.sql")).fetch_all(connection).await
    }
}

/// The indexes of our tables.
pub(crate) struct Indexes;

impl Call for Indexes {
    /// Name, and whether it can be used.
    type Answer = Vec<(String, bool)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/doctor_indexes.sql")).fetch_all(connection).await
    }
}

/// What keeps old row versions alive.
pub(crate) struct HorizonHolders;

impl Call for HorizonHolders {
    type Answer = Vec<HorizonHolder>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        let holder = |row: PgRow| {
            Ok(HorizonHolder {
                what: row.try_get("what")?,
                name: row.try_get("name")?,
                role: row.try_get("role")?,
                application: row.try_get("application_name")?,
                state: row.try_get("state")?,
                age: row.try_get::<Option<i64>, _>("age")?.map(duration),
                transactions: whole(row.try_get("xids")?),
            })
        };
        let query = sqlx::query(include_str!("sql/doctor_sessions.sql"));
        query.fetch_all(connection).await?.into_iter().map(holder).collect()
    }
}

fn whole(number: i64) -> u64 {
    number.try_into().unwrap_or(0)
}

/// How large our tables are.
pub(crate) struct Tables;

impl Call for Tables {
    type Answer = Vec<TableSize>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        type Table = (String, i64, i64, i64);
        let query = sqlx::query_as(include_str!("sql/doctor_tables.sql"));
        let tables: Vec<Table> = query.fetch_all(connection).await?;
        let size = |(table, live, dead, bytes)| TableSize {
            table,
            live: whole(live),
            dead: whole(dead),
            bytes: whole(bytes),
        };
        Ok(tables.into_iter().map(size).collect())
    }
}

/// What workers do automatically.
pub(crate) struct Upkeep;

/// How that goes.
#[derive(Debug)]
pub(crate) struct UpkeepRow {
    /// What sweeps found that nothing explains.
    pub(crate) found: i64,
    /// Days of history that there are partitions for beyond today; `None` before the first.
    pub(crate) ahead: Option<i32>,
    /// How long ago the last sweep was; `None` before the first.
    pub(crate) swept_ago: Option<Duration>,
    /// How far the clock is behind the newest that it wrote; `None` where nothing is written.
    pub(crate) behind: Option<Duration>,
}

impl Call for Upkeep {
    type Answer = UpkeepRow;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<UpkeepRow> {
        let query = sqlx::query(include_str!("sql/doctor_upkeep.sql"));
        let row = query.fetch_one(connection).await?;
        Ok(UpkeepRow {
            found: row.try_get("found")?,
            ahead: row.try_get("ahead")?,
            swept_ago: row.try_get::<Option<i64>, _>("swept_ago")?.map(duration),
            behind: row.try_get::<Option<i64>, _>("behind")?.map(duration),
        })
    }
}

/// Tables in which a publication lets nothing be changed.
pub(crate) struct Unpublishable;

impl Call for Unpublishable {
    /// Their names.
    type Answer = Vec<String>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_scalar(include_str!("sql/doctor_publications.sql")).fetch_all(connection).await
    }
}

/// What no committed state may have; reads whole tables.
pub(crate) struct Violations;

impl Call for Violations {
    /// What it is, how often, and a few examples.
    type Answer = Vec<(String, i64, Vec<String>)>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        sqlx::query_as(include_str!("sql/doctor_violations.sql")).fetch_all(connection).await
    }
}
