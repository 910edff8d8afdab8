//! Connecting by an address.

use sqlx::PgPool;

use crate::admin::Admin;
use crate::error::{ConnectError, InvalidAddress, MigrateError};
use crate::migrate;
use crate::store::Source;

impl Admin {
    /// The view of the database at this address, such as
    /// `postgres://user:password@host:5432/database`: for programs that have no pool, and no sqlx.
    /// What the address leaves out is taken from the environment as libpq does (`PGHOST`,
    /// `PGPASSWORD`, …). It connects once, as a check.
    ///
    /// Several hosts, as in `postgres://user@a:5432,b:5432/database`, are one database and its
    /// standbys. The one that accepts writes is used, and another is looked for when it no longer
    /// does. With `?target_session_attrs=any`, for reading only, it is the first that answers,
    /// which may be a standby. With one host that parameter has no effect.
    ///
    /// ```no_run
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let admin = jobkit::Admin::connect(&std::env::var("DATABASE_URL")?).await?;
    /// println!("{} jobs are ready", admin.overview().await?.ready);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ConnectError::Address`] if the address is invalid; otherwise [`ConnectError::Database`]:
    /// [`ReadOnly`] if none of several hosts accepts writes, and [`Unreachable`] if there was no
    /// connection within 2 s, or if the server refuses the user or has no such database. None of
    /// them contains the address or its password.
    ///
    /// [`ReadOnly`]: crate::error::DatabaseError::ReadOnly
    /// [`Unreachable`]: crate::error::DatabaseError::Unreachable
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        let admin = Self::connect_lazy(url)?;
        let link = admin.link();
        link.open_if_closed().await?;
        link.close().await;
        Ok(admin)
    }

    /// The same without connecting now, for programs that may start before the database. If the
    /// database is unreachable, each call says so.
    ///
    /// # Errors
    /// [`InvalidAddress`] if the address is invalid.
    pub fn connect_lazy(url: &str) -> Result<Self, InvalidAddress> {
        Ok(Self::of(Source::at(url)?))
    }

    /// The pool it was created with, for enqueueing or for a worker. After
    /// [`connect`](Self::connect) it is a separate pool of at most 16 connections, which it opens
    /// when they are used.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        self.source.pool()
    }

    /// Brings the schema to the version this binary needs, as [`migrate`](crate::migrate()) does.
    ///
    /// # Errors
    /// As [`migrate`](crate::migrate()).
    pub async fn migrate(&self) -> Result<(), MigrateError> {
        // With several hosts, this migrates the one that the pool uses, which must accept writes.
        if self.source.is_a_choice() {
            let link = self.link();
            link.open_if_closed().await?;
            link.close().await;
        }
        migrate::migrate(self.source.pool()).await
    }
}
