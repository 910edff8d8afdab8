//! Enqueues jobs of [jobkit] in the transactions of drivers other than sqlx 0.9.
//!
//! An application on SeaORM, diesel, tokio-postgres or sqlx 0.8 writes its rows and enqueues jobs
//! in one transaction: both exist after a commit, neither after a rollback.
//!
//! | feature and module | takes |
//! |---|---|
//! | `tokio-postgres` | `&client`, `&tx` |
//! | `deadpool-postgres` | `&client`, `&tx` |
//! | `sea-orm` (version 2) | `&db`, `&tx` |
//! | `sea-orm-1` (version 1.1), module `sea_orm_1` | `&db`, `&tx` |
//! | `diesel` | `&mut connection` |
//! | `diesel-async` | `&mut connection` |
//! | `sqlx-08`, module `sqlx_08` | `&pool`, `&mut *tx`, `&mut *connection` |
//!
//! Each module has `enqueue` for one job and `enqueue_all` for many, in one statement, and
//! `publish` for a [topic](jobkit::enqueue::Topic). Jobs are plain or have
//! [options](jobkit::Enqueue::options); keys, priorities and everything else come from `#[job]`, as
//! usual. They send a [`Statement`], which another driver can send as well.
//!
//! # Errors
//! Those of [`Enqueue::enqueue`](jobkit::Enqueue::enqueue), with every driver; the driver's own
//! error is among the [sources](std::error::Error::source). diesel does not expose SQLSTATEs, so
//! [`Missing`](jobkit::error::SchemaError::Missing) and
//! [`Unfit`](jobkit::error::SchemaError::Unfit) are recognised there by the names in the server's
//! message.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(any(
    feature = "diesel",
    feature = "sea-orm",
    feature = "sea-orm-1",
    feature = "sqlx-08",
    feature = "tokio-postgres"
))]
mod answer;
#[cfg(feature = "deadpool-postgres")]
pub mod deadpool_postgres;
#[cfg(feature = "diesel")]
pub mod diesel;
#[cfg(feature = "diesel-async")]
pub mod diesel_async;
#[cfg(feature = "sea-orm")]
pub mod sea_orm;
#[cfg(feature = "sea-orm-1")]
pub mod sea_orm_1;
#[cfg(any(feature = "sea-orm", feature = "sea-orm-1"))]
mod sea_orm_versions;
#[cfg(feature = "sqlx-08")]
pub mod sqlx_08;
#[cfg(feature = "tokio-postgres")]
pub mod tokio_postgres;

#[doc(inline)]
pub use jobkit::enqueue::Statement;
