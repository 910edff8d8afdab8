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
//! SeaORM 1.1 is built on sqlx 0.8, so a worker needs a separate pool of sqlx 0.9.

crate::sea_orm_versions::functions!(sea_orm_1, query_all);
