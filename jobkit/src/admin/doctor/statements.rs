use std::time::Duration;

use sqlx::PgConnection;

use super::diagnosis::{HorizonHolder, TableSize};
use crate::error::{DatabaseError, MigrateError};
use crate::migrate;
use crate::store::{Call, One, from_row, statements};

/// The version of the schema, and whether this binary can work with it.
pub(crate) struct InspectSchema;

impl Call for InspectSchema {
    /// The error is an answer too: the outer one would mean that there was none.
    type Answer = Result<i32, MigrateError>;

    async fn call(&self, connection: &mut PgConnection) -> sqlx::Result<Self::Answer> {
        match migrate::inspect(connection).await {
            Err(MigrateError::Database(
                DatabaseError::Unreachable(error) | DatabaseError::Failed(error),
            )) => Err(error),
            inspected => Ok(inspected),
        }
    }
}

statements! {
    /// Settings of the server that decide whether a commit survives, as they are in this session:
    /// name and value.
    fn durability_settings() -> Vec<(String, String)> = include_str!("sql/doctor_settings.sql");

    /// What throughput depends on, as it is in this session: name and value.
    fn server_settings() -> Vec<(String, String)> = include_str!("sql/server_settings.sql");

    /// The indexes of our tables, and whether each can be used.
    fn indexes() -> Vec<(String, bool)> = include_str!("sql/doctor_indexes.sql");

    /// What keeps old row versions alive.
    fn horizon_holders() -> Vec<HorizonHolder> = include_str!("sql/doctor_sessions.sql");

    /// How large our tables are.
    fn tables() -> Vec<TableSize> = include_str!("sql/doctor_tables.sql");

    /// What workers do automatically, and how that goes.
    fn upkeep() -> One<Upkeep> = include_str!("sql/doctor_upkeep.sql");

    /// Sequences that will give out ids that are taken, and how many of those.
    fn sequences() -> Vec<(String, i64)> = include_str!("sql/doctor_sequences.sql");

    /// The names of tables in which a publication lets nothing be changed.
    fn unpublishable() -> Vec<String> = include_str!("sql/doctor_publications.sql");

    /// What no committed state may have, how often it is so, and a few examples. Reads whole
    /// tables.
    fn violations() -> Vec<(String, i64, Vec<String>)>
        = include_str!("sql/doctor_violations.sql");
}

from_row! {
    HorizonHolder { what, name, role, application: "application_name", state, age, transactions:
        "xids" }
    TableSize { table: "name", live, dead, bytes }
}

/// How the upkeep goes.
#[derive(Debug)]
pub(crate) struct Upkeep {
    /// What sweeps found that nothing explains.
    pub(crate) found: i64,
    /// Days of history that there are partitions for beyond today; `None` before the first.
    pub(crate) ahead: Option<i32>,
    /// How long ago the last sweep was; `None` before the first.
    pub(crate) swept_ago: Option<Duration>,
    /// How far the clock is behind the newest that it wrote; `None` where nothing is written.
    pub(crate) behind: Option<Duration>,
    /// The rules of time zones that live workers go by, each with one of them.
    pub(crate) zones: Vec<String>,
}

from_row! {
    Upkeep { found, ahead, swept_ago, behind, zones }
}
