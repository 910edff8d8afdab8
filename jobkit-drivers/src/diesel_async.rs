//! Through [`diesel_async`]: `&mut connection`, from a pool or not, in a transaction or not.
//!
//! ```no_run
//! # use jobkit::{Enqueue, Job, JobContext, job};
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # #[job] struct SendReceipt { order_id: i64 }
//! # impl Job for SendReceipt { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
//! use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl};
//! use jobkit_drivers::diesel_async::{enqueue, enqueue_all};
//!
//! # type Error = Box<dyn std::error::Error + Send + Sync>;
//! # async fn f(connection: &mut AsyncPgConnection) -> Result<(), Error> {
//! connection
//!     .transaction::<_, Error, _>(async |connection| {
//!         let paid = diesel::sql_query("update orders set paid = true where id = 7");
//!         paid.execute(connection).await?;
//!         enqueue(SendReceipt { order_id: 7 }, connection).await?;
//!         let more = (8..100).map(|order_id| SendReceipt { order_id }.options().priority(1));
//!         enqueue_all(more, connection).await?;
//!         Ok(())
//!     })
//!     .await?;
//! # Ok(()) }
//! ```

use diesel::pg::Pg;
use diesel_async::{AsyncConnection, RunQueryDsl};
use jobkit::JobId;
use jobkit::enqueue::{Draft, EnqueueError, Statement, Topic};

use crate::answer::only;
use crate::diesel::{Id, failure, query};

/// Enqueues a job: it exists if and only if the transaction commits.
///
/// # Errors
/// As [`Enqueue::enqueue`](jobkit::Enqueue::enqueue).
pub fn enqueue<C: AsyncConnection<Backend = Pg>>(
    job: impl Into<Draft>,
    connection: &mut C,
) -> impl Future<Output = Result<JobId, EnqueueError>> + Send {
    let statement = Statement::enqueue(job);
    async move { only(send(statement?, connection).await?) }
}

/// Enqueues any number of jobs in one statement, and returns their ids in the same order.
///
/// # Errors
/// As [`jobkit::enqueue_all`].
pub fn enqueue_all<C: AsyncConnection<Backend = Pg>, J: Into<Draft>>(
    jobs: impl IntoIterator<Item = J>,
    connection: &mut C,
) -> impl Future<Output = Result<Vec<JobId>, EnqueueError>> + Send {
    let statement = Statement::enqueue_all(jobs);
    async move { send(statement?, connection).await }
}

/// Publishes to a topic: a job for each kind that subscribes, or none. Returns these jobs.
///
/// # Errors
/// As [`Topic::publish`].
pub fn publish<C: AsyncConnection<Backend = Pg>>(
    event: impl Topic,
    connection: &mut C,
) -> impl Future<Output = Result<Vec<JobId>, EnqueueError>> + Send {
    let statement = Statement::publish(&event);
    async move { send(statement?, connection).await }
}

async fn send<C: AsyncConnection<Backend = Pg>>(
    statement: Statement,
    connection: &mut C,
) -> Result<Vec<JobId>, EnqueueError> {
    if statement.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<Id> = query(statement).load(connection).await.map_err(failure)?;
    Ok(rows.into_iter().map(|Id(id)| id).collect())
}
