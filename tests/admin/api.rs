//! JSON for programs.

use axum::http::StatusCode;
use jobkit_admin::Permissions;
use serde_json::Value;

use crate::site::{Reply, ask, dashboard, get, send};
use crate::world;

fn json(reply: &Reply) -> Value {
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
    assert_eq!(reply.header("content-type"), "application/json");
    serde_json::from_str(&reply.body).unwrap()
}

#[tokio::test]
async fn pages_of_a_list_have_everything_once() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    for list in ["dead-letters", "semaphores", "audit", "batches"] {
        let whole = json(&get(&app, &format!("/api/v1/{list}?limit=500")).await);
        let (mut pages, mut next) = (Vec::new(), Some(format!("/api/v1/{list}?limit=7")));
        while let Some(url) = next {
            let page = json(&get(&app, &url).await);
            pages.extend(page["items"].as_array().unwrap().clone());
            next = page["next"].as_str().map(str::to_owned);
        }
        assert!(pages.len() >= 24, "{list}");
        let ids = |items: &[Value]| {
            let id = |item: &Value| item["id"].to_string() + &item["group"].to_string();
            items.iter().map(id).collect::<Vec<_>>()
        };
        assert_eq!(ids(&pages), ids(whole["items"].as_array().unwrap()), "{list}");
    }
}

