//! Orders by tokio-postgres, each with the job that mails its receipt, both or neither:
//! `cargo run -p jobkit-driver-examples --example tokio_postgres`

use jobkit::{Job, JobContext, Worker, job};
use serde::{Deserialize, Serialize};
use tokio_postgres::NoTls;

#[derive(Serialize, Deserialize)]
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
    let url = std::env::var("DATABASE_URL")?;
    let pool = jobkit::connect(&url).await?; // the worker's
    jobkit::migrate(&pool).await?;
    let (mut client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    tokio::spawn(connection);
    let table = "create table if not exists orders (id bigserial primary key, item text not null)";
    client.batch_execute(table).await?;

    let tx = client.transaction().await?;
    let insert = "insert into orders (item) values ('a chair') returning id";
    let order_id = tx.query_one(insert, &[]).await?.get(0);
    jobkit_drivers::tokio_postgres::enqueue(SendReceipt { order_id }, &tx).await?;
    tx.commit().await?; // from here on there are the order and its job

    let worker = Worker::new(pool).queue("mail", 20).start().await?;
    worker.run_until_signal().await?;
    Ok(())
}
