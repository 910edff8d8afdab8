use std::net::SocketAddr;
use std::sync::Arc;

use jobkit::{Enqueue, Job, WorkerHandle};
use jobkit_tests::Lab;
use shop::Shop;
use shop::partners::Partners;
use sqlx::AssertSqlSafe;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A database with the tables of the shop, and what handlers get.
pub(crate) async fn open(partners: Partners) -> anyhow::Result<(Lab, Shop)> {
    let lab = Lab::new().await;
    shop::migrate(lab.pool()).await?;
    let shop = Shop { pool: lab.pool().clone(), partners: Arc::new(partners) };
    Ok((lab, shop))
}

/// A worker of all queues.
pub(crate) async fn work(lab: &Lab, shop: &Shop) -> Result<WorkerHandle, jobkit::Error> {
    let worker = lab.worker().state(shop.clone()).queue("payments", 2).queue("mail", 2);
    worker.queue("webhooks", 4).queue("bulk", 2).start().await
}

/// Runs what is due until nothing is.
pub(crate) async fn drain(lab: &Lab, shop: &Shop) -> Result<(), jobkit::Error> {
    let worker = work(lab, shop).await?;
    lab.until("not exists (select from jobkit.jobs where run_at <= now())").await;
    worker.stop().await;
    lab.check_invariants().await;
    Ok(())
}

/// Enqueues one job.
pub(crate) async fn enqueue<J>(job: J, shop: &Shop) -> Result<jobkit::JobId, jobkit::Error>
where
    J: Job<Shop> + Enqueue,
{
    job.enqueue(&shop.pool).await
}

/// Stores an order that has no jobs yet, and returns its number.
pub(crate) async fn order(lab: &Lab, columns: &str, values: &str) -> i64 {
    let insert = format!(
        "insert into orders (email, sku, cents{columns}) values ('ada@example.com', 'sku-1', 900\
         {values}) returning id"
    );
    lab.value(&insert).await
}

/// Why the jobs of a kind ended as they did, the oldest first.
pub(crate) async fn endings(shop: &Shop, kind: &str) -> sqlx::Result<Vec<String>> {
    let ended = "select concat_ws(': ', outcome, reason) from jobkit.finished
        where kind = $1 order by job_id";
    sqlx::query_scalar(AssertSqlSafe(ended)).bind(kind).fetch_all(&shop.pool).await
}

/// Asks a server, as somebody with this session, and returns the connection.
pub(crate) async fn ask(
    server: SocketAddr,
    what: &str,
    session: &str,
    body: &str,
) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(server).await?;
    let length = body.len();
    let request = format!(
        "{what} HTTP/1.1\r\nhost: shop\r\nx-session: {session}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}

/// The whole answer, beginning with the status.
pub(crate) async fn answer(
    server: SocketAddr,
    what: &str,
    session: &str,
    body: &str,
) -> std::io::Result<String> {
    let mut text = String::new();
    ask(server, what, session, body).await?.read_to_string(&mut text).await?;
    Ok(text.split_once(' ').map(|(_, rest)| rest.to_owned()).unwrap_or_default())
}
