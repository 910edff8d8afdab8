//! The stream that tells pages to look again.

use std::pin::Pin;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::http::Request;
use jobkit_admin::Permissions;
use jobkit_tests::Lab;

use crate::site::{dashboard, post};

async fn listen(app: &Router) -> Body {
    let request = Request::get("/events").body(Body::empty()).unwrap();
    let response = tower::ServiceExt::oneshot(app.clone(), request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    assert_eq!(response.headers()["x-frame-options"], "DENY");
    response.into_body()
}

/// The next piece of a stream.
async fn next(body: &mut Body) -> String {
    let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
    let bytes = frame.unwrap().unwrap().into_data().unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn a_change_is_told_at_once_and_without_saying_what_it_was() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::admin());
    let mut stream = listen(&app).await;
    post(&app, "/queues/pause", "queue=secret-queue").await;
    let told = tokio::time::timeout(Duration::from_secs(3), next(&mut stream)).await.unwrap();
    assert_eq!(told, "event: jobkit\ndata: changed\n\n");
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
