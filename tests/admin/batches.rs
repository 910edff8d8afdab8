//! Batches in the dashboard and for programs.

use axum::Router;
use axum::http::StatusCode;
use jobkit_admin::Permission::{Bulk, Cancel};
use jobkit_admin::Permissions;
use jobkit_tests::Lab;
use serde_json::{Value, json};

use crate::one_batch::{add, close, end, open};
use crate::site::{VISITOR, dashboard, get, post, send};

const PATH: &str = "/api/v1/batches";

async fn read(app: &Router, path: &str) -> Value {
    let reply = get(app, path).await;
    assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.body);
    serde_json::from_str(&reply.body).unwrap()
}

async fn page(app: &Router, path: &str) -> String {
    let reply = get(app, path).await;
    assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.body);
    reply.body
}

/// The members of a batch, in the order of their ids.
async fn members(lab: &Lab, batch: i64) -> Vec<i64> {
    let ids = "select array_agg(j.id order by j.id) from jobkit.jobs j where j.batch_id";
    lab.value(&format!("{ids} = {batch}")).await
}

/// What workers do: carries out this operation, and looks at batches.
async fn work(lab: &Lab, operation: &str) {
    let open = format!("jobkit.operations where id = {operation} and ended_at is null");
    while lab.count(&open).await > 0 {
        lab.run(&format!("select jobkit.operate({operation}, 1000)")).await;
    }
    lab.run("select jobkit.look_at_batches(1000)").await;
}

#[tokio::test]
async fn programs_list_batches_and_look_into_one() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::viewer());
    let (first, second) = (open(&lab, 3).await, open(&lab, 0).await);
    let jobs = members(&lab, first).await;
    end(&lab, jobs[0], "finish").await;
    end(&lab, jobs[1], "bury").await;
    close(&lab, first).await;
    let list = read(&app, PATH).await;
    let ids: Vec<_> = list["items"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&json!(second.to_string()), &json!(first.to_string())]);
    assert_eq!(list["next"], Value::Null);
    let newest = read(&app, &format!("{PATH}?limit=1")).await;
    assert_eq!(newest["items"][0]["state"], "open");
    let older = read(&app, newest["next"].as_str().unwrap()).await;
    assert_eq!(older["items"][0], list["items"][1]);
    let one = read(&app, &format!("{PATH}/{first}")).await;
    for (name, value) in
        [("members", 3), ("open", 1), ("finished", 1), ("dead", 1), ("held", 0), ("cancelled", 0)]
    {
        assert_eq!(one[name], value, "{name}: {one}");
    }
    assert_eq!((&one["state"], &one["ended_at"]), (&json!("closed"), &Value::Null));
    let callbacks = one["callbacks"].as_array().unwrap();
    assert_eq!(callbacks.len(), 2);
    assert_eq!((&callbacks[0]["role"], &callbacks[0]["kind"]), (&json!("then"), &json!("merge")));
    assert_eq!((&callbacks[1]["role"], &callbacks[1]["job"]), (&json!("or_else"), &one["or_else"]));
    assert_eq!(callbacks[0]["state"], "scheduled");
    for wrong in [format!("{PATH}?state=ended"), format!("{PATH}/{first}/members?only=ready")] {
        assert_eq!(get(&app, &wrong).await.status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}");
    }
    for unknown in [format!("{PATH}/404404"), format!("{PATH}/404404/members")] {
        assert_eq!(get(&app, &unknown).await.status, StatusCode::NOT_FOUND, "{unknown}");
    }
}

#[tokio::test]
async fn members_follow_each_other_wherever_they_are() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::viewer());
    let batch = open(&lab, 5).await;
    let jobs = members(&lab, batch).await;
    end(&lab, jobs[0], "finish").await;
    end(&lab, jobs[3], "bury").await;
    let path = format!("{PATH}/{batch}/members");
    let of = async |only: &str| {
        let (mut found, mut next) = (Vec::new(), Some(format!("{path}?limit=2&only={only}")));
        while let Some(url) = next {
            let page = read(&app, &url).await;
            let id = |item: &Value| item["id"].as_str().unwrap().parse::<i64>().unwrap();
            found.extend(page["items"].as_array().unwrap().iter().map(id));
            next = page["next"].as_str().map(str::to_owned);
        }
        found
    };
    assert_eq!(of("all").await, jobs);
    assert_eq!(of("live").await, [jobs[1], jobs[2], jobs[4]]);
    assert_eq!(of("finished").await, [jobs[0]]);
    assert_eq!(of("dead").await, [jobs[3]]);
    let found = read(&app, &format!("/api/v1/jobs?q=batch:{batch}")).await;
    assert_eq!(found["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn programs_cancel_a_batch_for_a_reason() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::admin());
    let batch = open(&lab, 3).await;
    let cancel = format!("{PATH}/{batch}/cancel");
    let body = json!({"reason": "a wrong import"}).to_string();
    for permission in [Bulk, Cancel] {
        let app = dashboard(&lab, Permissions::admin().without(permission));
        assert_eq!(send(&app, &cancel, &body).await.status, StatusCode::NOT_FOUND);
    }
    for wrong in ["", "{\"reason\": \" \"}", "{\"why\": \"a\"}"] {
        let reply = send(&app, &cancel, wrong).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}: {}", reply.body);
    }
    assert_eq!(lab.count("jobkit.operations").await, 0);
    let reply = send(&app, &cancel, &body).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.body);
    let operation: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!((&operation["verb"], &operation["total"]), (&json!("cancel"), &json!(3)));
    assert_eq!(
        (&operation["actor"], &operation["reason"]),
        (&json!(VISITOR), &"a wrong import".into())
    );
    assert_eq!(read(&app, &format!("{PATH}/{batch}")).await["state"], "cancelling");
    work(&lab, operation["id"].as_str().unwrap()).await;
    let one = read(&app, &format!("{PATH}/{batch}")).await;
    assert_eq!((&one["state"], &one["cancelled"]), (&json!("cancelled"), &json!(3)));
    assert_eq!(send(&app, &cancel, &body).await.status, StatusCode::CONFLICT);
    let unknown = format!("{PATH}/404404/cancel");
    assert_eq!(send(&app, &unknown, &body).await.status, StatusCode::NOT_FOUND);
    assert_eq!(read(&app, &format!("{PATH}?state=open")).await["items"], json!([]));
}

