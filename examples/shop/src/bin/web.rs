//! The web server of the shop. Set `DATABASE_URL`, and `LISTEN` for another address.

use std::future::Future;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

/// Completes at SIGTERM or SIGINT. It listens from this call on, not from the first poll.
fn told_to_stop() -> std::io::Result<impl Future<Output = ()> + Send> {
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
    })
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let too_late = told_to_stop()?;
    let pool = shop::open().await?;
    let address = std::env::var("LISTEN").unwrap_or_else(|_| "127.0.0.1:3000".to_owned());
    let listener = TcpListener::bind(address).await?;
    println!("http://{}", listener.local_addr()?);

    // The same signal for both: no more requests, and open pages of the dashboard are let go.
    let routes = shop::web::routes(pool, told_to_stop()?);
    let server = axum::serve(listener, routes).with_graceful_shutdown(told_to_stop()?);
    tokio::select! {
        served = server => served?,
        // Docker kills after 10 s; a request that hangs is cut off before.
        () = async { too_late.await; sleep(Duration::from_secs(8)).await } => {}
    }
    Ok(())
}
