//! The drivers, each as its users write it.

use diesel_async::async_connection_wrapper::AsyncConnectionWrapper;
use diesel_async::{AsyncConnection, AsyncPgConnection};
use jobkit::JobId;
use jobkit::enqueue::{EnqueueError, Pending, Statement};
use jobkit_drivers as through;
use sea_orm::TransactionTrait;
use sea_orm_1::TransactionTrait as _;
use tokio_postgres::types::{ToSql, Type};

use crate::{Driver, Paid, SendReceipt, receipt};

type Ids = Result<Vec<JobId>, EnqueueError>;

pub(crate) struct TokioPostgres(tokio_postgres::Client);

async fn client(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

impl Driver for TokioPostgres {
    async fn connect(url: &str) -> Self {
        Self(client(url).await)
    }

    async fn order(&mut self, order: i64, commits: bool) -> JobId {
        let tx = self.0.transaction().await.unwrap();
        tx.execute("insert into orders values ($1)", &[&order]).await.unwrap();
        let id = through::tokio_postgres::enqueue(receipt(order), &tx).await.unwrap();
        if commits { tx.commit().await } else { tx.rollback().await }.unwrap();
        id
    }

    async fn enqueue(&mut self, job: Pending<SendReceipt>) -> Result<JobId, EnqueueError> {
        through::tokio_postgres::enqueue(job, &self.0).await
    }

    async fn enqueue_all(&mut self, jobs: Vec<Pending<SendReceipt>>) -> Ids {
        through::tokio_postgres::enqueue_all(jobs, &self.0).await
    }

    async fn publish(&mut self, event: Paid) -> Ids {
        through::tokio_postgres::publish(event, &self.0).await
    }
}

pub(crate) struct DeadpoolPostgres(deadpool_postgres::Pool);

impl Driver for DeadpoolPostgres {
    async fn connect(url: &str) -> Self {
        let manager = deadpool_postgres::Manager::new(url.parse().unwrap(), tokio_postgres::NoTls);
        Self(deadpool_postgres::Pool::builder(manager).max_size(1).build().unwrap())
    }

    async fn order(&mut self, order: i64, commits: bool) -> JobId {
        let mut client = self.0.get().await.unwrap();
        let tx = client.transaction().await.unwrap();
        tx.execute("insert into orders values ($1)", &[&order]).await.unwrap();
        let id = through::deadpool_postgres::enqueue(receipt(order), &tx).await.unwrap();
        if commits { tx.commit().await } else { tx.rollback().await }.unwrap();
        id
    }

    async fn enqueue(&mut self, job: Pending<SendReceipt>) -> Result<JobId, EnqueueError> {
        let client = self.0.get().await.map_err(EnqueueError::unanswered)?;
        through::deadpool_postgres::enqueue(job, &client).await
    }

    async fn enqueue_all(&mut self, jobs: Vec<Pending<SendReceipt>>) -> Ids {
        let client = self.0.get().await.map_err(EnqueueError::unanswered)?;
        through::deadpool_postgres::enqueue_all(jobs, &client).await
    }

    async fn publish(&mut self, event: Paid) -> Ids {
        let client = self.0.get().await.map_err(EnqueueError::unanswered)?;
        through::deadpool_postgres::publish(event, &client).await
    }
}

/// SeaORM 2 and 1.1 are used alike.
macro_rules! sea_orm {
    ($driver:ident, $version:ident, $run:ident) => {
        pub(crate) struct $driver($version::DatabaseConnection);

        impl Driver for $driver {
            async fn connect(url: &str) -> Self {
                let mut options = $version::ConnectOptions::new(url);
                options.max_connections(1);
                options.acquire_timeout(std::time::Duration::from_secs(2));
                Self($version::Database::connect(options).await.unwrap())
            }

            async fn order(&mut self, order: i64, commits: bool) -> JobId {
                use $version::ConnectionTrait;
                let tx = self.0.begin().await.unwrap();
                let insert = $version::Statement::from_sql_and_values(
                    $version::DbBackend::Postgres,
                    "insert into orders values ($1)",
                    [order.into()],
                );
                tx.$run(insert).await.unwrap();
                let id = through::$version::enqueue(receipt(order), &tx).await.unwrap();
                if commits { tx.commit().await } else { tx.rollback().await }.unwrap();
                id
            }

            async fn enqueue(&mut self, job: Pending<SendReceipt>) -> Result<JobId, EnqueueError> {
                through::$version::enqueue(job, &self.0).await
            }

            async fn enqueue_all(&mut self, jobs: Vec<Pending<SendReceipt>>) -> Ids {
                through::$version::enqueue_all(jobs, &self.0).await
            }

            async fn publish(&mut self, event: Paid) -> Ids {
                through::$version::publish(event, &self.0).await
            }
        }
    };
}

sea_orm!(SeaOrm, sea_orm, execute_raw);
sea_orm!(SeaOrm1, sea_orm_1, execute);

pub(crate) struct Sqlx08(sqlx_08::PgConnection);

impl Driver for Sqlx08 {
    async fn connect(url: &str) -> Self {
        Self(sqlx_08::Connection::connect(url).await.unwrap())
    }

    async fn order(&mut self, order: i64, commits: bool) -> JobId {
        let mut tx = sqlx_08::Connection::begin(&mut self.0).await.unwrap();
        let insert = sqlx_08::query("insert into orders values ($1)").bind(order);
        insert.execute(&mut *tx).await.unwrap();
        let id = through::sqlx_08::enqueue(receipt(order), &mut *tx).await.unwrap();
        if commits { tx.commit().await } else { tx.rollback().await }.unwrap();
        id
    }

    async fn enqueue(&mut self, job: Pending<SendReceipt>) -> Result<JobId, EnqueueError> {
        through::sqlx_08::enqueue(job, &mut self.0).await
    }

    async fn enqueue_all(&mut self, jobs: Vec<Pending<SendReceipt>>) -> Ids {
        through::sqlx_08::enqueue_all(jobs, &mut self.0).await
    }

    async fn publish(&mut self, event: Paid) -> Ids {
        through::sqlx_08::publish(event, &mut self.0).await
    }
}

const INSERT: &str = "insert into orders values ($1)";

/// What rolls a transaction of diesel's back.
const ROLL_BACK: diesel::result::Error = diesel::result::Error::RollbackTransaction;

pub(crate) struct DieselAsync(AsyncPgConnection);

impl Driver for DieselAsync {
    async fn connect(url: &str) -> Self {
        Self(AsyncPgConnection::establish(url).await.unwrap())
    }

    async fn order(&mut self, order: i64, commits: bool) -> JobId {
        let mut id = None;
        let done = self.0.transaction::<_, diesel::result::Error, _>(async |connection| {
            let insert = diesel::sql_query(INSERT).bind::<diesel::sql_types::BigInt, _>(order);
            diesel_async::RunQueryDsl::execute(insert, connection).await?;
            let job = through::diesel_async::enqueue(receipt(order), connection).await;
            id = Some(job.unwrap());
            if commits { Ok(()) } else { Err(ROLL_BACK) }
        });
        assert_eq!(done.await.is_ok(), commits);
        id.unwrap()
    }

    async fn enqueue(&mut self, job: Pending<SendReceipt>) -> Result<JobId, EnqueueError> {
        through::diesel_async::enqueue(job, &mut self.0).await
    }

    async fn enqueue_all(&mut self, jobs: Vec<Pending<SendReceipt>>) -> Ids {
        through::diesel_async::enqueue_all(jobs, &mut self.0).await
    }

    async fn publish(&mut self, event: Paid) -> Ids {
        through::diesel_async::publish(event, &mut self.0).await
    }
}

/// diesel on whichever connection.
macro_rules! diesel {
    ($driver:ident, $connection:ty) => {
        pub(crate) struct $driver($connection);

        impl Driver for $driver {
            async fn connect(url: &str) -> Self {
                let connect = || <$connection as diesel::Connection>::establish(url).unwrap();
                Self(tokio::task::block_in_place(connect))
            }

            async fn order(&mut self, order: i64, commits: bool) -> JobId {
                let mut id = None;
                let connection = &mut self.0;
                let done = tokio::task::block_in_place(|| {
                    diesel::Connection::transaction(connection, |connection| {
                        let insert = diesel::sql_query(INSERT);
                        let insert = insert.bind::<diesel::sql_types::BigInt, _>(order);
                        diesel::RunQueryDsl::execute(insert, connection)?;
                        id = Some(through::diesel::enqueue(receipt(order), connection).unwrap());
                        if commits { Ok(()) } else { Err(ROLL_BACK) }
                    })
                });
                assert_eq!(done.is_ok(), commits);
                id.unwrap()
            }

            async fn enqueue(&mut self, job: Pending<SendReceipt>) -> Result<JobId, EnqueueError> {
                tokio::task::block_in_place(|| through::diesel::enqueue(job, &mut self.0))
            }

            async fn enqueue_all(&mut self, jobs: Vec<Pending<SendReceipt>>) -> Ids {
                tokio::task::block_in_place(|| through::diesel::enqueue_all(jobs, &mut self.0))
            }

            async fn publish(&mut self, event: Paid) -> Ids {
                tokio::task::block_in_place(|| through::diesel::publish(event, &mut self.0))
            }
        }
    };
}

diesel!(Diesel, AsyncConnectionWrapper<AsyncPgConnection>); // needs no libpq
#[cfg(feature = "libpq")]
diesel!(Libpq, diesel::PgConnection);

/// One that jobkit-drivers does not know: what [`Statement`] asks of it and no more.
pub(crate) struct Unknown(tokio_postgres::Client);

async fn send(
    statement: Statement,
    client: &impl tokio_postgres::GenericClient,
) -> Result<Vec<JobId>, EnqueueError> {
    let texts: Vec<_> = statement
        .parameters()
        .iter()
        .map(|text| (text as &(dyn ToSql + Sync), Type::TEXT))
        .collect();
    match client.query_typed(statement.sql(), &texts).await {
        Ok(rows) => Ok(rows.iter().map(|row| JobId(row.get(0))).collect()),
        Err(error) => Err(match error.as_db_error().cloned() {
            Some(said) => EnqueueError::answered(Some(said.code().code()), said.message(), error),
            None => EnqueueError::unanswered(error),
        }),
    }
}

impl Driver for Unknown {
    async fn connect(url: &str) -> Self {
        Self(client(url).await)
    }

    async fn order(&mut self, order: i64, commits: bool) -> JobId {
        let tx = self.0.transaction().await.unwrap();
        tx.execute(INSERT, &[&order]).await.unwrap();
        let id = send(Statement::enqueue(receipt(order)).unwrap(), &tx).await.unwrap()[0];
        if commits { tx.commit().await } else { tx.rollback().await }.unwrap();
        id
    }

    async fn enqueue(&mut self, job: Pending<SendReceipt>) -> Result<JobId, EnqueueError> {
        Ok(send(Statement::enqueue(job)?, &self.0).await?[0])
    }

    async fn enqueue_all(&mut self, jobs: Vec<Pending<SendReceipt>>) -> Ids {
        send(Statement::enqueue_all(jobs)?, &self.0).await
    }

    async fn publish(&mut self, event: Paid) -> Ids {
        send(Statement::publish(&event)?, &self.0).await
    }
}
