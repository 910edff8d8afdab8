use std::net::SocketAddr;
use std::sync::Arc;

use jobkit::WorkerHandle;
use jobkit_tests::Lab;
use shop::Shop;
use shop::partners::Partners;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(crate) async fn open(partners: Partners) -> anyhow::Result<(Lab, Shop)> {
    let lab = Lab::new().await;
    shop::migrate(lab.pool()).await?;
    let shop = Shop { pool: lab.pool().clone(), partners: Arc::new(partners) };
    Ok((lab, shop))
}

pub(crate) async fn work(lab: &Lab, shop: &Shop) -> Result<WorkerHandle, jobkit::Error> {
    let worker = lab.worker().state(shop.clone()).queue("payments", 2).queue("mail", 2);
    worker.queue("webhooks", 4).queue("bulk", 2).start().await
}

pub(crate) async fn drain(lab: &Lab, shop: &Shop) -> Result<(), jobkit::Error> {
    let worker = work(lab, shop).await?;
    lab.until("not exists (select from jobkit.jobs where run_at <= now())").await;
    worker.stop().await;
    lab.check_invariants().await;
    Ok(())
}

pub(crate) async fn order(lab: &Lab, columns: &str, values: &str) -> i64 {
    let insert = format!(
        "insert into orders (email, sku, cents{columns}) values ('ada@example.com', 'sku-1', 900\
         {values}) returning id"
    );
    lab.value(&insert).await
}

pub(crate) async fn endings(shop: &Shop, kind: &str) -> sqlx::Result<Vec<String>> {
    let ended = "select concat_ws(': ', outcome, reason) from jobkit.finished
        where kind = $1 order by job_id";
    sqlx::query_scalar(ended).bind(kind).fetch_all(&shop.pool).await
}

/// What a request is, who asks, and what is sent along.
type Ask<'a> = (&'a str, &'a str, &'a str);

pub(crate) async fn ask(server: SocketAddr, ask: Ask<'_>) -> std::io::Result<TcpStream> {
    let (what, session, body) = ask;
    let (mut stream, length) = (TcpStream::connect(server).await?, body.len());
    let request = format!(
        "{what} HTTP/1.1\r\nhost: shop\r\nx-session: {session}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}

/// The whole answer, beginning with the status.
pub(crate) async fn answer(server: SocketAddr, what: Ask<'_>) -> std::io::Result<String> {
    let mut text = String::new();
    ask(server, what).await?.read_to_string(&mut text).await?;
    Ok(text.split_off("HTTP/1.1 ".len()))
}
