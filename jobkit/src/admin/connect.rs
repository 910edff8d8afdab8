//! An operator who has only an address.

use sqlx::PgPool;

use crate::admin::Admin;
use crate::error::{ConnectError, InvalidAddress, MigrateError};
use crate::migrate;
use crate::store::Source;

impl Admin {
    /// The view of the database at this address, such as
    /// `postgres://user:password@host:5432/database`: for programs that have no pool, and no sqlx.
    /// What the address leaves out is taken from the environment as libpq does (`PGHOST`,
    /// `PGPASSWORD`, …). It connects once, to see that it can.
    ///
    /// Several hosts, as in `postgres://user@a:5432,b:5432/database`, are those of one database and
    /// its standbys. The one that takes writes is kept, and looked for again when it no longer
    /// does; with `?target_session_attrs=any` it is the first that answers, which may be a standby:
    /// for those who only read. With one host that parameter changes nothing.
    ///
    /// ```no_run
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let admin = jobkit::Admin::connect(&std::env::var("DATABASE_URL")?).await?;
    /// println!("{} jobs are ready", admin.overview().await?.ready);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`ConnectError::Address`] when this is none; otherwise [`ConnectError::Database`]:
    /// [`ReadOnly`] when none of several hosts takes writes, and
    /// [`Unreachable`] when no connection came about within 2 s, the server refuses
    /// the user or has no such database. None of them contains the address or its password.
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

    /// The same without connecting now: for programs that may start before the database does. Each
    /// call reports a database that is not there.
    ///
    /// # Errors
    /// [`InvalidAddress`] when this is none.
    pub fn connect_lazy(url: &str) -> Result<Self, InvalidAddress> {
        Ok(Self::of(Source::at(url)?))
    }

    /// The pool it was made with, for those who want to enqueue or work beside it. After
    /// [`connect`](Self::connect) it is one of its own with at most 16 connections, and opens none
    /// until then.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        self.source.pool()
    }

    /// Brings the schema to the version this binary needs, as [`migrate`](crate::migrate()) does.
    ///
    /// # Errors
    /// As [`migrate`](crate::migrate()).
    pub async fn migrate(&self) -> Result<(), MigrateError> {
        // Of several hosts it is the pool's that is migrated: it is to be the one that writes.
        if self.source.is_a_choice() {
            let link = self.link();
            link.open_if_closed().await?;
            link.close().await;
        }
        migrate::migrate(self.source.pool()).await
    }
}
