use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use jobkit::error::StartError;
use jobkit::testing::{Drain, Report};
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

/// Runs what is ready, and what becomes so within the hour: retries.
pub(crate) async fn drain(shop: &Shop) -> Result<Report, StartError> {
    Drain::new().state(shop.clone()).over(Duration::from_secs(3600)).run(&shop.pool).await
}

pub(crate) async fn order(lab: &Lab, columns: &str, values: &str) -> i64 {
    let insert = format!(
        "insert into orders (email, sku, cents{columns}) values ('ada@example.com', 'sku-1', 900\
         {values}) returning id"
    );
    lab.value(&insert).await
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
