use sqlx::PgPool;

use crate::Error;
use crate::store::{Call, drop_listeners as drop_all, lose_lease as lose};

/// Takes its lease from a worker, by its [id](crate::WorkerHandle::id), as a reaper does that has
/// heard nothing of it for too long; says whether there was such a worker.
///
/// With its next heartbeat the worker knows: its handlers are told
/// [`StopReason::LeaseLost`](crate::StopReason::LeaseLost) and dropped, and it begins anew under
/// another id. Whichever worker comes first takes its jobs back.
///
/// # Errors
/// [`Error::Database`] and [`Error::Unreachable`].
pub async fn lose_lease(pool: &PgPool, worker: i64) -> Result<bool, Error> {
    Ok(lose(worker).call(&mut *pool.acquire().await?).await?.is_some())
}

/// Cuts the connections by which workers of this database hear of new jobs; answers how many there
/// were. They connect again within seconds, and find by polling what they were not told of.
///
/// # Errors
/// [`Error::Database`], as where the role may not end the sessions of the workers' role, and
/// [`Error::Unreachable`].
pub async fn drop_listeners(pool: &PgPool) -> Result<u32, Error> {
    Ok(drop_all().call(&mut *pool.acquire().await?).await?)
}
