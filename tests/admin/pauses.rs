//! Pauses that answer once what runs has ended.

use axum::Router;
use axum::http::StatusCode;
use jobkit_admin::Permissions;
use jobkit_tests::Lab;
use serde_json::{Value, json};

use crate::site::{dashboard, get, send};

const PAUSE: &str = "/api/v1/limits/pause";

/// A queue of which one job runs.
async fn site() -> (Lab, Router) {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts)
        values ('sync', 'mail', 0, 3);
        select jobkit.register(31, 'w', array['mail'], array['sync'], '1 day', array[10]);
        select jobkit.enqueue('sync', '{}');
        select count(*) from jobkit.claim(31, 1, array['sync'], array['mail'], array[10])",
    )
    .await;
    let app = dashboard(&lab, Permissions::operator());
    (lab, app)
}

async fn end_the_job(lab: &Lab) {
    lab.run(
        "select jobkit.settle(31, jobkit.outcomes('{1}', array_agg(id), '{finish}'))
        from jobkit.jobs",
    )
    .await;
}

/// How many are still running, in what a pause answered.
async fn running(app: &Router, path: &str, body: &str) -> Value {
    let reply = send(app, path, body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
    serde_json::from_str(&reply.body).unwrap()
}

#[tokio::test]
async fn a_pause_says_how_many_run_when_its_wait_is_over() {
    let (lab, app) = site().await;
    for body in [
        r#"{"scope": "queue", "name": "mail", "wait_seconds": 0}"#,
        r#"{"scope": "kind", "name": "sync", "wait_seconds": 0}"#,
    ] {
        assert_eq!(running(&app, PAUSE, body).await, json!({"running": 1}), "{body}");
    }
    let noted = "jobkit.audit where action = 'pause' and actor = 'alice'";
    assert_eq!(lab.count(noted).await, 2);
    // Few wait at a time, so that others are served meanwhile.
    let wait = r#"{"scope": "queue", "name": "mail", "wait_seconds": 30}"#;
    let waits = async || running(&app, PAUSE, wait).await;
    let others = async {
        let third = send(&app, PAUSE, wait).await;
        assert_eq!(third.status, StatusCode::SERVICE_UNAVAILABLE, "{}", third.body);
        assert_eq!(get(&app, "/queues").await.status, StatusCode::OK);
        end_the_job(&lab).await;
    };
    let (first, second, ()) = tokio::join!(waits(), waits(), others);
    assert_eq!((first, second), (json!({"running": 0}), json!({"running": 0})));
}

#[tokio::test]
async fn nothing_is_paused_by_a_wait_that_is_none() {
    let (_lab, app) = site().await;
    for wait in ["31", "-1", "\"5s\"", "0.5"] {
        for body in [
            format!(r#"{{"scope": "queue", "name": "mail", "wait_seconds": {wait}}}"#),
            format!(r#"{{"scope": "all", "wait_seconds": {wait}}}"#),
        ] {
            let reply = send(&app, PAUSE, &body).await;
            assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}: {}", reply.body);
        }
    }
    let limits = get(&app, "/api/v1/limits?paused=true").await.body;
    assert_eq!(limits, r#"{"items":[]}"#);
}
