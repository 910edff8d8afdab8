//! Through [`tokio_postgres`]: `&client` or `&tx`, or anything that is a
//! [`GenericClient`].
//!
//! ```no_run
//! # use jobkit::{Enqueue, Job, JobContext, job};
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # #[job] struct SendReceipt { order_id: i64 }
//! # impl Job for SendReceipt { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
//! use jobkit_drivers::tokio_postgres::{enqueue, enqueue_all};
//!
//! # async fn f(mut client: tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let tx = client.transaction().await?;
//! tx.execute("update orders set paid = true where id = $1", &[&7_i64]).await?;
//! enqueue(SendReceipt { order_id: 7 }, &tx).await?;
//! let more = (8..100).map(|order_id| SendReceipt { order_id }.options().priority(1));
//! enqueue_all(more, &tx).await?;
//! tx.commit().await?;
//! # Ok(()) }
//! ```
//!
//! A statement takes one round trip, and nothing is prepared, so it works behind a transaction
//! pooler.

use jobkit::JobId;
use jobkit::enqueue::{Draft, EnqueueError, Statement, Topic};
use tokio_postgres::GenericClient;
use tokio_postgres::types::{ToSql, Type};

use crate::answer::only;

/// Enqueues a job: it exists if and only if the transaction commits.
///
/// # Errors
/// As [`Enqueue::enqueue`](jobkit::Enqueue::enqueue).
pub fn enqueue<C: GenericClient + Sync>(
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
pub fn enqueue_all<C: GenericClient + Sync, J: Into<Draft>>(
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
pub fn publish<C: GenericClient + Sync>(
    event: impl Topic,
    client: &C,
) -> impl Future<Output = Result<Vec<JobId>, EnqueueError>> + Send {
    let statement = Statement::publish(&event);
    async move { send(statement?, client).await }
}

async fn send<C: GenericClient + Sync>(
    statement: Statement,
    client: &C,
) -> Result<Vec<JobId>, EnqueueError> {
    if statement.is_empty() {
        return Ok(Vec::new());
    }
    let parameters = statement.parameters().iter();
    let parameters: Vec<_> =
        parameters.map(|text| (text as &(dyn ToSql + Sync), Type::TEXT)).collect();
    let rows = client.query_typed(statement.sql(), &parameters).await.map_err(failure)?;
    rows.iter().map(|row| row.try_get(0).map(JobId)).collect::<Result<_, _>>().map_err(failure)
}

pub(crate) fn failure(error: tokio_postgres::Error) -> EnqueueError {
    match error.as_db_error().cloned() {
        Some(answer) => {
            let (state, message) = (answer.code().clone(), answer.message().to_owned());
            EnqueueError::answered(Some(state.code()), &message, answer)
        }
        None => EnqueueError::unanswered(error),
    }
}
