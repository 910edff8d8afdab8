//! One request on one connection, to an address that was checked.

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use url::{Host, Position, Url};

use crate::address::{Allowed, Place};
use crate::reaction::{Reaction, reaction, rest};
use crate::signature::sign;
use crate::{Endpoint, Failure};

/// How much of an answer is read: its head and its body.
const MOST: usize = 64 * 1024;

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);

/// How many addresses of a name are tried.
const ADDRESSES: usize = 4;

/// How many characters of a body are quoted.
const QUOTED: usize = 200;

const AGENT: &str = concat!("jobkit-webhooks/", env!("CARGO_PKG_VERSION"));

/// The answer of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// The host of the URL.
    pub host: String,
    /// The status.
    pub status: u16,
    /// The wait that the header `Retry-After` asks for.
    pub retry_after: Option<Duration>,
    /// The body, or the first 64 KiB of it, or what arrived in time.
    pub body: Vec<u8>,
}

impl Answer {
    /// What it means for a delivery.
    #[must_use]
    pub fn reaction(&self) -> Reaction {
        reaction(self.status, self.retry_after)
    }
}

/// One line, for an error. The body is in quotes, so that it does not affect the fingerprint.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} answered {}", self.host, self.status)?;
        let status = StatusCode::from_u16(self.status).ok();
        if let Some(reason) = status.and_then(|status| status.canonical_reason()) {
            write!(f, " {reason}")?;
        }
        let body = String::from_utf8_lossy(&self.body);
        let words: Vec<&str> = body.split(|c: char| c.is_whitespace() || c.is_control()).collect();
        let line = words.join(" ").replace(['“', '”'], "'");
        match line.trim() {
            "" => Ok(()),
            line => write!(f, ": “{}”", line.chars().take(QUOTED).collect::<String>()),
        }
    }
}

/// How connections are made.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    pub(crate) allowed: Allowed,
    pub(crate) timeout: Duration,
    pub(crate) tls: Arc<ClientConfig>,
}

/// A connection, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Connector {
    /// Sends one signed request.
    pub(crate) async fn post(
        &self,
        endpoint: &Endpoint,
        id: &str,
        body: &str,
    ) -> Result<Answer, Failure> {
        let target = Target::of(&endpoint.url)?;
        let request = target.request(&endpoint.secrets, id, body)?;
        let deadline = Instant::now() + self.timeout;
        let late = |_| Failure::Timeout { host: target.host.to_string(), limit: self.timeout };
        let stream = timeout_at(deadline, self.connect(&target)).await.map_err(late)??;

        let wrong = |source| Failure::Http { host: target.host.to_string(), source };
        let mut protocol = http1::Builder::new();
        let handshake = protocol.max_buf_size(MOST).handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(wrong)?;
        // It is polled here, so that it ends with the attempt. The sender gets its error, too.
        let driven = async {
            let _told_to_the_sender = connection.await;
            pending::<Infallible>().await
        };
        tokio::pin!(driven);
        let response = tokio::select! {
            response = timeout_at(deadline, sender.send_request(request)) => response,
            never = &mut driven => match never {},
        };
        let (head, incoming) = response.map_err(late)?.map_err(wrong)?.into_parts();
        let mut body = Vec::new();
        // The status decides; a missing or late body changes nothing.
        tokio::select! {
            _in_time = timeout_at(deadline, read(incoming, &mut body)) => {}
            never = &mut driven => match never {},
        }
        let retry_after = head.headers.get(RETRY_AFTER).and_then(|header| header.to_str().ok());
        Ok(Answer {
            host: target.host.to_string(),
            status: head.status.as_u16(),
            retry_after: retry_after.and_then(|header| rest(header, SystemTime::now())),
            body,
        })
    }

    /// A connection to an allowed address. The name is resolved once: the connection goes to an
    /// address that was checked, not to a name that may have changed since.
    async fn connect(&self, target: &Target) -> Result<Box<dyn Stream>, Failure> {
        let host = || target.host.to_string();
        let unconnected = |source| Failure::Connect { host: host(), source };
        let found = target.resolve().await;
        let found = found.map_err(|source| Failure::Resolve { host: host(), source })?;
        let reached = self.reachable(&found, target)?;
        let stream = first_of(&reached).await.map_err(unconnected)?;
        if !target.tls {
            return Ok(Box::new(stream));
        }
        // The certificate must match the name, not the address.
        let connector = TlsConnector::from(Arc::clone(&self.tls));
        let encrypted = connector.connect(target.name.clone(), stream).await;
        Ok(Box::new(encrypted.map_err(unconnected)?))
    }

    /// The allowed addresses among those found, at most a few.
    fn reachable(&self, found: &[SocketAddr], target: &Target) -> Result<Vec<SocketAddr>, Failure> {
        let place = |address: &SocketAddr| self.allowed.place(address.ip());
        let may = |address: &&SocketAddr| match place(address) {
            Place::Ours => true,
            Place::Public => target.tls,
            Place::Forbidden => false,
        };
        let reached: Vec<SocketAddr> = found.iter().filter(may).take(ADDRESSES).copied().collect();
        let host = || target.host.to_string();
        if !reached.is_empty() {
            Ok(reached)
        } else if found.iter().any(|address| place(address) == Place::Public) {
            Err(Failure::Plain { host: host() })
        } else {
            Err(Failure::Forbidden { host: host() })
        }
    }
}

