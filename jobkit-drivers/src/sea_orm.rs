//! Through [SeaORM 2](::sea_orm): `&db` or `&tx`, or anything that is a [`ConnectionTrait`].
//!
//! ```no_run
//! # use jobkit::{Enqueue, Job, JobContext, job};
//! # use sea_orm as sea_orm;
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! # #[job] struct SendReceipt { order_id: i64 }
//! # impl Job for SendReceipt { async fn run(self, _: JobContext) -> jobkit::Result { Ok(()) } }
//! use jobkit_drivers::sea_orm::{enqueue, enqueue_all};
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
//! SeaORM 2 is built on sqlx 0.9, so the worker can use the pool of a `DatabaseConnection`:
//! `Worker::new(db.get_postgres_connection_pool().clone())`.

crate::sea_orm_versions::functions!(sea_orm, query_all_raw);
