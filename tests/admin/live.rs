//! The stream that tells pages to look again.

use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::Request;
use jobkit_admin::Permissions;
use jobkit_tests::Lab;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::site::{dashboard, dashboard_of, post};

pub(crate) async fn listen(app: &Router) -> Body {
    let request = Request::get("/events").body(Body::empty()).unwrap();
    let response = tower::ServiceExt::oneshot(app.clone(), request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-frame-options"], "DENY");
    response.into_body()
}

/// The next piece of a stream.
pub(crate) async fn next(body: &mut Body) -> String {
    let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
    let bytes = frame.unwrap().unwrap().into_data().unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_change_is_told_at_once_and_without_saying_what_it_was() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::admin());
    let mut stream = listen(&app).await;
    post(&app, "/limits/pause", "scope=queue&name=secret-queue").await;
    let told = tokio::time::timeout(Duration::from_secs(10), next(&mut stream)).await.unwrap();
    assert_eq!(told, "event: jobkit\ndata: changed\n\n");
}

#[tokio::test]
async fn a_stream_ends_with_its_server_and_holds_up_no_graceful_shutdown() {
    let lab = Lab::new().await;
    let (stop, stopped) = watch::channel(());
    let signal = || {
        let mut stopped = stopped.clone();
        async move { drop(stopped.changed().await) }
    };
    let admin = jobkit::Admin::new(lab.pool());
    let app = dashboard_of(admin, Permissions::viewer()).stop_with(signal()).into_router();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut tab = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let server = axum::serve(listener, app).with_graceful_shutdown(signal());
    let server = tokio::spawn(server.into_future());
    tab.write_all(b"GET /events HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut start = [0; 15];
    tab.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 200 OK");
    stop.send_replace(());
    let ended = tokio::time::timeout(Duration::from_secs(10), server).await;
    assert!(ended.expect("it ends with the tab open").unwrap().is_ok());
    let mut rest = Vec::new();
    tab.read_to_end(&mut rest).await.unwrap();
    assert!(rest.ends_with(b"0\r\n\r\n"), "the stream has an end");
}

#[tokio::test]
async fn those_who_are_too_many_are_sent_away_until_others_leave() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::viewer());
    let mut streams = Vec::new();
    for _ in 0..64 {
        streams.push(listen(&app).await);
    }
    let refused = crate::site::get(&app, "/events").await;
    assert_eq!(refused.status, axum::http::StatusCode::SERVICE_UNAVAILABLE);
    streams.pop();
    drop(listen(&app).await);
}
