//! Operations, as programs begin and watch them.

use axum::Router;
use axum::http::StatusCode;
use jobkit_admin::Permission::{Bulk, Purge};
use jobkit_admin::Permissions;
use serde_json::{Value, json};

use crate::site::{VISITOR, dashboard, get, send};
use crate::world;

const PATH: &str = "/api/v1/operations";

async fn begin(app: &Router, body: &Value) -> Value {
    let reply = send(app, PATH, &body.to_string()).await;
    assert_eq!(reply.status, StatusCode::OK, "{body}: {}", reply.body);
    serde_json::from_str(&reply.body).unwrap()
}

async fn read(app: &Router, path: &str) -> Value {
    let reply = get(app, path).await;
    assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.body);
    serde_json::from_str(&reply.body).unwrap()
}

#[tokio::test]
async fn one_is_looked_at_begun_once_read_and_cancelled() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let mut body = json!({"verb": "cancel", "state": "scheduled", "q": "kind:send_receipt_05"});
    let reply = send(&app, &format!("{PATH}/preview"), &body.to_string()).await;
    let preview: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(preview["count"], json!({"number": 1, "more": false}), "{preview}");
    assert_eq!(preview["jobs"][0]["kind"], "send_receipt_05");
    body["idempotency_key"] = json!("night-shift-7");
    let begun = begin(&app, &body).await;
    assert_eq!((&begun["state"], &begun["actor"]), (&json!("pending"), &json!(VISITOR)));
    assert_eq!(begin(&app, &body).await["id"], begun["id"], "the same key");
    let one = format!("{PATH}/{}", begun["id"].as_str().unwrap());
    assert_eq!(read(&app, &one).await, begun);
    assert_eq!(read(&app, &format!("{PATH}?limit=1")).await["items"][0], begun);
    let results = read(&app, &format!("{one}/results")).await;
    assert_eq!(results, json!({"items": [], "skipped": 0}));
    let cancel = format!("{one}/cancel");
    assert_eq!(send(&app, &cancel, "").await.status, StatusCode::NO_CONTENT);
    assert_eq!(read(&app, &one).await["state"], "cancelled");
    assert_eq!(send(&app, &cancel, "").await.status, StatusCode::CONFLICT);
    let unknown = format!("{PATH}/404404");
    assert_eq!(send(&app, &format!("{unknown}/cancel"), "").await.status, StatusCode::NOT_FOUND);
    for path in [format!("{unknown}/results"), unknown] {
        assert_eq!(get(&app, &path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn ids_stay_texts_and_results_name_them() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let largest = i64::MAX.to_string();
    let body = json!({"verb": "replay", "ids": [largest], "idempotency_key": "a"});
    let begun = begin(&app, &body).await;
    assert_eq!(begun["filter"], json!({"ids": [largest]}));
    let id = begun["id"].as_str().unwrap();
    lab.run(&format!("select jobkit.operate({id}, 100)")).await;
    let results = read(&app, &format!("{PATH}/{id}/results")).await;
    let told = json!({"items": [{"id": largest, "outcome": "there is none"}], "skipped": 1});
    assert_eq!(results, told);
}

#[tokio::test]
async fn every_verb_is_done_with_what_it_needs() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let bodies = [
        json!({"verb": "cancel"}),
        json!({"verb": "discard", "q": "state:blocked", "reason": "no such account"}),
        json!({"verb": "reschedule", "q": "", "at": "2030-01-31T12:00:00+01:00"}),
        json!({"verb": "replay", "kind": "send_receipt_01"}),
        json!({"verb": "discard_dead_letters", "state": "resolved", "key": "a"}),
        json!({"verb": "purge", "days": 7, "fingerprint": "a"}),
    ];
    for (n, mut body) in bodies.into_iter().enumerate() {
        body["idempotency_key"] = json!(format!("key {n}"));
        assert_eq!(begin(&app, &body).await["verb"], body["verb"]);
    }
    let at = "jobkit.operations where run_at = '2030-01-31T11:00:00Z' and verb = 'reschedule'";
    assert_eq!(lab.count(at).await, 1);
    let why =
        "jobkit.operations where reason = 'no such account' and filter->>'listing' = 'blocked'";
    assert_eq!(lab.count(why).await, 1);
}

#[tokio::test]
async fn nothing_is_begun_that_means_more_than_was_said() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let before = lab.count("jobkit.operations").await;
    for body in [
        json!({}),
        json!({"verb": "delete"}),
        json!({"verb": "cancel", "kind": "send_receipt_01"}),
        json!({"verb": "replay", "q": "kind:send_receipt_01"}),
        json!({"verb": "cancel", "state": "reddy"}),
        json!({"verb": "replay", "state": "live"}),
        json!({"verb": "cancel", "q": "knid:a"}),
        json!({"verb": "cancel", "ids": []}),
        json!({"verb": "cancel", "ids": ["x"]}),
        json!({"verb": "cancel", "ids": [7]}),
        json!({"verb": "cancel", "ids": ["7"], "q": "kind:a"}),
        json!({"verb": "purge", "ids": ["7"]}),
        json!({"verb": "reschedule", "at": "tomorrow"}),
        json!({"verb": "cancel", "extra": 1}),
        json!({"verb": "discard_dead_letters", "state": "replaying"}),
    ] {
        let mut body = body;
        body["idempotency_key"] = json!("k");
        let reply = send(&app, PATH, &body.to_string()).await;
        let refused = [StatusCode::UNPROCESSABLE_ENTITY, StatusCode::CONFLICT];
        assert!(refused.contains(&reply.status), "{body}: {}", reply.body);
        assert_eq!(reply.header("content-type"), "application/problem+json");
    }
    let keyless = send(&app, PATH, "{\"verb\": \"cancel\"}").await;
    assert_eq!(keyless.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(lab.count("jobkit.operations").await, before);
}

#[tokio::test]
async fn one_needs_the_permission_of_what_it_does_and_to_act_in_bulk() {
    let lab = world::ordinary().await;
    let body = json!({"verb": "purge", "idempotency_key": "k"}).to_string();
    for permission in [Bulk, Purge] {
        let app = dashboard(&lab, Permissions::admin().without(permission));
        for path in [PATH.to_owned(), format!("{PATH}/preview")] {
            assert_eq!(send(&app, &path, &body).await.status, StatusCode::NOT_FOUND, "{path}");
        }
    }
}
