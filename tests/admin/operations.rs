//! Operations, as programs begin and watch them.

use axum::Router;
use axum::http::StatusCode;
use jobkit_admin::Permission::{Bulk, Purge};
use jobkit_admin::Permissions;
use jobkit_tests::Lab;
use serde_json::{Value, json};

use crate::site::{VISITOR, dashboard, get, post, send};
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
    let mut body = json!({"verb": "cancel", "state": "scheduled", "q": "kind:send_receipt_05",
        "reason": "a wrong deploy"});
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
    let told = json!({"items": [{"id": largest, "outcome": "does not exist"}], "skipped": 1});
    assert_eq!(results, told);
}

#[tokio::test]
async fn every_verb_is_done_with_what_it_needs() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let bodies = [
        json!({"verb": "cancel", "reason": "a wrong deploy"}),
        json!({"verb": "discard", "q": "state:blocked", "reason": "no such account"}),
        json!({"verb": "reschedule", "q": "", "at": "2030-01-31T12:00:00+01:00"}),
        json!({"verb": "replay", "kind": "send_receipt_01"}),
        json!({"verb": "discard_dead_letters", "state": "resolved", "key": "a",
            "reason": "done by hand"}),
        json!({"verb": "purge", "days": 7, "fingerprint": "a", "reason": "too old"}),
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
        json!({"verb": "cancel", "reason": ""}),
        json!({"verb": "purge", "reason": " "}),
    ] {
        let mut body = body;
        body["idempotency_key"] = json!("k");
        if body.get("reason").is_none() {
            body["reason"] = json!("a wrong deploy");
        }
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

/// More jobs of two kinds than one look sees.
async fn crowd() -> Lab {
    let lab = world::ordinary().await;
    lab.run(
        "select jobkit.announce('{newsletter,invoice}', '{mail,mail}', '{0,0}', '{2,2}',
            '{1 h,1 h}', '{null,null}', '{null,null}');
        select count(jobkit.enqueue(case when n % 2 = 0 then 'newsletter' else 'invoice' end,
            '{}', p_queue => 'mail')) from generate_series(1, 10200) n",
    )
    .await;
    lab
}

#[tokio::test]
async fn where_nobody_knows_how_many_are_meant_their_name_is_typed_and_no_number() {
    let lab = crowd().await;
    let app = dashboard(&lab, Permissions::admin());
    let path = "/operations/new?verb=cancel&state=live&q=kind:newsletter";
    let page = get(&app, path).await.body;
    assert!(page.contains("<b>More than 5,000</b> match"), "{page}");
    assert!(page.contains("Type <span class=\"mono\">newsletter</span> to confirm"), "{page}");
    let form = |typed: &str| {
        format!(
            "verb=cancel&state=live&q=kind:newsletter&count=5000&idempotency_key=a&reason=b&\
             typed={typed}"
        )
    };
    for typed in ["", "5000", "5001", "invoice", "News"] {
        let reply = post(&app, "/operations/begin", &form(typed)).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{typed}");
        assert!(reply.body.contains("More than 5,000 match"), "{}", reply.body);
    }
    assert_eq!(lab.count("jobkit.operations where verb = 'cancel'").await, 0);
    let reply = post(&app, "/operations/begin", &form("newsletter+")).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.body);
    let path = reply.header("location").to_owned();
    let id = path.rsplit_once('/').unwrap().1;
    let page = get(&app, &path).await.body;
    assert!(page.contains("0 counted so far"), "{page}");
    assert!(page.contains("aria-label=\"being counted\""), "{page}");
    assert!(get(&app, "/operations").await.body.contains("aria-label=\"being counted\""));
    let step = format!("select jobkit.operate({id}, 500)");
    lab.run(&step).await;
    let page = get(&app, &path).await.body;
    assert!(page.contains(">counting<") && !page.contains(" %</div>"), "{page}");
    while lab.count(&format!("jobkit.operations where id = {id} and total is null")).await > 0 {
        lab.run(&step).await;
    }
    let page = get(&app, &path).await.body;
    assert!(page.contains("of 5,100") && page.contains("0 %"), "{page}");
    while lab.count(&format!("jobkit.operations where id = {id} and ended_at is null")).await > 0 {
        lab.run(&format!("select jobkit.operate({id}, 1000)")).await;
    }
    let page = get(&app, "/audit?action=begin").await.body;
    assert!(page.contains("<summary class=\"muted\">cancel · 5,100 done · b</summary>"), "{page}");
}

