//! An operator who has only an address.

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

use crate::admin::Admin;
use crate::{Error, migrate};

/// Of a pool that nobody else has made.
const CONNECTIONS: u32 = 16;

impl Admin {
    /// The view of the database at this address, such as
    /// `postgres://user:password@host:5432/database`: for programs that have no pool, and no sqlx.
    /// What the address leaves out is taken from the environment as libpq does (`PGHOST`,
    /// `PGPASSWORD`, …). It connects once, to see that it can.
    ///
    /// ```no_run
    /// # async fn f() -> Result<(), Box<dyn std::error::Error>> {
    /// let admin = jobkit::Admin::connect(&std::env::var("DATABASE_URL")?).await?;
    /// println!("{} jobs are ready", admin.overview().await?.ready);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Address`] when this is none; [`Error::Unreachable`] when no connection came about
    /// within 2 s; [`Error::Database`] when the server refuses the user or has no such database.
    /// None of them contains the address or its password.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        let admin = Self::connect_lazy(url)?;
        let mut link = admin.link();
        link.open_if_closed().await?;
        link.close().await;
        Ok(admin)
    }

    /// The same without connecting now: for programs that may start before the database does. Each
    /// call reports a database that is not there.
    ///
    /// # Errors
    /// [`Error::Address`] when this is none.
    pub fn connect_lazy(url: &str) -> Result<Self, Error> {
        // Calls take nothing but its options, so it opens no connection unless somebody enqueues
        // with it: there is nothing to look after in the background, either.
        let pool = PgPoolOptions::new().max_connections(CONNECTIONS);
        let pool = pool.idle_timeout(None).max_lifetime(None);
        Ok(Self::new(&pool.connect_lazy_with(address(url)?)))
    }

    /// The pool it was made with, for those who want to enqueue or work beside it. After
    /// [`connect`](Self::connect) it is one of its own with at most 16 connections, and opens none
    /// until then.
    #[must_use]
    pub fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// Brings the schema to the version this binary needs, as [`migrate`](crate::migrate()) does.
    ///
    /// # Errors
    /// As [`migrate`](crate::migrate()).
    pub async fn migrate(&self) -> Result<(), Error> {
        migrate::migrate(&self.pool).await
    }
}

fn address(url: &str) -> Result<PgConnectOptions, Error> {
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(Error::Address("it does not begin with postgres://".to_owned()));
    }
    url.parse().map_err(|error| match error {
        sqlx::Error::Configuration(source) => Error::Address(source.to_string()),
        error => Error::Address(error.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_is_refused_without_its_password() {
        for (url, what) in [
            ("", "postgres://"),
            ("mysql://u:geheim@h/d", "postgres://"),
            ("postgres://u:geheim@h:port/d", "port"),
            ("postgres://u:geheim@h/d?sslmode=geheimer", "ssl_mode"),
            ("postgres://u:gehe/im@h/d", "port"),
        ] {
            let error = address(url).expect_err(url);
            assert!(matches!(&error, Error::Address(text) if text.contains(what)), "{error}");
            let text = format!("{error} {error:?}");
            assert!(!text.contains("geheim@") && !text.contains("gehe/im"), "{text}");
        }
        assert!(address("postgresql:///d?host=/run/postgresql").is_ok());
    }
}
