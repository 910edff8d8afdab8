//! The dashboard that serves by itself.

use std::process::Stdio;
use std::time::Duration;

use jobkit_tests::Lab;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::shell::{at, command, text};

/// A dashboard that serves.
struct Site {
    child: Child,
    address: String,
    password: Option<String>,
}

impl Site {
    async fn open(lab: &Lab, args: &[&str], password: Option<&str>) -> Self {
        Self::open_at(lab.url(), args, password).await
    }

    async fn open_at(url: &str, args: &[&str], password: Option<&str>) -> Self {
        let args = [&["serve", "--json", "--bind", "127.0.0.1:0"], args].concat();
        let mut command = command(url, &args);
        command.envs(password.map(|password| ("JOBKIT_PASSWORD", password)));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).await.unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["url"].as_str().unwrap().trim_start_matches("http://");
        let address = address.trim_end_matches('/').to_owned();
        Self { child, address, password: said["password"].as_str().map(str::to_owned) }
    }

    /// The whole answer to a request with these headers.
    async fn ask(&self, request: &str, headers: &[String], body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        let head = format!("{request} HTTP/1.1\r\nconnection: close\r\ncontent-length: {length}");
        let whole = format!("{head}\r\n{headers}\r\n{body}");
        stream.write_all(whole.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn host(&self) -> String {
        format!("host: {}", self.address)
    }

    /// The status of a page to somebody with these credentials.
    async fn status(&self, credentials: Option<&str>) -> u16 {
        let credentials = credentials.map(|text| format!("authorization: Basic {text}"));
        let headers: Vec<String> = std::iter::once(self.host()).chain(credentials).collect();
        let answer = self.ask("GET /queues", &headers, "").await;
        answer.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Sends it a signal, and waits for its end.
    async fn stop(mut self, signal: &str) -> i32 {
        let pid = self.child.id().unwrap().to_string();
        Command::new("kill").args([signal, &pid]).status().await.unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(12), self.child.wait()).await;
        ended.expect("it stops").unwrap().code().expect("by itself")
    }
}

/// As they stand in a header. Made by hand, for names and passwords of three letters times n.
fn basic(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encoded = text.as_bytes().chunks(3).map(|bytes| {
        let mut bits = bytes.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        bits <<= 8 * (3 - bytes.len());
        let letter = |place: usize| match place <= bytes.len() {
            true => char::from(LETTERS[(bits >> (18 - 6 * place)) as usize & 63]),
            false => '=',
        };
        (0..4).map(letter).collect::<String>()
    });
    encoded.collect()
}

/// The body of a pause.
const MAIL: &str = r#"{"scope": "queue", "name": "mail"}"#;

#[tokio::test]
async fn only_who_knows_the_password_gets_in() {
    let lab = Lab::new().await;
    let site = Site::open(&lab, &[], None).await;
    let password = site.password.clone().unwrap();
    assert_eq!(password.len(), 32);
    assert_eq!(site.status(None).await, 401);
    assert_eq!(site.status(Some(&basic("ada:wrong"))).await, 401);
    assert_eq!(site.status(Some(&basic(&format!("ada:{password}x")))).await, 401);
    assert_eq!(site.status(Some(&basic(&format!("ada:{password}")))).await, 200);
    let answer = site.ask("GET /", &[site.host()], "").await.to_lowercase();
    assert!(answer.contains("www-authenticate: basic"), "{answer}");
    assert_eq!(site.stop("-TERM").await, 0);
}

#[tokio::test]
async fn the_name_that_people_give_is_in_the_audit() {
    let lab = Lab::new().await;
    let site = Site::open(&lab, &[], Some("open, sesame")).await;
    assert_eq!(site.password, None, "only what was made up is printed");
    for name in ["bob", ""] {
        let credentials = basic(&format!("{name}:open, sesame"));
        let headers = [
            site.host(),
            format!("authorization: Basic {credentials}"),
            "content-type: application/json".to_owned(),
        ];
        let request = "POST /api/v1/limits/pause";
        let answer = site.ask(request, &headers, MAIL).await;
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    }
    let actors = "select string_agg(actor, ',' order by id) from jobkit.audit";
    assert_eq!(text(&lab, actors).await, "bob,ada");
    assert_eq!(site.stop("-INT").await, 0);
}

#[tokio::test]
async fn a_live_page_does_not_keep_it_from_stopping() {
    let lab = Lab::new().await;
    let site = Site::open(&lab, &["--allow-unauthenticated"], None).await;
    let mut stream = TcpStream::connect(&site.address).await.unwrap();
    let request = format!("GET /events HTTP/1.1\r\n{}\r\n\r\n", site.host());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut start = [0; 15];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200 OK");
    assert_eq!(site.stop("-TERM").await, 0);
}

#[tokio::test]
async fn without_a_password_it_is_for_this_machine_only() {
    let lab = Lab::new().await;
    for bind in ["0.0.0.0:0", "[::]:0", "192.0.2.1:7171"] {
        let said =
            at(lab.url(), &["serve", "--allow-unauthenticated", "--bind", bind]).await.bad(2);
        assert!(said.contains("loopback only"), "{said}");
    }
    let site = Site::open(&lab, &["--allow-unauthenticated"], None).await;
    assert_eq!((site.password.as_deref(), site.status(None).await), (None, 200));
    let rebound = site.ask("GET /queues", &["host: evil.example".to_owned()], "").await;
    assert!(rebound.starts_with("HTTP/1.1 421"), "{rebound}");
    assert_eq!(site.stop("-TERM").await, 0);
}

#[tokio::test]
async fn who_guesses_is_asked_to_wait_and_who_knows_gets_in_soon() {
    let lab = Lab::new().await;
    let site = Site::open(&lab, &[], Some("open, sesame")).await;
    let mut seen = std::collections::BTreeMap::new();
    for guess in 0..100 {
        *seen.entry(site.status(Some(&basic(&format!("ada:guess {guess}")))).await).or_insert(0) +=
            1;
    }
    assert!(seen[&401] < 20 && seen[&429] > 80, "{seen:?}");
    // Who gives no password is asked for it as ever.
    assert_eq!(site.status(None).await, 401);
    let answer =
        site.ask("GET /", &[site.host(), "authorization: Basic YTpi".to_owned()], "").await;
    assert!(answer.to_lowercase().contains("\r\nretry-after: "), "{answer}");
    let began = std::time::Instant::now();
    while site.status(Some(&basic("ada:open, sesame"))).await != 200 {
        assert!(began.elapsed() < Duration::from_secs(30), "it is locked out for long");
    }
    assert_eq!(site.stop("-TERM").await, 0);
}

#[tokio::test]
async fn read_only_changes_nothing() {
    let lab = Lab::new().await;
    let site = Site::open(&lab, &["--allow-unauthenticated", "--read-only"], None).await;
    let headers = [site.host(), "content-type: application/json".to_owned()];
    let answer = site.ask("POST /api/v1/limits/pause", &headers, MAIL).await;
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert_eq!(lab.count("jobkit.audit").await, 0);
    assert_eq!(site.stop("-TERM").await, 0);
}

#[tokio::test]
async fn a_password_comes_from_a_file_that_is_there_and_not_empty() {
    let lab = Lab::new().await;
    let folder = std::env::temp_dir().join(format!("jobkit-cli-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    std::fs::write(path("password"), "sesame sesame\n").unwrap();
    std::fs::write(path("empty"), "\n").unwrap();
    let site = Site::open(&lab, &["--password-file", &path("password")], None).await;
    assert_eq!(site.status(Some(&basic("ada:sesame sesame"))).await, 200);
    assert_eq!(site.stop("-TERM").await, 0);
    std::fs::write(path("short"), "sesame\n").unwrap();
    let wrong =
        [("empty", "is empty"), ("none", "cannot read"), ("short", "fewer than 12 characters")];
    for (file, what) in wrong {
        let args = ["serve", "--bind", "127.0.0.1:0", "--password-file", &path(file)];
        let said = at(lab.url(), &args).await.bad(2);
        assert!(said.contains(what), "{said}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn it_serves_before_the_database_does() {
    // Nobody listens there.
    let site =
        Site::open_at("postgres://nobody@127.0.0.1:1/none", &[], Some("sesame sesame")).await;
    assert_eq!(site.status(Some(&basic("ada:sesame sesame"))).await, 503);
    assert_eq!(site.stop("-TERM").await, 0);
}