#[tokio::test]
async fn a_filter_without_a_kind_or_a_queue_alone_is_confirmed_by_its_words() {
    let lab = crowd().await;
    let app = dashboard(&lab, Permissions::admin());
    for (q, name) in [
        ("kind:newsletter", "newsletter"),
        ("queue:mail", "mail"),
        ("queue:mail+kind:newsletter", "kind:newsletter queue:mail"),
        ("state:ready+kind:newsletter", "state:ready kind:newsletter"),
        ("kind:none", "none"),
        ("", "all live jobs"),
    ] {
        let page = get(&app, &format!("/operations/new?verb=cancel&state=live&q={q}")).await.body;
        let asked = format!("Type <span class=\"mono\">{name}</span> to confirm");
        assert!(page.contains(&asked), "{q}: {page}");
    }
    let page = get(&app, "/operations/new?verb=cancel&q=kind:none").await.body;
    assert!(page.contains("<b>An unknown number</b> match"), "{page}");
    assert!(!page.contains("disabled"), "there may be some behind the window");
}

#[tokio::test]
async fn the_api_confirms_by_name_what_no_number_can() {
    let lab = crowd().await;
    let app = dashboard(&lab, Permissions::admin());
    let mut body = json!({"verb": "cancel", "q": "kind:newsletter", "reason": "a wrong deploy"});
    let reply = send(&app, &format!("{PATH}/preview"), &body.to_string()).await;
    let preview: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(preview["count"], json!({"number": 5_000, "more": true}));
    assert_eq!(preview["confirm"], "newsletter");
    body["idempotency_key"] = json!("k");
    for confirm in [Value::Null, json!("5000"), json!("invoice")] {
        body["confirm"] = confirm;
        let reply = send(&app, PATH, &body.to_string()).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{}", reply.body);
        assert!(reply.body.contains("“newsletter”"), "{}", reply.body);
    }
    body["confirm"] = json!("newsletter");
    let begun = begin(&app, &body).await;
    assert_eq!((&begun["total"], &begun["counted"]), (&Value::Null, &json!(0)));
    let few = json!({"verb": "cancel", "q": "state:scheduled"}).to_string();
    let reply = send(&app, &format!("{PATH}/preview"), &few).await;
    let preview: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(preview["confirm"], Value::Null, "a number is known");
}

#[tokio::test]
async fn a_reason_is_asked_for_what_cannot_be_undone_and_kept() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    for (verb, needed) in [
        ("cancel", true),
        ("discard", true),
        ("discard_dead_letters", true),
        ("purge", true),
        ("replay", false),
        ("reschedule", false),
    ] {
        let page = get(&app, &format!("/operations/new?verb={verb}")).await.body;
        let must = if needed { " required" } else { "" };
        let field = format!("name=\"reason\" maxlength=\"500\"{must}>");
        assert!(page.contains(&field), "{verb}: {page}");
        let jobs = ["cancel", "discard", "reschedule"].contains(&verb);
        let whom = if jobs { "q=kind:send_receipt_05" } else { "kind=send_receipt_05" };
        let form = format!("verb={verb}&{whom}&idempotency_key={verb}&count=100");
        let reply = post(&app, "/operations/begin", &form).await;
        let refused = reply.status == StatusCode::UNPROCESSABLE_ENTITY;
        assert_eq!(refused, needed, "{verb}: {}", reply.body);
        let reply = post(&app, "/operations/begin", &format!("{form}&reason=sent+twice")).await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{verb}: {}", reply.body);
        let page = get(&app, reply.header("location")).await.body;
        assert_eq!(page.contains("sent twice"), needed, "{verb}: {page}");
    }
    let kept = "jobkit.audit a join jobkit.operations o on o.audit_id = a.id
        where a.action = 'begin' and a.detail ->> 'reason' = 'sent twice'
            and o.reason = 'sent twice'";
    assert_eq!(lab.count(kept).await, 4);
}
