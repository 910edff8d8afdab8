use sqlx::PgPool;

use crate::error::DatabaseError;
use crate::store::{Call, drop_listeners as drop_all, lose_lease as lose};

/// Takes the lease from the worker with this [id](crate::WorkerHandle::id), as a reaper does when
/// it has not heard from a worker for too long. Returns whether there was such a worker.
///
/// The worker notices with its next heartbeat: its handlers are told
/// [`StopReason::LeaseLost`](crate::StopReason::LeaseLost) and dropped, and it starts anew under
/// another id. Whichever worker comes first takes its jobs back.
///
/// # Errors
/// Any [`DatabaseError`] except [`DatabaseError::Deadline`].
pub async fn lose_lease(pool: &PgPool, worker: i64) -> Result<bool, DatabaseError> {
    Ok(lose(worker).call(&mut *pool.acquire().await?).await?.is_some())
}

/// Cuts the connections on which workers of this database hear of new jobs, and returns how many
/// there were. The workers connect again within seconds, and find by polling what they missed.
///
/// # Errors
/// Any [`DatabaseError`] except [`DatabaseError::Deadline`], such as [`DatabaseError::Failed`] if
/// the role may not end the sessions of the workers' role.
pub async fn drop_listeners(pool: &PgPool) -> Result<u32, DatabaseError> {
    Ok(drop_all().call(&mut *pool.acquire().await?).await?)
}
