//! The database is not there, or not ready.

use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use jobkit::Admin;
use jobkit_admin::{Permissions, routes};
use jobkit_tests::Lab;
use sqlx::postgres::PgPoolOptions;

use crate::site::{ask, dashboard, dashboard_of, filled, get};

/// Nobody listens there.
fn unreachable() -> Router {
    let pool = PgPoolOptions::new().acquire_timeout(Duration::from_millis(200));
    let pool = pool.connect_lazy("postgres://nobody@127.0.0.1:1/none").unwrap();
    dashboard_of(Admin::new(&pool), Permissions::admin()).into_router()
}

#[tokio::test]
async fn every_page_says_so_and_none_breaks() {
    let app = unreachable();
    let paths = routes().filter(|route| route.method == "GET");
    let paths: Vec<_> = paths.filter(|route| !route.path.starts_with("/api/")).collect();
    // As many at a time as are served at a time.
    for some in paths.chunks(8) {
        let mut asked = tokio::task::JoinSet::new();
        for route in some {
            let (app, path) = (
                app.clone(),
                filled(route.path, "1") + "?group=g&queue=q&kind=k&name=n&verb=replay",
            );
            asked.spawn(async move { (get(&app, &path).await, path) });
        }
        for (reply, path) in asked.join_all().await {
            assert_ne!(reply.status, StatusCode::INTERNAL_SERVER_ERROR, "{path}");
            if !path.contains("/assets/") && !reply.status.is_success() {
                assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE, "{path}");
                assert!(!reply.body.contains("127.0.0.1"), "{path} names the host");
            }
        }
    }
    let page = get(&app, "/").await;
    assert!(page.body.contains("The database cannot be reached"));
    assert!(page.body.contains("href=\"/queues\"") && page.body.contains("</html>"));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_not_waited_for_long() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://nobody@{}/none", silent.local_addr().unwrap());
    let admin = Admin::connect_lazy(&url).unwrap();
    let app = dashboard_of(admin, Permissions::admin()).into_router();
    let page = tokio::time::timeout(Duration::from_secs(10), get(&app, "/queues")).await;
    assert_eq!(page.expect("two seconds").status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn a_live_page_keeps_what_it_shows_and_gets_a_banner() {
    let reply = ask(&unreachable(), "GET", "/queues", &[("hx-request", "true")], "").await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.header("hx-retarget"), "#banner");
    assert!(reply.body.contains("cannot be reached") && !reply.body.contains("<html"));
}

#[tokio::test]
async fn programs_get_a_problem_document() {
    let reply = get(&unreachable(), "/api/v1/queues").await;
    assert_eq!(reply.header("content-type"), "application/problem+json");
    let problem: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!((&problem["status"], &problem["type"]), (&503.into(), &"about:blank".into()));
}

#[tokio::test]
async fn probes_tell_the_process_from_the_database() {
    let app = unreachable();
    assert_eq!(get(&app, "/healthz").await.status, StatusCode::OK);
    assert_eq!(get(&app, "/readyz").await.status, StatusCode::SERVICE_UNAVAILABLE);
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::none());
    assert_eq!(get(&app, "/readyz").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_database_without_the_schema_is_told_what_it_lacks() {
    let lab = Lab::empty().await;
    let reply = get(&dashboard(&lab, Permissions::viewer()), "/").await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(reply.body.contains("jobkit::migrate"), "{}", reply.body);
}
