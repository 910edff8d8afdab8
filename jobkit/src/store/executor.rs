//! What a job can be enqueued through, and which statements the server keeps prepared.

use std::fmt::Write;
use std::future::Future;

use sqlx::postgres::{PgArguments, PgListener, PgRow};
use sqlx::{Connection, PgConnection, PgExecutor, PgPool};

/// What a job can be enqueued through: `&pool`, `&mut *tx` (note the `*`) or `&mut *connection`.
///
/// Each is a [`PgExecutor`] as well, so a function can take one and use it both for its own queries
/// and for jobs. If the statement cache is off
/// ([`statement_cache_capacity(0)`](sqlx::postgres::PgConnectOptions::statement_cache_capacity)),
/// `&pool` and `&mut *tx` leave no prepared statement behind in the session, as poolers require.
///
/// To enqueue in transactions of other drivers, including sqlx 0.8, use `jobkit-drivers` or a
/// [`Statement`](crate::enqueue::Statement).
#[diagnostic::on_unimplemented(
    message = "a job cannot be enqueued through `{Self}`",
    label = "not a pool, a connection or a dereferenced transaction",
    note = "write `&pool`, `&mut *tx` (note the `*`) or `&mut *connection`",
    note = "these types must be those of sqlx 0.9; with sqlx 0.8 write \
            `jobkit_drivers::sqlx_08::enqueue(job, &mut *tx)` (crate `jobkit-drivers`, feature \
            `sqlx-08`); there are features for SeaORM, diesel and tokio-postgres, too"
)]
pub trait Executor<'c>: PgExecutor<'c> + sealed::Sealed {
    /// Runs one statement.
    #[doc(hidden)]
    fn run(
        self,
        sql: &'static str,
        arguments: PgArguments,
    ) -> impl Future<Output = sqlx::Result<Vec<PgRow>>> + Send;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for &sqlx::PgPool {}
    impl Sealed for &mut sqlx::PgConnection {}
    impl Sealed for &mut sqlx::postgres::PgListener {}
}

impl<'c> Executor<'c> for &'c PgPool {
    async fn run(self, sql: &'static str, arguments: PgArguments) -> sqlx::Result<Vec<PgRow>> {
        let mut connection = self.acquire().await?;
        if connection.cached_statements_size() > 0 || has_cache(self) {
            return run(&mut connection, sql, arguments).await;
        }
        // A lone statement is two messages, and behind a pooler the second may reach another
        // session.
        let mut tx = connection.begin().await?;
        let rows = run(&mut tx, sql, arguments).await?;
        tx.commit().await?;
        Ok(rows)
    }
}

impl<'c> Executor<'c> for &'c mut PgConnection {
    async fn run(self, sql: &'static str, arguments: PgArguments) -> sqlx::Result<Vec<PgRow>> {
        run(self, sql, arguments).await
    }
}

impl<'c> Executor<'c> for &'c mut PgListener {
    async fn run(self, sql: &'static str, arguments: PgArguments) -> sqlx::Result<Vec<PgRow>> {
        sqlx::query_with(sql, arguments).fetch_all(self).await
    }
}

/// Runs one statement, and leaves nothing behind in a session that another client may use next.
///
/// If its cache is off, sqlx 0.9.0 names a statement and then forgets the name; this is the only
/// way to prevent that. It does not tell whether a connection has a cache: one that has cached
/// nothing yet may have none. Within a transaction that is rare: if there is a cache, it holds the
/// application's first statement.
pub(super) async fn run(
    connection: &mut PgConnection,
    sql: &'static str,
    arguments: PgArguments,
) -> sqlx::Result<Vec<PgRow>> {
    let named = connection.cached_statements_size() > 0 || !connection.is_in_transaction();
    sqlx::query_with(sql, arguments).persistent(named).fetch_all(connection).await
}

/// Whether the connections of this pool cache statements. Its options expose that only in this way.
fn has_cache(pool: &PgPool) -> bool {
    let mut options = String::new();
    // Writing to a string does not fail.
    let _written = write!(options, "{:?}", pool.connect_options());
    !options.contains("statement_cache_capacity: 0,")
}

#[cfg(test)]
mod tests {
    use sqlx::postgres::{PgConnectOptions, PgPoolOptions};

    use super::*;

    #[tokio::test]
    async fn a_pool_without_a_cache_is_known() {
        for (capacity, cache) in [(0, false), (1, true), (100, true)] {
            let options = PgConnectOptions::new().statement_cache_capacity(capacity);
            let pool = PgPoolOptions::new().connect_lazy_with(options);
            assert_eq!(has_cache(&pool), cache, "{capacity}");
        }
    }
}
