//! A server that idle connections and slow requests cannot block.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use futures_util::future::{BoxFuture, Shared};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tower::ServiceExt;

/// Completes when the process is asked to stop.
pub(super) type Stop = Shared<BoxFuture<'static, ()>>;

/// Where a request comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// Limits that keep clients from exhausting the server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// How many connections are served at a time. Others wait until one ends.
    pub(super) connections: usize,
    /// How long to wait for the head of a request; idle connections are closed after this time,
    /// too.
    pub(super) head: Duration,
    /// How long requests may take to end once the server is stopping.
    pub(super) grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let (head, grace) = (Duration::from_secs(10), Duration::from_secs(3));
        Self { connections: 500, head, grace }
    }
}

/// Serves until the process is asked to stop.
pub(super) async fn serve(listener: TcpListener, router: Router, stop: Stop, limits: Limits) {
    let room = Arc::new(Semaphore::new(limits.connections));
    let mut connections = JoinSet::new();
    let accepting = async {
        while let Ok(place) = room.clone().acquire_owned().await {
            let (stream, peer) = accept(&listener).await;
            while connections.try_join_next().is_some() {}
            let connection = connection(stream, router.clone(), Peer(peer), stop.clone(), limits);
            connections.spawn(hold(place, connection));
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop.clone() => {}
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    let _ended = tokio::time::timeout(limits.grace, ended).await;
}

/// The next connection. If there is no file descriptor for it, it waits until others end.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!(%error, "jobkit.dashboard: cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        }
    }
}

async fn hold(_place: OwnedSemaphorePermit, connection: impl Future<Output = ()>) {
    connection.await;
}

async fn connection(stream: TcpStream, router: Router, peer: Peer, stop: Stop, limits: Limits) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request: Request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        answer(router.clone(), request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head);
    let mut served = pin!(http.serve_connection(TokioIo::new(stream), service));
    // An error on one connection ends only that one.
    tokio::select! {
        _ended = served.as_mut() => return,
        () = stop => served.as_mut().graceful_shutdown(),
    }
    let _ended = served.await;
}

async fn answer(router: Router, request: Request) -> Result<Response, Infallible> {
    router.oneshot(request).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// A server, and how to stop it.
    async fn open(limits: Limits) -> (SocketAddr, impl FnOnce()) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback");
        let address = listener.local_addr().expect("it is bound");
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let stopped = stopped.map(|_| ()).boxed().shared();
        let router = Router::new().route("/", axum::routing::get("here"));
        tokio::spawn(serve(listener, router, stopped, limits));
        (address, move || drop(stop))
    }

    async fn connect(address: SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(text.as_bytes()).await.expect("it reads");
        stream
    }

    /// All that comes until the server closes the connection.
    async fn rest(mut stream: TcpStream) -> String {
        let mut text = String::new();
        let _ended = stream.read_to_string(&mut text).await;
        text
    }

    const WHOLE: &str = "GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

    #[tokio::test]
    async fn a_head_that_does_not_come_is_not_waited_for() {
        let head = Duration::from_millis(100);
        let (address, _stop) = open(Limits { head, ..Limits::default() }).await;
        for unfinished in ["", "GET / HTTP/1.1\r\nhost: ", "GET / HTTP/1.1\r\nhost: a\r\n\r\n"] {
            let stream = connect(address, unfinished).await;
            let text = tokio::time::timeout(Duration::from_secs(20), rest(stream)).await;
            let text = text.expect("the server closes it");
            assert_eq!(text.contains("here"), unfinished.ends_with("\r\n\r\n"), "{text}");
        }
    }

    #[tokio::test]
    async fn there_are_so_many_connections_at_a_time() {
        let (address, _stop) = open(Limits { connections: 2, ..Limits::default() }).await;
        let idle = [connect(address, "").await, connect(address, "").await];
        let mut third = Box::pin(rest(connect(address, WHOLE).await));
        let waits = tokio::time::timeout(Duration::from_millis(100), &mut third).await;
        assert!(waits.is_err(), "{waits:?}");
        drop(idle);
        assert!(third.await.ends_with("here"));
    }

    #[tokio::test]
    async fn it_stops_at_once_where_nobody_waits_and_soon_where_somebody_does() {
        let (address, stop) = open(Limits::default()).await;
        let idle = connect(address, "").await;
        assert!(rest(connect(address, WHOLE).await).await.ends_with("here"));
        stop();
        assert_eq!(rest(idle).await, "");
        let refused = TcpStream::connect(address).await;
        assert!(refused.is_err(), "{refused:?}");
    }
}
