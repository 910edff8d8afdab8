//! Requests that come slowly, on real connections.

use std::time::Duration;

use jobkit_admin::Permissions;
use jobkit_tests::Lab;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::site::dashboard;

/// Longer than anybody should wait, on a machine that others share.
const PATIENCE: Duration = Duration::from_secs(60);

async fn send(address: &str, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// The first line of an answer.
async fn status(stream: &mut TcpStream) -> String {
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        let byte = tokio::time::timeout(PATIENCE, stream.read_u8()).await.expect("it answers");
        line.push(byte.unwrap());
    }
    String::from_utf8(line).unwrap().trim_end().to_owned()
}

async fn get(address: &str, path: &str) -> String {
    let head = format!("GET {path} HTTP/1.1\r\nhost: jobs.test\r\nconnection: close\r\n\r\n");
    status(&mut send(address, &head).await).await
}

/// A form that its reader is told to be long, and that is read by now, without an end.
async fn slow_form(address: &str, length: usize) -> TcpStream {
    let head = format!(
        "POST /theme HTTP/1.1\r\nhost: jobs.test\r\nexpect: 100-continue\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\r\n"
    );
    let mut stream = send(address, &head).await;
    // It is sent when somebody begins to read.
    assert_eq!(status(&mut stream).await, "HTTP/1.1 100 Continue");
    stream.write_all(b"t").await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_do_not_come_take_nobody_s_turn() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::viewer());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(axum::serve(listener, app).into_future());
    let mut slow = Vec::new();
    for _ in 0..2 * jobkit_admin::REQUESTS {
        slow.push(slow_form(&address, 1000).await);
    }
    // And as many large ones as are read at a time.
    for _ in 0..jobkit_admin::REQUESTS {
        slow.push(slow_form(&address, 1 << 20).await);
    }
    for path in ["/queues", "/healthz", "/readyz", "/metrics"] {
        assert_eq!(get(&address, path).await, "HTTP/1.1 200 OK", "{path}");
    }
    let mut form = slow.swap_remove(0);
    form.write_all(&[b'a'; 999]).await.unwrap();
    let answer = status(&mut form).await;
    assert!(!answer.contains("503"), "{answer}");
}
