//! Through [sqlx 0.8](::sqlx_08): `&pool`, `&mut *tx` (note the `*`) or `&mut *connection`.
//!
//! ```no_run
//! # use jobkit::{Enqueue, Job, JobContext, job};
//! # use sqlx_08 as sqlx;
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # #[job] struct SendReceipt { order_id: i64 }
//! # impl Job for SendReceipt { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
//! use jobkit_drivers::sqlx_08::{enqueue, enqueue_all};
//!
//! # async fn f(pool: sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
//! let mut tx = pool.begin().await?;
//! sqlx::query("update orders set paid = true where id = 7").execute(&mut *tx).await?;
//! enqueue(SendReceipt { order_id: 7 }, &mut *tx).await?;
//! let more = (8..100).map(|order_id| SendReceipt { order_id }.options().priority(1));
//! enqueue_all(more, &mut *tx).await?;
//! tx.commit().await?;
//! # Ok(()) }
//! ```
//!
//! A worker needs a separate pool of sqlx 0.9.

use jobkit::JobId;
use jobkit::enqueue::{Draft, EnqueueError, Statement, Topic};
use sqlx_08::{PgExecutor, Row};

use crate::answer::only;

/// Enqueues a job: it exists if and only if the transaction of `executor` commits.
///
/// # Errors
/// As [`Enqueue::enqueue`](jobkit::Enqueue::enqueue).
pub fn enqueue<'c>(
    job: impl Into<Draft>,
    executor: impl PgExecutor<'c>,
) -> impl Future<Output = Result<JobId, EnqueueError>> + Send {
    let statement = Statement::enqueue(job);
    async move { only(send(statement?, executor).await?) }
}

/// Enqueues any number of jobs in one statement, and returns their ids in the same order.
///
/// # Errors
/// As [`jobkit::enqueue_all`].
pub fn enqueue_all<'c, J: Into<Draft>>(
    jobs: impl IntoIterator<Item = J>,
    executor: impl PgExecutor<'c>,
) -> impl Future<Output = Result<Vec<JobId>, EnqueueError>> + Send {
    let statement = Statement::enqueue_all(jobs);
    async move { send(statement?, executor).await }
}

/// Publishes to a topic: a job for each kind that subscribes, or none. Returns these jobs.
///
/// # Errors
/// As [`Topic::publish`].
pub fn publish<'c>(
    event: impl Topic,
    executor: impl PgExecutor<'c>,
) -> impl Future<Output = Result<Vec<JobId>, EnqueueError>> + Send {
    let statement = Statement::publish(&event);
    async move { send(statement?, executor).await }
}

async fn send<'c>(
    statement: Statement,
    executor: impl PgExecutor<'c>,
) -> Result<Vec<JobId>, EnqueueError> {
    if statement.is_empty() {
        return Ok(Vec::new());
    }
    let insert = sqlx_08::query(statement.sql());
    let insert =
        statement.into_parameters().into_iter().fold(insert, |insert, text| insert.bind(text));
    let rows = insert.fetch_all(executor).await.map_err(failure)?;
    rows.iter().map(|row| row.try_get(0).map(JobId)).collect::<Result<_, _>>().map_err(failure)
}

fn failure(error: sqlx_08::Error) -> EnqueueError {
    let said = error.as_database_error();
    let said = said.map(|answer| (answer.code().map(String::from), answer.message().to_owned()));
    match said {
        Some((state, message)) => EnqueueError::answered(state.as_deref(), &message, error),
        None => EnqueueError::unanswered(error),
    }
}
