//! Who is not sent to, whose answer is not waited for, and requests without a job.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use jobkit_tests::Lab;
use jobkit_webhooks::{Answer, Endpoint, Event, Failure, Webhooks, new_secret, rustls};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use crate::customers::Customers;
use crate::receiver::{GIGABYTE, Receiver, elsewhere, endless, says, silent};

/// Sends one request to a URL, and says what came of it.
async fn send(webhooks: &Webhooks, url: &str) -> Result<Answer, Failure> {
    let endpoint = Endpoint { url: url.to_owned(), secrets: vec![new_secret()] };
    webhooks.test_delivery(&endpoint, &Event::new("test", &()).unwrap()).await
}

async fn strict() -> Webhooks {
    Customers::default().webhooks(&Lab::empty().await)
}

async fn allowing_loopback() -> Webhooks {
    strict().await.allow("127.0.0.0/8".parse().unwrap())
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused_without_a_connection() {
    let receiver = Receiver::start(|_, _| says(200)).await;
    let (port, strict) = (receiver.address.port(), strict().await);
    for host in ["localhost", "127.0.0.1", "2130706433", "127.1", "[::ffff:127.0.0.1]"] {
        for scheme in ["http", "https"] {
            let answer = send(&strict, &format!("{scheme}://{host}:{port}/")).await;
            assert!(matches!(answer, Err(Failure::Forbidden { .. })), "{host}: {answer:?}");
        }
    }
    assert_eq!(receiver.connections.load(Relaxed), 0);
    let answer = send(&allowing_loopback().await, &format!("http://localhost:{port}/")).await;
    assert_eq!(answer.unwrap().status, 200);
}

#[tokio::test]
async fn what_is_public_is_reached_by_https_alone() {
    let answer = send(&strict().await, "http://8.8.8.8/").await;
    assert!(matches!(answer, Err(Failure::Plain { .. })), "{answer:?}");
}

#[tokio::test]
async fn a_test_delivery_returns_the_answer_whatever_it_is() {
    let receiver = Receiver::start(|path, _| match path {
        "/gone" => says(410),
        "/moved" => elsewhere("/secret"),
        _ => (418, None, "short and stout".to_owned()),
    })
    .await;
    let webhooks = allowing_loopback().await;
    let answer = send(&webhooks, &receiver.url("/pot?a=b")).await.unwrap();
    assert_eq!((answer.status, &*answer.body), (418, &b"short and stout"[..]));
    assert_eq!(send(&webhooks, &receiver.url("/gone")).await.unwrap().status, 410);
    assert_eq!(send(&webhooks, &receiver.url("/moved")).await.unwrap().status, 307);
    assert_eq!((receiver.at("/pot").len(), receiver.at("/secret").len()), (1, 0));
    let bare = Endpoint { url: receiver.url("/"), secrets: vec![] };
    let answer = webhooks.test_delivery(&bare, &Event::new("test", &()).unwrap()).await;
    assert!(matches!(answer, Err(Failure::Secret)), "{answer:?}");
    assert_eq!(receiver.at("/").len(), 0);
}

#[tokio::test]
async fn of_a_gigabyte_64_kib_are_read() {
    let taken = Arc::<AtomicUsize>::default();
    let url = endless(Arc::clone(&taken)).await;
    let answer = send(&allowing_loopback().await, &url).await.unwrap();
    assert_eq!((answer.status, answer.body.len()), (200, 64 * 1024));
    assert!(taken.load(Relaxed) < GIGABYTE / 16);
}

#[tokio::test]
async fn a_head_without_an_end_is_no_answer() {
    let (url, _server) = raw(|mut stream| async move {
        let _begun = stream.write_all(b"HTTP/1.1 200 OK\r\n").await;
        while stream.write_all(&[b"x-y: ", &[b'z'; 8000][..], b"\r\n"].concat()).await.is_ok() {}
    })
    .await;
    let answer = send(&allowing_loopback().await, &url).await;
    assert!(matches!(answer, Err(Failure::Http { .. })), "{answer:?}");
}

#[tokio::test]
async fn who_does_not_answer_is_waited_for_so_long() {
    let webhooks = allowing_loopback().await.timeout(Duration::from_millis(200));
    let began = Instant::now();
    let answer = send(&webhooks, &silent().await).await;
    assert!(matches!(&answer, Err(Failure::Timeout { .. })), "{answer:?}");
    assert!(!answer.unwrap_err().is_final() && began.elapsed() >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_status_counts_though_its_body_never_ends() {
    let (url, _server) = raw(|mut stream| async move {
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello";
        let _sent = stream.write_all(head).await;
        let _until_it_is_dropped = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let webhooks = allowing_loopback().await.timeout(Duration::from_secs(3));
    let answer = send(&webhooks, &url).await.unwrap();
    assert_eq!((answer.status, &*answer.body), (200, &b"hello"[..]));
}

/// A server of one connection.
async fn raw<F: Future<Output = ()> + Send + 'static>(
    serve: impl FnOnce(TcpStream) -> F + Send + 'static,
) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _request = stream.read(&mut [0; 4096]).await;
        serve(stream).await;
    });
    (url, server)
}

/// A server's and a client's side of TLS for `localhost`.
fn tls() -> (TlsAcceptor, ClientConfig) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate: CertificateDer<'static> = cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (TlsAcceptor::from(Arc::new(server)), client)
}

#[tokio::test]
async fn a_certificate_has_to_be_of_the_name_and_trusted() {
    static ACCEPTOR: std::sync::OnceLock<TlsAcceptor> = std::sync::OnceLock::new();
    let (acceptor, client) = tls();
    assert!(ACCEPTOR.set(acceptor).is_ok());
    let accept = |stream| async { accepted(ACCEPTOR.get()?, stream).await };
    let receiver = Receiver::start_with(|_, _| says(200), accept).await;
    let port = receiver.address.port();
    let webhooks = allowing_loopback().await;

    let trusting = webhooks.clone().tls(client);
    let answer = send(&trusting, &format!("https://localhost:{port}/")).await.unwrap();
    assert_eq!((answer.status, receiver.at("/").len()), (200, 1));
    for (webhooks, host) in [(trusting, "127.0.0.1"), (webhooks, "localhost")] {
        let answer = send(&webhooks, &format!("https://{host}:{port}/")).await;
        assert!(matches!(answer, Err(Failure::Connect { .. })), "{host}: {answer:?}");
    }
    assert_eq!(receiver.at("/").len(), 1);
}

async fn accepted(acceptor: &TlsAcceptor, stream: TcpStream) -> Option<TlsStream<TcpStream>> {
    acceptor.accept(stream).await.ok()
}
