//! Servers of customers: one that answers by the path, and two that misbehave.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, LOCATION, RETRY_AFTER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use sha2::Sha256;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request, as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) id: String,
    timestamp: String,
    signature: String,
    pub(crate) body: String,
    pub(crate) content_type: String,
}

impl Seen {
    /// What a receiver does that has this secret: whether one of the signatures is by it, and the
    /// request is new.
    pub(crate) fn verifies(&self, secret: &str) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let Ok(timestamp) = self.timestamp.parse::<u64>() else { return false };
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        mac.update(format!("{}.{}.{}", self.id, self.timestamp, self.body).as_bytes());
        let ours = |signature: &str| {
            let bytes = signature.strip_prefix("v1,").map(|text| STANDARD.decode(text));
            matches!(bytes, Some(Ok(bytes)) if mac.clone().verify_slice(&bytes).is_ok())
        };
        now.abs_diff(timestamp) < 300 && self.signature.split(' ').any(ours)
    }

    pub(crate) fn signatures(&self) -> usize {
        self.signature.split(' ').count()
    }
}

/// What is answered: the status, a header, and a body.
pub(crate) type Reply = (u16, Option<(HeaderName, String)>, String);

/// A status alone.
pub(crate) fn says(status: u16) -> Reply {
    (status, None, String::new())
}

pub(crate) fn rest(status: u16, asked: &str) -> Reply {
    (status, Some((RETRY_AFTER, asked.to_owned())), String::new())
}

pub(crate) fn elsewhere(url: &str) -> Reply {
    (307, Some((LOCATION, url.to_owned())), String::new())
}

/// What is answered to the first, second, … request at a path.
type Answers = dyn Fn(&str, usize) -> Reply + Send + Sync;

/// A server that keeps what it is told, by path.
#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    seen: Arc<Mutex<HashMap<String, Vec<Seen>>>>,
    answers: Arc<Answers>,
}

impl Receiver {
    pub(crate) async fn start(
        answers: impl Fn(&str, usize) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start_with(answers, |stream| async { Some(stream) }).await
    }

    /// The same, behind whatever makes something else of a connection, such as TLS.
    pub(crate) async fn start_with<S, F>(
        answers: impl Fn(&str, usize) -> Reply + Send + Sync + 'static,
        accept: impl Fn(TcpStream) -> F + Send + Sync + Copy + 'static,
    ) -> Self
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
        F: Future<Output = Option<S>> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let receiver = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            seen: Arc::default(),
            answers: Arc::new(answers),
        };
        let accepting = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                accepting.connections.fetch_add(1, Relaxed);
                let (one, accepted) = (accepting.clone(), accept(stream));
                tokio::spawn(async move {
                    let Some(stream) = accepted.await else { return };
                    let service = service_fn(async |request| one.answer(request).await);
                    let connection = http1::Builder::new();
                    let _over = connection.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        receiver
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Vec<Seen>>> {
        self.seen.lock().unwrap()
    }

    /// What came to a path.
    pub(crate) fn at(&self, path: &str) -> Vec<Seen> {
        self.lock().get(path).cloned().unwrap_or_default()
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Full<Bytes>>, Infallible> {
        let path = request.uri().path().to_owned();
        let header = |name: &str| {
            let value = request.headers().get(name).and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let (id, timestamp, signature, content_type) = (
            header("webhook-id"),
            header("webhook-timestamp"),
            header("webhook-signature"),
            header("content-type"),
        );
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        let nth = {
            let mut seen = self.lock();
            let seen = seen.entry(path.clone()).or_default();
            seen.push(Seen { id, timestamp, signature, body, content_type });
            seen.len()
        };
        let (status, header, body) = (self.answers)(&path, nth);
        let response = Response::builder().status(status);
        let response = match header {
            Some((name, value)) => response.header(name, value),
            None => response,
        };
        Ok(response.body(body.into()).unwrap())
    }
}

/// A server that takes requests and never answers.
pub(crate) async fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let mut kept = Vec::new();
        while let Ok((stream, _)) = listener.accept().await {
            kept.push(stream);
        }
    });
    url
}

/// How much a server sends whose answer has a gigabyte.
pub(crate) const GIGABYTE: usize = 1 << 30;

/// A server that answers 200 and a gigabyte, and counts how much of it was taken: by the sockets'
/// buffers of both sides, if by nobody else.
pub(crate) async fn endless(taken: Arc<AtomicUsize>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let taken = Arc::clone(&taken);
            tokio::spawn(async move {
                let mut request = [0; 4096];
                let _first = stream.read(&mut request).await;
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {GIGABYTE}\r\n\r\n");
                let _head = stream.write_all(head.as_bytes()).await;
                let (part, mut sent) = (vec![b'x'; 64 * 1024], 0);
                while sent < GIGABYTE && stream.write_all(&part).await.is_ok() {
                    sent += part.len();
                    taken.fetch_add(part.len(), Relaxed);
                }
            });
        }
    });
    url
}
