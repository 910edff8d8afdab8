//! Through [`deadpool_postgres`]: `&client` or `&tx`, or anything that is a
//! [`GenericClient`].
//!
//! ```no_run
//! # use jobkit::{Enqueue, Job, JobContext, job};
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # #[job] struct SendReceipt { order_id: i64 }
//! # impl Job for SendReceipt { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
//! use jobkit_drivers::deadpool_postgres::{enqueue, enqueue_all};
//!
//! # async fn f(pool: deadpool_postgres::Pool) -> Result<(), Box<dyn std::error::Error>> {
//! let mut client = pool.get().await?;
//! let tx = client.transaction().await?;
//! tx.execute("update orders set paid = true where id = $1", &[&7_i64]).await?;
//! enqueue(SendReceipt { order_id: 7 }, &tx).await?;
//! let more = (8..100).map(|order_id| SendReceipt { order_id }.options().priority(1));
//! enqueue_all(more, &tx).await?;
//! tx.commit().await?;
//! # Ok(()) }
//! ```
//!
//! The statement is kept prepared in the connection's cache. Behind a pooler that does not support
//! that, use [`tokio_postgres`](crate::tokio_postgres) with `&*tx`.

use deadpool_postgres::GenericClient;
use jobkit::JobId;
use jobkit::enqueue::{Draft, EnqueueError, Statement, Topic};
use tokio_postgres::types::{ToSql, Type};

use crate::answer::only;
use crate::tokio_postgres::failure;

/// Enqueues a job: it exists if and only if the transaction commits.
///
/// # Errors
/// As [`Enqueue::enqueue`](jobkit::Enqueue::enqueue).
pub fn enqueue<C: GenericClient>(
    job: impl Into<Draft>,
    client: &C,
) -> impl Future<Output = Result<JobId, EnqueueError>> + Send {
    let statement = Statement::enqueue(job);
    async move { only(send(statement?, client).await?) }
}

/// Enqueues any number of jobs in one statement, and returns their ids in the same order.
///
/// # Errors
/// As [`jobkit::enqueue_all`].
pub fn enqueue_all<C: GenericClient, J: Into<Draft>>(
    jobs: impl IntoIterator<Item = J>,
    client: &C,
) -> impl Future<Output = Result<Vec<JobId>, EnqueueError>> + Send {
    let statement = Statement::enqueue_all(jobs);
    async move { send(statement?, client).await }
}

/// Publishes to a topic: a job for each kind that subscribes, or none. Returns these jobs.
///
/// # Errors
/// As [`Topic::publish`].
pub fn publish<C: GenericClient>(
    event: impl Topic,
    client: &C,
) -> impl Future<Output = Result<Vec<JobId>, EnqueueError>> + Send {
    let statement = Statement::publish(&event);
    async move { send(statement?, client).await }
}

async fn send<C: GenericClient>(
    statement: Statement,
    client: &C,
) -> Result<Vec<JobId>, EnqueueError> {
    if statement.is_empty() {
        return Ok(Vec::new());
    }
    let parameters = statement.parameters();
    let types = vec![Type::TEXT; parameters.len()];
    let prepared = client.prepare_typed_cached(statement.sql(), &types).await.map_err(failure)?;
    let parameters: Vec<_> = parameters.iter().map(|text| text as &(dyn ToSql + Sync)).collect();
    let rows = client.query(&prepared, &parameters).await.map_err(failure)?;
    rows.iter().map(|row| row.try_get(0).map(JobId)).collect::<Result<_, _>>().map_err(failure)
}