#[tokio::test]
async fn numbers_are_clamped_whatever_they_are() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let count = async |limit: &str| {
        let page = json(&get(&app, &format!("/api/v1/dead-letters?limit={limit}")).await);
        page["items"].as_array().unwrap().len()
    };
    let all = count("500").await;
    for (limit, items) in [("0", 1), ("1", 1), ("99999999999999999999", all), ("501", all)] {
        assert_eq!(count(limit).await, items, "{limit}");
    }
    for limit in ["-1", "x", "1e3", ""] {
        assert_eq!(count(limit).await, all.min(50), "{limit:?}");
    }
    for query in ["at=x&id=y", "at=9223372036854775807&id=1", "at=1&id=99999999999999999999"] {
        let reply = get(&app, &format!("/api/v1/dead-letters?{query}")).await;
        assert_eq!(reply.status, StatusCode::OK, "{query}: {}", reply.body);
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_said_to() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let (pause, set) = ("/api/v1/limits/pause", "/api/v1/limits/set");
    for (path, body) in [
        (pause, "{}"),
        (pause, r#"{"scope": "queue", "name": ""}"#),
        (pause, r#"{"scope": "queue", "name": 7}"#),
        (pause, r#"{"scope": "queue", "name": "a", "extra": 1}"#),
        (pause, r#"{"scope": "planet", "name": "x"}"#),
        (pause, r#"{"scope": "group", "name": "send_receipt_01"}"#),
        (pause, "not json"),
        ("/api/v1/dead-letters/1/edit", "{\"queue\": \"x\"}"),
        (set, r#"{"scope": "group", "name": "send_receipt_01", "running": -1}"#),
        (set, r#"{"scope": "group", "name": "send_receipt_01", "running": 1000001}"#),
        (set, r#"{"scope": "group", "name": "send_receipt_01", "burst": 1}"#),
        (set, r#"{"scope": "group", "name": "send_receipt_01"}"#),
        ("/api/v1/jobs/1/reschedule", "{\"at\": \"tomorrow\"}"),
    ] {
        let reply = send(&app, path, body).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{path} {body}");
        assert_eq!(reply.header("content-type"), "application/problem+json");
        let problem: Value = serde_json::from_str(&reply.body).unwrap();
        assert!(problem["detail"].as_str().unwrap().len() > 5, "{problem}");
    }
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let reply = ask(&app, "POST", pause, &form, "scope=queue&name=mail").await;
    assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(lab.count("jobkit.limits where name = 'mail'").await, 0);
}

#[tokio::test]
async fn programs_and_people_pause_and_limit_kinds_and_queues() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let limit = r#"{"scope": "queue", "name": "mail", "running": 3, "rate": "90/min", "burst": 2}"#;
    for (path, body) in
        [("pause", r#"{"scope": "kind", "name": "send", "reason": "wrong"}"#), ("set", limit)]
    {
        let reply = send(&app, &format!("/api/v1/limits/{path}"), body).await;
        assert_eq!(reply.status, StatusCode::NO_CONTENT, "{}", reply.body);
    }
    let listed = async |of: &str| {
        let page = json(&get(&app, &format!("/api/v1/limits?scope={of}")).await);
        page["items"].as_array().unwrap().last().unwrap().clone()
    };
    let kind = listed("kind").await;
    assert_eq!((&kind["name"], &kind["paused"]["actor"]), (&"send".into(), &"alice".into()));
    let queue = listed("queue&name=mail").await;
    assert_eq!(queue["running"], serde_json::json!({"value": 3, "by": "operator"}));
    assert_eq!((&queue["rate"]["value"], &queue["runs"]), (&"90/min, burst 2".into(), &0.into()));
    for (path, word) in [
        ("/kinds", "paused by alice (wrong)"),
        ("/queues", "at most 3 run"),
        ("/limits", "3 at a time"),
    ] {
        assert!(get(&app, path).await.body.contains(word), "{path}");
    }
    let form = [("content-type", "application/x-www-form-urlencoded")];
    for (path, fields) in [
        ("/limits/resume", "scope=kind&name=send"),
        ("/limits/set", "scope=queue&name=mail&running=reset&rate=reset&burst="),
    ] {
        let reply = ask(&app, "POST", path, &form, fields).await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{path}: {}", reply.body);
    }
    let page = json(&get(&app, "/api/v1/limits?scope=kind").await);
    assert_eq!(page["items"], Value::Array(Vec::new()));
    let page = json(&get(&app, "/api/v1/limits?scope=queue&name=mail").await);
    assert_eq!(page["items"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn programs_act_as_people_do() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let id: i64 = lab.value("select max(id) from jobkit.dead_letters").await;
    let path = format!("/api/v1/dead-letters/{id}/replay");
    let job = json(&send(&app, &path, "").await)["job"].as_str().unwrap().to_owned();
    let replay: i64 = lab
        .value(&format!(
            "select replay_id from jobkit.dead_letters where id = {id} and state = 'replaying'"
        ))
        .await;
    assert_eq!(job, replay.to_string());
    assert_eq!(send(&app, &path, "").await.status, StatusCode::CONFLICT);

    let pause = r#"{"scope": "queue", "name": "mail", "reason": "by a program"}"#;
    let reply = send(&app, "/api/v1/limits/pause", pause).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT);
    let paused = "jobkit.limits where name = 'mail' and paused_by = 'alice'";
    assert_eq!(lab.count(paused).await, 1);

    let waiting = |most: &str| {
        format!(r#"{{"scope": "queue", "name": "send_receipt_03", "waiting": {most}}}"#)
    };
    let reply = send(&app, "/api/v1/limits/set", &waiting("1")).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT);
    lab.run(KINDS).await;
    let full = "{\"kind\": \"newest\", \"args\": {}, \"queue\": \"send_receipt_03\"}";
    let refused = send(&app, "/api/v1/jobs", full).await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS, "{}", refused.body);
    let reply = send(&app, "/api/v1/limits/set", &waiting("null")).await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT);

    let later: i64 = lab.value("select max(job_id) from jobkit.scheduled").await;
    let reply = send(&app, &format!("/api/v1/jobs/{later}/reschedule"), "").await;
    assert_eq!(reply.status, StatusCode::NO_CONTENT);
    assert_eq!(lab.count(&format!("jobkit.scheduled where job_id = {later}")).await, 0);
}

#[tokio::test]
async fn programs_set_rates_and_pause_keys() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let key = r#""scope": "key", "name": "send_receipt_04", "key": "send_receipt_04""#;
    let shown = async || {
        let page = json(&get(&app, "/api/v1/semaphores?group=send_receipt_04&limit=500").await);
        let keys = page["items"].as_array().unwrap();
        keys.iter().find(|item| item["key"] == "send_receipt_04").unwrap().clone()
    };
    let act = async |what: &str, more: &str| {
        let reply =
            send(&app, &format!("/api/v1/limits/{what}"), &format!("{{{key}{more}}}")).await;
        assert_eq!(reply.status, StatusCode::NO_CONTENT, "{what}: {}", reply.body);
    };
    act("set", r#", "rate": "100/min""#).await;
    assert!(shown().await["rate"].as_str().unwrap().starts_with("100/min"));
    act("set", r#", "rate": null"#).await;
    assert_eq!(shown().await["rate"], Value::Null);
    act("pause", r#", "seconds": 600, "reason": "429""#).await;
    assert!(shown().await["paused_until"].is_string());
    act("resume", "").await;
    assert_eq!(shown().await["paused_until"], Value::Null);
    let body = r#"{"scope": "group", "name": "send_receipt_04", "rate": "5/s"}"#;
    assert_eq!(send(&app, "/api/v1/limits/set", body).await.status, StatusCode::NO_CONTENT);
    for (action, times) in [("limit|rate", 3), ("pause", 1), ("resume", 1)] {
        let audited = format!("jobkit.audit where action ~ '^({action})$' and actor = 'alice'");
        assert_eq!(lab.count(&audited).await, times, "{action}");
    }
}

#[tokio::test]
async fn no_rate_and_no_pause_is_set_by_a_wrong_word_or_without_the_right() {
    let lab = world::ordinary().await;
    let admin = dashboard(&lab, Permissions::admin());
    let key = r#""scope": "key", "name": "send_receipt_04", "key": "send_receipt_04""#;
    let unknown = r#""scope": "key", "name": "misspelt", "key": "a""#;
    let bodies = [
        ("set", format!(r#"{{{key}, "rate": "often"}}"#)),
        ("set", format!(r#"{{{key}, "rat": "5/s"}}"#)),
        ("set", format!(r#"{{{unknown}, "rate": "5/s"}}"#)),
        ("pause", format!(r#"{{{key}, "seconds": -1}}"#)),
        ("pause", format!(r#"{{{key}}}"#)),
        ("pause", format!(r#"{{{unknown}, "seconds": 1}}"#)),
        ("resume", "{}".to_owned()),
    ];
    let viewer = dashboard(&lab, Permissions::viewer());
    for (what, body) in bodies {
        let path = format!("/api/v1/limits/{what}");
        let reply = send(&admin, &path, &body).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{what} {body}: {}", reply.body);
        let reply = send(&viewer, &path, &body).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{what} {body}: {}", reply.body);
    }
    let kept = "jobkit.audit where subject in ('key', 'concurrency_key')";
    assert_eq!(lab.count(kept).await, 0);
}

const KINDS: &str = "
    insert into jobkit.kinds (kind, queue, priority, max_attempts) values ('newest', 'mail', 0, 3);
    insert into jobkit.kinds (kind, queue, priority, max_attempts, concurrency_group) values
        ('keyed', 'mail', 0, 3, 'keyed')";

#[tokio::test]
async fn programs_enqueue_by_the_name_of_a_kind() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let body = r#"{"kind": "newest", "args": {"order_id": 7}, "queue": "slow", "priority": -1,
        "at": "2100-01-31T12:00:00Z", "max_attempts": 5, "dead_letter_key": "d", "tags": ["shop"],
        "metadata": 1, "version": 2}"#;
    lab.run(KINDS).await;
    let reply = send(&app, "/api/v1/jobs", body).await;
    assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.body);
    let said: Value = serde_json::from_str(&reply.body).unwrap();
    let (job, url) = (said["job"].as_str().unwrap(), said["url"].as_str().unwrap());
    assert_eq!(reply.header("location"), url);
    assert_eq!(json(&get(&app, url).await)["queue"], "slow");
    let stored = format!(
        "jobkit.jobs j join jobkit.scheduled s on s.job_id = j.id where j.id = {job}
            and j.priority = -1 and j.max_attempts = 5 and j.dead_letter_key = 'd'
            and j.version = 2 and j.tags = '{{shop}}' and j.metadata = '1'
            and s.run_at = '2100-01-31T12:00:00Z'"
    );
    assert_eq!(lab.count(&stored).await, 1);
    let audited = "jobkit.audit where action = 'enqueue' and actor = 'alice'
        and detail->>'kind' = 'newest'";
    assert_eq!(lab.count(&format!("{audited} and subject_id = {job}")).await, 1);
    // Without a key it is not unique, whatever its type declares.
    let again = send(&app, "/api/v1/jobs", body).await;
    assert_eq!(again.status, StatusCode::CREATED, "{}", again.body);
    assert_ne!(again.header("location"), url);
    let unique = r#"{"kind": "newest", "unique_key": "7"}"#;
    assert_eq!(send(&app, "/api/v1/jobs", unique).await.status, StatusCode::CREATED);
    let same = send(&app, "/api/v1/jobs", unique).await;
    assert_eq!(json(&same)["answer"], "existing");
}

#[tokio::test]
async fn what_no_job_may_be_like_is_refused_by_its_name() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    lab.run(KINDS).await;
    let jobs = lab.count("jobkit.jobs").await;
    for (body, title) in [
        (r#"{"kind": "nobody_knows"}"#, "Unknown kind"),
        (r#"{"kind": "keyed"}"#, "Refused key"),
        (r#"{"kind": "newest", "concurrency_key": "a"}"#, "Refused key"),
        (r#"{"kind": "newest", "priority": 4}"#, "Refused option"),
        (r#"{"kind": "newest", "max_attempts": 0}"#, "Refused option"),
        (r#"{"kind": "newest", "version": 0}"#, "Refused option"),
        (r#"{"kind": "newest", "queue": ""}"#, "Invalid request"),
        (r#"{"kind": "newest", "at": "tomorrow"}"#, "Invalid request"),
        (r#"{"kind": "newest", "args": "\u0000"}"#, "Invalid request"),
        (r#"{"kind": "newest", "quee": "q"}"#, "Invalid request"),
        ("{}", "Invalid request"),
    ] {
        let reply = send(&app, "/api/v1/jobs", body).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{body}: {}", reply.body);
        let problem: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(problem["title"], title, "{body}: {problem}");
    }
    let large = format!(r#"{{"kind": "newest", "args": "{}"}}"#, "x".repeat(1024 * 1024));
    let reply = send(&app, "/api/v1/jobs", &large).await;
    assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(lab.count("jobkit.jobs").await, jobs);
    assert_eq!(lab.count("jobkit.audit where action = 'enqueue'").await, 0);
}

#[tokio::test]
async fn monitoring_gets_gauges_without_keys_or_payloads() {
    let lab = world::ordinary().await;
    let reply = get(&dashboard(&lab, Permissions::viewer()), "/metrics").await;
    assert!(reply.header("content-type").starts_with("text/plain; version=0.0.4"));
    let ready = "jobkit_paused{scope=\"queue\",name=\"send_receipt_05\"} 1";
    assert!(reply.body.contains(ready), "{}", reply.body);
    assert!(reply.body.contains("jobkit_workers 1\n"), "{}", reply.body);
}

#[tokio::test]
async fn kinds_say_how_long_they_take_and_how_often_they_fail() {
    let lab = world::ordinary().await;
    lab.run(
        "insert into jobkit.measures (span, minute, queue, kind, outcome, count, run, wait)
        select 1, date_trunc('minute', now()), 'q', 'send_receipt_01', outcome, n,
            array_fill(0, array[16]) || n, array_fill(0, array[10]) || n
        from (values ('finish', 9), ('retry', 1)) as of (outcome, n)",
    )
    .await;
    let app = dashboard(&lab, Permissions::viewer());
    let kinds = json(&get(&app, "/api/v1/kinds").await);
    let kind = kinds["items"].as_array().unwrap().iter();
    let kind = kind.into_iter().find(|kind| kind["kind"] == "send_receipt_01").unwrap();
    let lately = &kind["lately"];
    assert_eq!(
        (&lately["finished"], &lately["failure_rate"]),
        (&Value::from(9), &Value::from(0.1))
    );
    assert!(lately["run"]["p95"].as_f64() >= lately["run"]["p50"].as_f64(), "{lately}");
    let page = get(&app, "/kinds").await.body;
    let (_, row) = page.split_once(">send_receipt_01</a>").unwrap();
    let row = row.split_once("</tr>").unwrap().0;
    assert!(row.contains("<td data-l=\"Runs\" class=\"n\">10</td>"), "{row}");
    assert!(row.contains("10.0 %") && row.contains(">median ") && row.contains(">p95 "), "{row}");
    let (_, idle) = page.split_once(">send_receipt_02</a>").unwrap();
    assert!(
        idle.split_once("</tr>")
            .unwrap()
            .0
            .contains("<td data-l=\"Failed\" class=\"n\"><span class=\"muted\">–")
    );
}

#[tokio::test]
async fn schedules_are_made_changed_and_seen() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let post = async |act: &str, body: &str| {
        send(&app, &format!("/api/v1/schedules/{act}"), body).await.status
    };
    let kind = "send_receipt_01";
    let new = format!(
        r#"{{"name": "a/b", "times": "@daily Asia/Tokyo", "kind": "{kind}",
            "concurrency_key": "k"}}"#
    );
    assert_eq!(post("create", &new).await, StatusCode::CREATED);
    assert_eq!(post("create", &new).await, StatusCode::CONFLICT);
    let never = r#"{"name": "a/b", "times": "0 0 30 2 *"}"#;
    assert_eq!(post("edit", never).await, StatusCode::UNPROCESSABLE_ENTITY);
    let all = r#"{"name": "a/b", "catch_up": {"max": 3, "window": 60}, "overlap": "allow"}"#;
    assert_eq!(post("edit", all).await, StatusCode::NO_CONTENT);
    for act in ["pause", "resume", "run"] {
        assert!(post(act, r#"{"name": "a/b"}"#).await.is_success(), "{act}");
        assert_eq!(post(act, r#"{"name": "b"}"#).await, StatusCode::NOT_FOUND, "{act}");
    }
    let list = json(&get(&app, "/api/v1/schedules").await);
    assert_eq!(list["items"][0]["catch_up"]["max"], 3, "{list}");
    let one = json(&get(&app, "/api/v1/schedules/schedule?name=a%2Fb").await);
    let runs = json(&get(&app, "/api/v1/schedules/runs?name=a%2Fb").await);
    assert_eq!(
        (&one["times"], &runs["items"][0]["by_hand"]),
        (&"@daily Asia/Tokyo".into(), &true.into())
    );
    assert_eq!(post("delete", r#"{"name": "a/b"}"#).await, StatusCode::NO_CONTENT);
    let metrics = get(&app, "/metrics").await.body;
    assert!(metrics.contains("jobkit_schedule_overdue_seconds 0"), "{metrics}");
    let operator = dashboard(&lab, Permissions::operator());
    let reply = send(&operator, "/api/v1/schedules/create", &new).await;
    assert_eq!(reply.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn topics_are_listed_published_to_and_left() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let subscribe = "select jobkit.announce_subscriptions(
        array['order.paid'], array['send_receipt_01'], array[null])";
    lab.run(subscribe).await;
    let list = json(&get(&app, "/api/v1/topics").await);
    let subscriber = &list["items"][0]["subscribers"][0];
    assert_eq!(
        (&list["items"][0]["topic"], &subscriber["kind"]),
        (&"order.paid".into(), &"send_receipt_01".into())
    );
    let page = get(&app, "/topics").await.body;
    assert!(page.contains(">order.paid</td>"), "{page}");
    assert!(page.contains("/kinds/kind?kind=send_receipt_01\">send_receipt_01</a>"), "{page}");
    assert!(page.contains("none"), "{page}");
    let event = r#"{"topic": "order.paid", "args": {"order": 7}}"#;
    let published = send(&app, "/api/v1/topics/publish", event).await;
    assert_eq!(published.status, StatusCode::CREATED, "{}", published.body);
    let answer: serde_json::Value = serde_json::from_str(&published.body).unwrap();
    let job = answer["jobs"][0].as_str().unwrap();
    let stored = format!("jobkit.jobs where id = {job} and terms->>'topic' = 'order.paid'");
    assert_eq!(lab.count(&stored).await, 1);
    let operator = dashboard(&lab, Permissions::operator());
    let refused = send(&operator, "/api/v1/topics/publish", event).await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
    let leave = r#"{"topic": "order.paid", "kind": "send_receipt_01"}"#;
    let left = send(&app, "/api/v1/topics/unsubscribe", leave).await;
    assert_eq!(left.status, StatusCode::NO_CONTENT, "{}", left.body);
    let again = send(&app, "/api/v1/topics/unsubscribe", leave).await;
    assert_eq!(again.status, StatusCode::NOT_FOUND);
    let nobody = send(&app, "/api/v1/topics/publish", event).await;
    assert_eq!(
        (nobody.status, json(&nobody)["jobs"].as_array().map(Vec::len)),
        (StatusCode::OK, Some(0))
    );
    assert_eq!(lab.count("jobkit.audit where action in ('publish', 'unsubscribe')").await, 3);
}
