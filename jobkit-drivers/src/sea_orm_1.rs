//! Through [SeaORM 1.1](::sea_orm_1): `&db` or `&tx`, or anything that is a [`ConnectionTrait`].
//!
//! ```no_run
//! # use jobkit::{Enqueue, Job, JobContext, job};
//! # use sea_orm_1 as sea_orm;
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # #[job] struct SendReceipt { order_id: i64 }
//! # impl Job for SendReceipt { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
//! use jobkit_drivers::sea_orm_1::{enqueue, enqueue_all};
//! use sea_orm::{ConnectionTrait, TransactionTrait};
//!
//! # async fn f(db: sea_orm::DatabaseConnection) -> Result<(), Box<dyn std::error::Error>> {
//! let tx = db.begin().await?;
//! tx.execute_unprepared("update orders set paid = true where id = 7").await?;
//! enqueue(SendReceipt { order_id: 7 }, &tx).await?;
//! let more = (8..100).map(|order_id| SendReceipt { order_id }.options().priority(1));
//! enqueue_all(more, &tx).await?;
//! tx.commit().await?;
//! # Ok(()) }
//! ```
//!
//! SeaORM 1.1 is built on sqlx 0.8: a worker needs a pool of sqlx 0.9 beside it.

use jobkit::{Draft, Error, JobId, Statement};
use sea_orm_1::{ConnectionTrait, DbBackend, DbErr, RuntimeErr, Value};

use crate::answer::only;

/// Enqueues a job: it exists if and only if the transaction commits.
///
/// # Errors
/// As [`Enqueue::enqueue`](jobkit::Enqueue::enqueue).
pub fn enqueue<C: ConnectionTrait>(
    job: impl Into<Draft>,
    connection: &C,
) -> impl Future<Output = Result<JobId, Error>> + Send {
    let statement = Statement::enqueue(job);
    async move { only(send(statement?, connection).await?) }
}

/// Enqueues any number of jobs in one statement, and returns their ids in the same order.
///
/// # Errors
/// As [`jobkit::enqueue_all`].
pub fn enqueue_all<C: ConnectionTrait, J: Into<Draft>>(
    jobs: impl IntoIterator<Item = J>,
    connection: &C,
) -> impl Future<Output = Result<Vec<JobId>, Error>> + Send {
    let statement = Statement::enqueue_all(jobs);
    async move { send(statement?, connection).await }
}

async fn send<C: ConnectionTrait>(
    statement: Statement,
    connection: &C,
) -> Result<Vec<JobId>, Error> {
    if statement.is_empty() {
        return Ok(Vec::new());
    }
    let sql = statement.sql();
    let parameters = statement.into_parameters().into_iter().map(Value::from);
    let insert = sea_orm_1::Statement::from_sql_and_values(DbBackend::Postgres, sql, parameters);
    let rows = connection.query_all(insert).await.map_err(failure)?;
    rows.iter()
        .map(|row| row.try_get_by_index(0).map(JobId))
        .collect::<Result<_, _>>()
        .map_err(failure)
}

fn failure(error: DbErr) -> Error {
    let said = match &error {
        DbErr::Conn(RuntimeErr::SqlxError(sqlx))
        | DbErr::Exec(RuntimeErr::SqlxError(sqlx))
        | DbErr::Query(RuntimeErr::SqlxError(sqlx)) => sqlx
            .as_database_error()
            .map(|answer| (answer.code().map(String::from), answer.message().to_owned())),
        DbErr::Conn(_) | DbErr::ConnectionAcquire(_) => None,
        other => Some((None, other.to_string())),
    };
    match said {
        Some((state, message)) => Error::answered(state.as_deref(), &message, error),
        None => Error::unanswered(error),
    }
}
