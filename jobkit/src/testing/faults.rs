use sqlx::PgPool;

use crate::error::DatabaseError;
use crate::store::{Call, drop_listeners as drop_all, lose_lease as lose};

/// Takes the lease from the worker with this [id](crate::WorkerHandle::id), as a reaper does after
/// too long without a heartbeat. Returns whether there was such a worker.
///
/// The worker notices at its next heartbeat: its handlers are told
/// [`StopReason::LeaseLost`](crate::StopReason::LeaseLost) and dropped, and it starts again with a
/// new id. Any worker takes its jobs back.
///
/// # Errors
/// Any [`DatabaseError`] except [`DatabaseError::Deadline`].
pub async fn lose_lease(pool: &PgPool, worker: i64) -> Result<bool, DatabaseError> {
    Ok(lose(worker).call(&mut *pool.acquire().await?).await?.is_some())
}

/// Cuts the connections on which workers of this database are notified of new jobs, and returns how
/// many there were. The workers reconnect within seconds, and find what they missed by polling.
///
/// # Errors
/// Any [`DatabaseError`] except [`DatabaseError::Deadline`], such as [`DatabaseError::Failed`] if
/// the role may not end the sessions of the workers' role.
pub async fn drop_listeners(pool: &PgPool) -> Result<u32, DatabaseError> {
    Ok(drop_all().call(&mut *pool.acquire().await?).await?)
}
