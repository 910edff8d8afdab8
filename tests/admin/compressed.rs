//! Answers that weigh less where the browser takes that.

use std::io::Read;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode};
use flate2::read::GzDecoder;
use jobkit_admin::{Permissions, routes};
use tower::ServiceExt;

use crate::crawler::urls;
use crate::site::{dashboard, filled, get};
use crate::world;

/// The answer as it is on the wire.
async fn raw(
    app: &Router,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> (StatusCode, HeaderMap, Vec<u8>) {
    let mut request = Request::builder().method(method).uri(path).header("host", "jobs.test");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let stream = parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
    let bytes = if stream { Vec::new() } else { to_bytes(body, 1 << 24).await.unwrap().to_vec() };
    (parts.status, parts.headers, bytes)
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

fn coding(headers: &HeaderMap) -> &str {
    headers.get("content-encoding").map_or("", |coding| coding.to_str().unwrap())
}

const GZIP: (&str, &str) = ("accept-encoding", "br;q=0.9, gzip, deflate");

#[tokio::test]
async fn pages_data_and_metrics_are_compressed_for_whoever_takes_that() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    for (path, kind) in [
        ("/jobs", "text/html"),
        ("/dead/entries", "text/html"),
        ("/no/such", "text/html"),
        ("/api/v1/jobs", "application/json"),
        ("/metrics", "text/plain; version=0.0.4"),
    ] {
        let (_, plain, whole) = raw(&app, "GET", path, &[]).await;
        assert_eq!(coding(&plain), "", "{path}: nobody asked");
        let (_, headers, packed) = raw(&app, "GET", path, &[GZIP]).await;
        assert_eq!(coding(&headers), "gzip", "{path}");
        assert!(headers["content-type"].to_str().unwrap().starts_with(kind), "{path}");
        let said = headers.get("content-length").map(|length| length.to_str().unwrap().to_owned());
        assert!(said.is_none_or(|length| length == packed.len().to_string()), "{path}");
        let text = unpacked(&packed);
        assert!(text.len().abs_diff(whole.len()) < 200, "{path}: the same, but for its times");
        assert!(packed.len() * 2 < text.len(), "{path}: {} of {}", packed.len(), text.len());
    }
    let (_, _, jobs) = raw(&app, "GET", "/jobs", &[GZIP]).await;
    assert!(jobs.len() < 8_000, "a page of 50 jobs weighs {} bytes", jobs.len());
}

#[tokio::test]
async fn every_answer_says_that_it_varies_and_none_is_compressed_unasked() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    for route in routes().filter(|route| route.method == "GET") {
        let path = filled(route.path, "1");
        let refused = ("accept-encoding", "gzip;q=0, *");
        let (_, headers, _) = raw(&app, "GET", &path, &[refused]).await;
        assert_eq!(coding(&headers), "", "{path}");
        let vary = headers["vary"].to_str().unwrap();
        assert!(vary.split(", ").any(|name| name == "accept-encoding"), "{path}: {vary}");
    }
}

#[tokio::test]
async fn what_is_small_or_has_no_end_is_left_alone() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    for path in ["/healthz", "/readyz", "/api/v1/jobs?q=404404", "/events", "/dead/export"] {
        let (status, headers, _) = raw(&app, "GET", path, &[GZIP]).await;
        assert_eq!((status, coding(&headers)), (StatusCode::OK, ""), "{path}");
    }
    let (_, headers, _) = raw(&app, "GET", "/events", &[GZIP]).await;
    assert_eq!(headers["content-type"], "text/event-stream");
}

#[tokio::test]
async fn a_head_says_what_a_get_would() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let asset = urls(&get(&app, "/").await.body);
    let asset = asset.into_iter().find(|(_, url)| url.ends_with(".css")).unwrap().1;
    for path in ["/kinds", &asset] {
        for asked in [vec![GZIP], vec![]] {
            let (_, get, _) = raw(&app, "GET", path, &asked).await;
            let (status, head, bytes) = raw(&app, "HEAD", path, &asked).await;
            assert_eq!((status, bytes.len()), (StatusCode::OK, 0), "{path}");
            for name in ["content-type", "content-encoding", "vary", "cache-control"] {
                assert_eq!(head.get(name), get.get(name), "{path}: {name}");
            }
        }
    }
}

/// The length of a page tells nothing to a site that chose its words.
#[tokio::test]
async fn what_another_site_made_a_browser_ask_for_is_not_compressed() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    for (site, expected) in
        [("same-origin", "gzip"), ("none", "gzip"), ("same-site", ""), ("cross-site", "")]
    {
        let (_, headers, _) =
            raw(&app, "GET", "/jobs?q=kind:a", &[GZIP, ("sec-fetch-site", site)]).await;
        assert_eq!(coding(&headers), expected, "{site}");
    }
}

#[tokio::test]
async fn files_come_as_they_are_to_whoever_takes_no_gzip() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    for (_, url) in urls(&get(&app, "/").await.body) {
        if !url.contains("/assets/") {
            continue;
        }
        let (_, plain, whole) = raw(&app, "GET", &url, &[]).await;
        let (_, headers, packed) = raw(&app, "GET", &url, &[GZIP]).await;
        assert_eq!((coding(&plain), coding(&headers)), ("", "gzip"), "{url}");
        assert_eq!(unpacked(&packed).as_bytes(), whole, "{url}");
    }
}
