use std::time::Duration;

use super::text::{said, unreachable};

/// Why a database call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// The server cannot be reached (in time), or refuses the connection.
    #[error("{}", unreachable(.0))]
    Unreachable(#[source] sqlx::Error),
    /// The server did not answer within the deadline. Only calls on connections that jobkit opens
    /// have a deadline; an enqueue has none.
    #[error("PostgreSQL did not answer within {0:?}")]
    Deadline(Duration),
    /// The server is read-only: a standby, a demoted primary, or a database that is read-only by
    /// default.
    #[error(
        "this server is read-only (a standby?); connect to the primary, or turn off \
         default_transaction_read_only where that is set"
    )]
    ReadOnly,
    /// This binary does not work with the schema or with this database.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Any other error of the server or the driver.
    #[error("database error: {}", said(.0))]
    Failed(#[source] sqlx::Error),
}

/// Why this binary does not work with the schema `jobkit` or with this database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// There are no tables. Run [`migrate`](crate::migrate()).
    #[error("this database has no jobkit schema; run `jobkit::migrate(&pool)` first")]
    Missing,
    /// The tables are older than this binary. Run [`migrate`](crate::migrate()).
    #[error(
        "the jobkit schema is at version {found} and this binary needs {needed}; run \
         `jobkit::migrate(&pool)` first"
    )]
    Older {
        /// Version in the database.
        found: i32,
        /// Version this binary was built for.
        needed: i32,
    },
    /// The tables are too new for this binary. Deploy a newer one.
    #[error(
        "the jobkit schema is at version {found} and no longer works with binaries built for \
         {known}; deploy a binary with a newer jobkit"
    )]
    Newer {
        /// Version in the database.
        found: i32,
        /// Version this binary was built for.
        known: i32,
    },
    /// The tables are older than this binary, or too new for it. [`migrate`](crate::migrate())
    /// fixes the former and reports the latter. An enqueue, which does not check the schema first,
    /// cannot tell them apart.
    #[error(
        "the jobkit schema does not fit this binary; run `jobkit::migrate(&pool)`, and if that \
         fails because the schema is newer, deploy a binary with a newer jobkit"
    )]
    Unfit,
    /// PostgreSQL is older than version 14.
    #[error("this server is PostgreSQL {version}; jobkit needs 14 or newer")]
    ServerTooOld {
        /// The server's version.
        version: i32,
    },
    /// The database stores text in an encoding other than UTF-8.
    #[error(
        "the encoding of this database is {found} and jobkit needs UTF8; create another one: \
         create database … encoding 'UTF8' template template0"
    )]
    Encoding {
        /// The encoding of the database.
        found: String,
    },
}
