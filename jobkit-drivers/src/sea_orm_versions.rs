//! The code for both versions of SeaORM, which differ only in their types.

/// The functions of a module, given the version's crate and its method that sends a statement.
macro_rules! functions {
    ($sea_orm:ident, $query_all:ident) => {
        use jobkit::JobId;
        use jobkit::enqueue::{Draft, EnqueueError, Statement, Topic};
        use $sea_orm::{ConnectionTrait, DbBackend, DbErr, RuntimeErr, Value};

        use crate::answer::only;

        /// Enqueues a job: it exists if and only if the transaction commits.
        ///
        /// # Errors
        /// As [`Enqueue::enqueue`](jobkit::Enqueue::enqueue).
        pub fn enqueue<C: ConnectionTrait>(
            job: impl Into<Draft>,
            connection: &C,
        ) -> impl Future<Output = Result<JobId, EnqueueError>> + Send {
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
        ) -> impl Future<Output = Result<Vec<JobId>, EnqueueError>> + Send {
            let statement = Statement::enqueue_all(jobs);
            async move { send(statement?, connection).await }
        }

        /// Publishes to a topic: a job for each kind that subscribes, or none. Returns these jobs.
        ///
        /// # Errors
        /// As [`Topic::publish`].
        pub fn publish<C: ConnectionTrait>(
            event: impl Topic,
            connection: &C,
        ) -> impl Future<Output = Result<Vec<JobId>, EnqueueError>> + Send {
            let statement = Statement::publish(&event);
            async move { send(statement?, connection).await }
        }

        async fn send<C: ConnectionTrait>(
            statement: Statement,
            connection: &C,
        ) -> Result<Vec<JobId>, EnqueueError> {
            if statement.is_empty() {
                return Ok(Vec::new());
            }
            let sql = statement.sql();
            let parameters = statement.into_parameters().into_iter().map(Value::from);
            let insert =
                $sea_orm::Statement::from_sql_and_values(DbBackend::Postgres, sql, parameters);
            let rows = connection.$query_all(insert).await.map_err(failure)?;
            rows.iter()
                .map(|row| row.try_get_by_index(0).map(JobId))
                .collect::<Result<_, _>>()
                .map_err(failure)
        }

        fn failure(error: DbErr) -> EnqueueError {
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
                Some((state, message)) => EnqueueError::answered(state.as_deref(), &message, error),
                None => EnqueueError::unanswered(error),
            }
        }
    };
}

pub(crate) use functions;