#[tokio::test]
async fn people_see_how_far_a_batch_is_and_go_to_its_jobs() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::viewer());
    assert!(page(&app, "/batches").await.contains("No batches"));
    let batch = open(&lab, 60).await;
    let jobs = members(&lab, batch).await;
    end(&lab, jobs[0], "bury").await;
    let list = page(&app, "/batches").await;
    assert!(list.contains(&format!("href=\"/batches/{batch}\">{batch}</a>")), "{list}");
    assert!(list.contains("aria-label=\"1 %\""), "{list}");
    let one = page(&app, &format!("/batches/{batch}")).await;
    let then: i64 = lab.value("select then_job from jobkit.batches").await;
    for words in [
        "nobody has closed it",
        "59 have not ended",
        "no such page",
        "at the first dead letter",
        &format!("href=\"/jobs/{then}\">merge</a>"),
        &format!("href=\"/jobs/{}\">page</a>", jobs[0]),
        &format!("only=all&amp;after={}", jobs[49]),
    ] {
        assert!(one.contains(words), "{words}: {one}");
    }
    assert!(!one.contains("Cancel…"), "a viewer only looks");
    let rest = page(&app, &format!("/batches/{batch}?only=all&after={}", jobs[49])).await;
    assert!(rest.contains(&format!("/jobs/{}\"", jobs[59])) && rest.contains("First page"));
    let dead = page(&app, &format!("/batches/{batch}?only=dead")).await;
    assert!(!dead.contains(&format!("/jobs/{}\"", jobs[1])), "{dead}");
    let link = format!("href=\"/batches/{batch}\"");
    let member = page(&app, &format!("/jobs/{}", jobs[1])).await;
    assert!(member.contains(&format!("<dt>Batch</dt><dd><a {link}")), "{member}");
    let callback = page(&app, &format!("/jobs/{then}")).await;
    assert!(callback.contains(&format!("<dt>Callback of</dt><dd><a {link}")), "{callback}");
    assert!(callback.contains(&format!("Nobody has closed batch {batch}")), "{callback}");
    let waiting = page(&app, "/jobs?state=scheduled&q=kind:merge").await;
    assert!(waiting.contains(">after others</time>"), "{waiting}");
    close(&lab, batch).await;
    let callback = page(&app, &format!("/jobs/{then}")).await;
    let waits = format!("Waits for batch {batch}: 59 of 60 members have not ended.");
    assert!(callback.contains(&waits), "{callback}");
    for path in ["/batches?state=ended", &format!("/batches/{batch}?only=ready")] {
        assert_eq!(get(&app, path).await.status, StatusCode::UNPROCESSABLE_ENTITY, "{path}");
    }
}

#[tokio::test]
async fn people_cancel_a_batch_and_watch_the_operation() {
    let lab = Lab::new().await;
    let app = dashboard(&lab, Permissions::admin());
    let batch = open(&lab, 3).await;
    let path = format!("/batches/{batch}");
    let then: i64 = lab.value("select then_job from jobkit.batches").await;
    let waits = page(&app, &format!("/jobs/{then}")).await;
    assert!(!waits.contains("Run now") && waits.contains("Cancel…"), "{waits}");
    assert!(page(&app, &path).await.contains("Cancel the batch"));
    let cancel = format!("{path}/cancel");
    let reply = post(&app, &cancel, "reason=").await;
    assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
    let reply = post(&app, &cancel, "reason=a+wrong+import").await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.body);
    let operation = reply.header("location").to_owned();
    let shown = page(&app, &operation).await;
    assert!(shown.contains("a wrong import") && shown.contains("of 3"), "{shown}");
    let cancelling = page(&app, &path).await;
    assert!(!cancelling.contains("Cancel the batch"), "{cancelling}");
    work(&lab, operation.rsplit_once('/').unwrap().1).await;
    let ended = page(&app, &path).await;
    assert!(ended.contains("3 cancelled") && ended.contains("100 %"), "{ended}");
    let reply = post(&app, &cancel, "reason=again").await;
    assert_eq!(reply.status, StatusCode::CONFLICT);
    lab.check_invariants().await;
}

#[tokio::test]
async fn open_batches_and_what_is_not_added_up_are_gauges() {
    let lab = Lab::new().await;
    let batch = open(&lab, 3).await;
    add(&lab, batch, 2).await;
    let metrics = page(&dashboard(&lab, Permissions::viewer()), "/metrics").await;
    for line in ["jobkit_open_batches 1", "jobkit_batch_tallies 2"] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
    lab.run("select jobkit.look_at_batches(1000)").await;
    let metrics = page(&dashboard(&lab, Permissions::viewer()), "/metrics").await;
    assert!(metrics.lines().any(|found| found == "jobkit_batch_tallies 0"), "{metrics}");
}
