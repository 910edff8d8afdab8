//! What other sites make a browser ask for is refused.

use axum::Router;
use axum::http::StatusCode;
use jobkit::Admin;
use jobkit_admin::{Dashboard, Permissions, routes};
use jobkit_tests::Lab;

use crate::site::{ask, dashboard, filled};

/// Headers of a request to `jobs.test`, and whether it may change something.
const MATRIX: [(&[(&str, &str)], bool); 12] = [
    (&[], true),
    (&[("sec-fetch-site", "same-origin")], true),
    (&[("sec-fetch-site", "none")], true),
    (&[("sec-fetch-site", "same-site")], false),
    (&[("sec-fetch-site", "cross-site")], false),
    (&[("sec-fetch-site", "nonsense")], false),
    (&[("origin", "http://jobs.test")], true),
    (&[("origin", "http://evil.test")], false),
    (&[("origin", "null")], false),
    (&[("origin", "http://jobs.test.evil.test")], false),
    (&[("sec-fetch-site", "cross-site"), ("origin", "http://jobs.test")], false),
    (&[("sec-fetch-site", "same-origin"), ("origin", "http://evil.test")], true),
];

#[tokio::test]
async fn every_change_is_refused_when_another_site_asks() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::admin());
    for route in routes().filter(|route| route.method == "POST") {
        for (headers, allowed) in MATRIX {
            let reply = ask(&app, "POST", &filled(route.path, "1"), headers, "").await;
            let refused = reply.status == StatusCode::FORBIDDEN;
            assert_eq!(refused, !allowed, "{} with {headers:?}: {}", route.path, reply.status);
        }
    }
}

#[tokio::test]
async fn links_from_elsewhere_work() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::admin());
    let reply = ask(&app, "GET", "/queues", &[("sec-fetch-site", "cross-site")], "").await;
    assert_eq!(reply.status, StatusCode::OK);
}

#[tokio::test]
async fn no_answer_allows_another_origin() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::admin());
    for (method, path) in [("GET", "/api/v1/queues"), ("OPTIONS", "/api/v1/limits/pause")] {
        let reply = ask(&app, method, path, &[("origin", "http://evil.test")], "").await;
        assert_eq!(reply.header("access-control-allow-origin"), "");
    }
}

/// What a request of a page gets whose site has made its own name lead here; by another name than
/// `jobs.test`, which `ask` has.
async fn as_site(app: &Router, host: &str, origin: &str) -> [StatusCode; 3] {
    let mut seen = [StatusCode::OK; 3];
    let asked = [("GET", "/api/v1/overview"), ("POST", "/limits/pause"), ("GET", "/no/such")];
    for ((method, path), status) in asked.into_iter().zip(&mut seen) {
        let request = axum::http::Request::builder().method(method).uri(path).header("host", host);
        let request = request.header("origin", origin).header("sec-fetch-site", "same-origin");
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let request = request.body("scope=queue&name=mail&reason=".to_owned()).unwrap();
        *status = tower::ServiceExt::oneshot(app.clone(), request).await.unwrap().status();
    }
    seen
}

#[tokio::test]
async fn without_a_login_a_name_of_another_leads_nowhere() {
    let lab = Lab::new().await;
    let dashboard = || Dashboard::new(Admin::new(lab.pool()));
    let app = dashboard().allow_unauthenticated().into_router();
    let nested =
        Router::new().nest_service("/jobs", dashboard().allow_unauthenticated().into_router());
    let refused = [StatusCode::MISDIRECTED_REQUEST; 3];
    assert_eq!(as_site(&app, "evil.test", "http://evil.test").await, refused);
    assert_eq!(lab.count("jobkit.limits").await, 0);
    let done = [StatusCode::OK, StatusCode::SEE_OTHER, StatusCode::NOT_FOUND];
    assert_eq!(as_site(&app, "localhost:3000", "http://localhost:3000").await, done);
    // Below a prefix, and where the address itself names another than the header.
    for (uri, host, status) in [
        ("/jobs/queues", "evil.test", 421),
        ("/jobs/queues", "127.0.0.1:3000", 200),
        ("http://evil.test/jobs/queues", "127.0.0.1", 421),
        ("http://127.0.0.1/jobs/queues", "evil.test", 421),
        ("http://127.0.0.1/jobs/queues", "127.0.0.1", 200),
    ] {
        let request = axum::http::Request::get(uri).header("host", host).body(String::new());
        let answer = tower::ServiceExt::oneshot(nested.clone(), request.unwrap()).await.unwrap();
        assert_eq!(answer.status().as_u16(), status, "{uri} {host}");
    }
    let open = dashboard().allow_unauthenticated_by_any_name().into_router();
    assert_eq!(as_site(&open, "jobs.internal", "http://jobs.internal").await, done);
}
