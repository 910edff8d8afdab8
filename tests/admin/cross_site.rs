//! What other sites make a browser ask for is refused.

use axum::http::StatusCode;
use jobkit_admin::{Permissions, routes};
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
    for (method, path) in [("GET", "/api/v1/queues"), ("OPTIONS", "/api/v1/queues/pause")] {
        let reply = ask(&app, method, path, &[("origin", "http://evil.test")], "").await;
        assert_eq!(reply.header("access-control-allow-origin"), "");
    }
}
