//! Wherever it is mounted, it stays there.

use axum::Router;
use axum::http::{StatusCode, Uri};
use axum::routing::get_service;
use jobkit::Admin;
use jobkit_admin::Permissions;
use jobkit_tests::Lab;

use crate::crawler::crawl;
use crate::site::{dashboard, dashboard_of, get, post};
use crate::world;

/// A proxy that takes `/x` away, as seen from outside.
fn behind_a_proxy(lab: &Lab) -> Router {
    let inner = dashboard_of(Admin::new(lab.pool()), Permissions::admin()).base_path("/x/");
    let inner = inner.into_router();
    let strip = tower::util::MapRequestLayer::new(|mut request: axum::extract::Request| {
        let whole = request.uri().path_and_query().unwrap().as_str().to_owned();
        let stripped = whole.strip_prefix("/x").unwrap_or("/outside");
        let stripped = if stripped.starts_with('/') { stripped } else { "/" };
        // The process behind a proxy has never heard of it.
        request.extensions_mut().remove::<axum::extract::OriginalUri>();
        *request.uri_mut() = stripped.parse::<Uri>().unwrap();
        request
    });
    let service = tower::Layer::layer(&strip, inner);
    Router::new().fallback_service(get_service(service.clone()).post_service(service))
}

fn mounts(lab: &Lab) -> Vec<(&'static str, Router)> {
    let dashboard = || dashboard(lab, Permissions::admin());
    let nested = Router::new().nest("/b", dashboard());
    let bearing = Router::new().nest_service("/b", dashboard());
    vec![
        ("", Router::new().merge(dashboard())),
        ("", Router::new().fallback_service(dashboard())),
        ("/jobs", Router::new().nest("/jobs", dashboard())),
        ("/jobs", Router::new().nest_service("/jobs", dashboard())),
        ("/a/b", Router::new().nest("/a", nested)),
        ("/a/b", Router::new().nest_service("/a", bearing)),
        ("/acme%20inc/jobs", Router::new().nest_service("/{tenant}/jobs", dashboard())),
        ("/x", behind_a_proxy(lab)),
    ]
}

#[tokio::test]
async fn every_url_stays_under_the_mount() {
    let lab = world::ordinary().await;
    for (number, (prefix, app)) in mounts(&lab).into_iter().enumerate() {
        let home = if prefix.is_empty() { "/" } else { prefix };
        let crawled = crawl(&app, home, 60).await;
        assert!(crawled.pages.len() >= 50, "mount {number}: {} pages", crawled.pages.len());
        for (attribute, url) in &crawled.urls {
            let local = attribute == &"href" && (url == "#page" || url == "data:,");
            let rest = url.strip_prefix(prefix);
            let under = rest.is_some_and(|rest| {
                rest.starts_with(['/', '?']) || rest.is_empty() && !prefix.is_empty()
            });
            assert!(local || under, "mount {number} at {prefix}: {attribute}=\"{url}\"");
            assert!(!url.starts_with("//"), "{url}");
        }
    }
}

#[tokio::test]
async fn a_slash_at_the_end_makes_no_difference() {
    let lab = world::ordinary().await;
    let app = Router::new().nest_service("/jobs", dashboard(&lab, Permissions::admin()));
    for home in ["/jobs", "/jobs/"] {
        let reply = get(&app, home).await;
        assert_eq!(reply.status, StatusCode::OK);
        assert!(reply.body.contains("href=\"/jobs/queues\""));
    }
}

#[tokio::test]
async fn redirects_and_cookies_stay_under_the_mount() {
    let lab = world::ordinary().await;
    for (prefix, app) in mounts(&lab) {
        let reply = post(&app, &format!("{prefix}/limits/resume"), "scope=queue&name=mail").await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{prefix}: {}", reply.body);
        assert_eq!(reply.header("location"), format!("{prefix}/queues"));
        let path = if prefix.is_empty() { "/" } else { prefix };
        assert!(reply.header("set-cookie").contains(&format!("; Path={path};")), "{prefix}");
    }
}

#[tokio::test]
async fn nobody_is_sent_elsewhere() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    for back in ["//evil.test", "https://evil.test", "/\\evil.test", "evil", "%2F%2Fevil.test"] {
        let form = format!("scope=queue&name=mail&back={back}");
        let reply = post(&app, "/limits/resume", &form).await;
        assert_eq!(reply.header("location"), "/queues", "{back}");
    }
    for path in ["//evil.test/queues", "///evil.test", "/\\evil.test/queues", "//evil.test?a=b"] {
        let reply = get(&app, path).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
        for (at, attribute) in reply.body.match_indices("=\"/") {
            let rest = &reply.body[at + attribute.len()..];
            assert!(!rest.starts_with(['/', '\\']), "{path}: {:.60}", &reply.body[at..]);
        }
    }
    let form = "scope=queue&name=mail&back=/concurrency?only=limit";
    let reply = post(&app, "/limits/resume", form).await;
    assert_eq!(reply.header("location"), "/concurrency?only=limit");
}

#[tokio::test]
async fn what_is_not_there_looks_like_the_dashboard() {
    let lab = world::ordinary().await;
    let app = Router::new().nest("/jobs", dashboard(&lab, Permissions::admin()));
    let reply = get(&app, "/jobs/nothing/here").await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
    assert!(reply.body.contains("href=\"/jobs/queues\"") && reply.body.contains("Not found"));
}
