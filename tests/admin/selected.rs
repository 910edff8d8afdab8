//! Rows that are selected, and what is done with them.

use axum::Router;
use axum::http::StatusCode;
use jobkit_admin::Permission::{Bulk, Cancel, Discard, Replay};
use jobkit_admin::Permissions;
use jobkit_tests::Lab;

use crate::actions::confirm;
use crate::site::{dashboard, get, post};
use crate::world;

/// How many rows of a page can be selected, and what its buttons do.
async fn offered(app: &Router, path: &str) -> (usize, Vec<String>) {
    let page = get(app, path).await;
    assert_eq!(page.status, StatusCode::OK, "{path}");
    let verbs = page.body.split("<button name=\"verb\" value=\"").skip(1);
    let verbs = verbs.map(|rest| rest.split('"').next().unwrap().to_owned()).collect();
    (page.body.matches("name=\"row\"").count(), verbs)
}

/// The link that a form with these rows makes.
fn link(verb: &str, ids: &[i64]) -> String {
    let rows: String = ids.iter().map(|id| format!("&row={id}")).collect();
    format!("/operations/new?only=rows&verb={verb}{rows}")
}

async fn ids(lab: &Lab, sql: &str) -> Vec<i64> {
    lab.value(&format!("select array({sql})")).await
}

#[tokio::test]
async fn rows_can_be_selected_where_something_can_be_done_with_them() {
    let lab = world::ordinary().await;
    lab.run(
        "update jobkit.dead_letters set state = 'replaying', replay_id = -id
            where id in (select min(id) from jobkit.dead_letters);
        update jobkit.dead_letters set state = 'resolved', resolved_at = now(), replay_id = -id
            where id in (select max(id) from jobkit.dead_letters)",
    )
    .await;
    let all = dashboard(&lab, Permissions::admin());
    let jobs = ["reschedule", "cancel", "discard"].map(str::to_owned).to_vec();
    let scheduled = lab.count("jobkit.scheduled").await as usize;
    assert_eq!(offered(&all, "/jobs?state=scheduled").await, (scheduled, jobs.clone()));
    assert_eq!(offered(&all, "/jobs?state=running").await.1, jobs[1..]);
    assert_eq!(offered(&all, "/jobs?state=finished").await, (0, vec![]));
    let letters = ["replay", "discard_dead_letters"].map(str::to_owned).to_vec();
    assert_eq!(offered(&all, "/dead/entries").await.1, letters);
    assert_eq!(offered(&all, "/dead/entries?state=replaying").await, (0, vec![]));
    assert_eq!(offered(&all, "/dead/entries?state=resolved").await, (1, letters[1..].to_vec()));
    let without = |permission| dashboard(&lab, Permissions::admin().without(permission));
    assert_eq!(offered(&without(Bulk), "/jobs?state=scheduled").await, (0, vec![]));
    assert_eq!(offered(&without(Bulk), "/dead/entries").await, (0, vec![]));
    let some = offered(&without(Cancel), "/jobs?state=scheduled").await;
    assert_eq!(some, (scheduled, vec![jobs[0].clone(), jobs[2].clone()]));
    assert_eq!(offered(&without(Replay), "/dead/entries").await.1, letters[1..]);
}

#[tokio::test]
async fn selected_jobs_are_looked_at_and_cancelled_by_an_operation() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let some = ids(&lab, "select job_id from jobkit.scheduled order by 1 limit 3").await;
    let page = get(&app, &link("cancel", &[&some[..], &[i64::MAX]].concat())).await;
    assert!(page.body.contains("<b>3</b> of 4 selected match"), "{}", page.body);
    let reply = confirm(&app, &link("cancel", &some), None).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.body);
    let kept: serde_json::Value =
        lab.value("select filter -> 'ids' from jobkit.operations where verb = 'cancel'").await;
    let texts: Vec<_> = some.iter().map(i64::to_string).collect();
    assert_eq!(kept, serde_json::json!(texts));
    let page = get(&app, reply.header("location")).await;
    assert!(page.body.contains("of 3<"), "{}", page.body);
}

#[tokio::test]
async fn selected_dead_letters_are_replayed_and_discarded_by_an_operation() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let some = ids(&lab, "select id from jobkit.dead_letters order by 1 limit 4").await;
    for verb in ["replay", "discard_dead_letters"] {
        let reply = confirm(&app, &link(verb, &some), None).await;
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{verb}: {}", reply.body);
        let begun = format!("jobkit.operations where verb = '{verb}' and total = 4");
        assert_eq!(lab.count(&begun).await, 1);
    }
}

#[tokio::test]
async fn many_selected_ones_have_to_be_typed_too() {
    let lab = world::ordinary().await;
    lab.run(
        "select jobkit.enqueue('send_receipt_01', '{}', p_concurrency_key => 'a')
        from generate_series(1, 150)",
    )
    .await;
    let app = dashboard(&lab, Permissions::admin());
    let newest = "select id from jobkit.jobs order by 1 desc limit 150";
    let page = link("discard", &ids(&lab, newest).await);
    assert_eq!(confirm(&app, &page, None).await.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(confirm(&app, &page, Some(150)).await.status, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn no_selected_row_never_means_all() {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    let before = lab.count("jobkit.operations").await;
    let many: Vec<i64> = (0..501).collect();
    let pages = [
        link("cancel", &[]),
        link("replay", &[]),
        "/operations/new?only=rows&verb=cancel&row=all".to_owned(),
        "/operations/new?only=rows&verb=cancel&row=1&q=kind:send_receipt_01".to_owned(),
        link("purge", &[1]),
        link("cancel", &many),
    ];
    for page in pages {
        assert_eq!(get(&app, &page).await.status, StatusCode::UNPROCESSABLE_ENTITY, "{page}");
        let form = page.split_once('?').unwrap().1.to_owned() + "&idempotency_key=k&count=1";
        let reply = post(&app, "/operations/begin", &form).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{page}");
    }
    assert_eq!(lab.count("jobkit.operations").await, before);
}

#[tokio::test]
async fn selected_rows_need_the_permission_of_what_is_done_with_them() {
    let lab = world::ordinary().await;
    for (verb, permission) in [("cancel", Cancel), ("replay", Replay), ("discard", Discard)] {
        let app = dashboard(&lab, Permissions::admin().without(permission));
        assert_eq!(get(&app, &link(verb, &[1])).await.status, StatusCode::NOT_FOUND, "{verb}");
    }
}