/// A connection to the first of these addresses that accepts one.
async fn first_of(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut error = io::Error::from(io::ErrorKind::TimedOut);
    let each = CONNECT.div_f64(addresses.len().max(1) as f64);
    for address in addresses {
        match timeout(each, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(refused)) => error = refused,
            Err(_late) => {}
        }
    }
    Err(error)
}

/// Reads a body up to the limit.
async fn read(mut incoming: Incoming, body: &mut Vec<u8>) {
    while body.len() < MOST
        && let Some(Ok(frame)) = incoming.frame().await
    {
        let part = frame.into_data().unwrap_or_default();
        body.extend_from_slice(&part[..part.len().min(MOST - body.len())]);
    }
}

/// A parsed URL.
struct Target {
    url: Url,
    host: Host<String>,
    port: u16,
    /// Whether it is `https`.
    tls: bool,
    /// The name that the certificate must have.
    name: ServerName<'static>,
}

impl Target {
    fn of(url: &str) -> Result<Self, Failure> {
        let url = Url::parse(url).map_err(|_| Failure::Url)?;
        let tls = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(Failure::Url),
        };
        let (host, port) = url.host().zip(url.port_or_known_default()).ok_or(Failure::Url)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Failure::Url);
        }
        let host = host.to_owned();
        let name = match &host {
            Host::Domain(name) => ServerName::try_from(name.clone()).map_err(|_| Failure::Url)?,
            Host::Ipv4(address) => IpAddr::from(*address).into(),
            Host::Ipv6(address) => IpAddr::from(*address).into(),
        };
        Ok(Self { url, host, port, tls, name })
    }

    async fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        match &self.host {
            Host::Domain(name) => Ok(lookup_host((&**name, self.port)).await?.collect()),
            Host::Ipv4(address) => Ok(vec![(*address, self.port).into()]),
            Host::Ipv6(address) => Ok(vec![(*address, self.port).into()]),
        }
    }

    fn request(
        &self,
        secrets: &[String],
        id: &str,
        body: &str,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let timestamp = now.unwrap_or_default().as_secs();
        Request::post(&self.url[Position::BeforePath..Position::AfterQuery])
            .header(HOST, &self.url[Position::BeforeHost..Position::AfterPort])
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, AGENT)
            .header("webhook-id", id)
            .header("webhook-timestamp", timestamp)
            .header("webhook-signature", sign(secrets, id, timestamp, body)?)
            .body(Bytes::copy_from_slice(body.as_bytes()).into())
            .map_err(|_| Failure::Url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_of_http_without_a_user() {
        for url in
            ["", "example.com", "ftp://a.b/", "https://", "https://u@a.b/", "https://u:p@a.b"]
        {
            assert!(matches!(Target::of(url).err(), Some(Failure::Url)), "{url}");
        }
        let target = Target::of("HTTPS://B\u{fc}cher.Example:8443/a b?c=d#e").unwrap();
        let secrets = [crate::new_secret()];
        let request = target.request(&secrets, "msg_1", "{}").unwrap();
        assert_eq!(request.uri(), "/a%20b?c=d");
        assert_eq!(request.headers()[HOST], "xn--bcher-kva.example:8443");
        assert_eq!((target.port, target.tls), (8443, true));
    }

    /// What is left of the addresses of a name, for a URL of it.
    fn reachable(allowed: &[&str], url: &str, found: &[&str]) -> Result<Vec<String>, Failure> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth();
        let allowed = Allowed(allowed.iter().map(|net| net.parse().unwrap()).collect());
        let connector = Connector { allowed, timeout: CONNECT, tls: Arc::new(tls) };
        let found: Vec<SocketAddr> =
            found.iter().map(|address| (address.parse::<IpAddr>().unwrap(), 443).into()).collect();
        let reached = connector.reachable(&found, &Target::of(url)?)?;
        Ok(reached.iter().map(|address| address.ip().to_string()).collect())
    }

    #[test]
    fn of_a_name_with_many_addresses_the_public_ones_are_reached() {
        let both = ["10.0.0.1", "8.8.8.8", "::1", "169.254.169.254", "1.1.1.1"];
        assert_eq!(reachable(&[], "https://a.b", &both).unwrap(), ["8.8.8.8", "1.1.1.1"]);
        let ours = ["10.0.0.0/8"];
        assert_eq!(reachable(&ours, "http://a.b", &both).unwrap(), ["10.0.0.1"]);
        let plain = reachable(&[], "http://a.b", &both);
        assert!(matches!(plain, Err(Failure::Plain { .. })), "{plain:?}");
        for found in [&["10.0.0.1", "::ffff:127.0.0.1"][..], &[]] {
            let inside = reachable(&[], "https://a.b", found);
            assert!(matches!(inside, Err(Failure::Forbidden { .. })), "{inside:?}");
        }
        assert_eq!(reachable(&[], "https://a.b", &["8.8.8.8"; 9]).unwrap().len(), ADDRESSES);
    }

    #[test]
    fn an_answer_is_told_in_one_line() {
        let body = "no\n\u{201d}such\u{201c}\0 thing".as_bytes().to_vec();
        let answer = Answer { host: "a.b".to_owned(), status: 404, retry_after: None, body };
        let said = "a.b answered 404 Not Found: \u{201c}no 'such'  thing\u{201d}";
        assert_eq!(answer.to_string(), said);
        let long = Answer { status: 999, body: vec![b'x'; 9_000], ..answer };
        assert_eq!(long.to_string().chars().count(), "a.b answered 999: ".len() + QUOTED + 2);
        assert_eq!(Answer { body: vec![], ..long }.to_string(), "a.b answered 999");
    }
}
