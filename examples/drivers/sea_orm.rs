//! Orders by SeaORM, each with the job that mails its receipt, both or neither:
//! `cargo run -p jobkit-driver-examples --example sea_orm`

use jobkit::{Job, JobContext, Worker, job};
use sea_orm::{ActiveModelTrait, ActiveValue::Set, ConnectionTrait, Database, TransactionTrait};

#[allow(unreachable_pub, reason = "it looks as SeaORM makes it")]
mod order {
    use sea_orm::entity::prelude::*;

    #[sea_orm::model]
    #[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
    #[sea_orm(table_name = "orders")]
    pub struct Model {
        #[sea_orm(primary_key)]
        pub id: i64,
        pub item: String,
    }

    impl ActiveModelBehavior for ActiveModel {}
}

#[derive(serde::Serialize, serde::Deserialize)]
#[job(queue = "mail")]
struct SendReceipt {
    order_id: i64,
}

impl Job for SendReceipt {
    async fn run(self, _cx: JobContext) -> jobkit::Result {
        println!("the receipt of order {} is on its way", self.order_id);
        Ok(())
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let db = Database::connect(std::env::var("DATABASE_URL")?).await?;
    jobkit::migrate(db.get_postgres_connection_pool()).await?;
    let table = "create table if not exists orders (id bigserial primary key, item text not null)";
    db.execute_unprepared(table).await?;

    let tx = db.begin().await?;
    let order = order::ActiveModel { item: Set("a chair".to_owned()), ..Default::default() };
    let order = order.insert(&tx).await?;
    jobkit_drivers::sea_orm::enqueue(SendReceipt { order_id: order.id }, &tx).await?;
    tx.commit().await?; // from here on there are the order and its job

    // One pool for SeaORM and the worker.
    let worker = Worker::new(db.get_postgres_connection_pool().clone()).queue("mail", 20);
    Ok(worker.start().await?.run_until_signal().await?)
}
