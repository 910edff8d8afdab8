use std::collections::HashSet;
use std::sync::LazyLock;

use sqlx::{PgPool, PgTransaction};
use tokio::sync::Mutex;

use super::draining::prepare as prepare_session;
use crate::error::{AnnounceError, DatabaseError, MigrateError, StartProblems};
use crate::migrate;
use crate::registry::Registry;

/// The databases that this process has prepared.
static PREPARED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// Why [`begin`] failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BeginError {
    /// The migration failed.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The jobs could not be announced.
    #[error(transparent)]
    Announce(#[from] AnnounceError),
    /// The transaction could not be begun.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

/// Begins a transaction for everything that a test does; without a commit, nothing is kept.
///
/// Once per process, it migrates the database and announces the jobs that are linked into the test,
/// as the start of a worker does. (Otherwise each test would do so in its own transaction, and
/// concurrent tests would wait for each other.)
///
/// # Errors
/// [`BeginError`]: those of [`migrate`](crate::migrate()) and [`announce`](crate::announce()).
pub async fn begin(pool: &PgPool) -> Result<PgTransaction<'static>, BeginError> {
    let options = pool.connect_options();
    let (host, database) = (options.get_host(), options.get_database().unwrap_or_default());
    let name = format!("{host}:{}/{database}", options.get_port());
    let mut prepared = PREPARED.lock().await;
    if !prepared.contains(&name) {
        migrate(pool).await?;
        let registry = Registry::linked();
        let problems = registry.declared_problems();
        if !problems.is_empty() {
            return Err(AnnounceError::Problems(StartProblems(problems)).into());
        }
        prepare_session(&registry, &mut &*pool, true).await?;
        prepared.insert(name);
    }
    drop(prepared);
    Ok(pool.begin().await.map_err(DatabaseError::from)?)
}
