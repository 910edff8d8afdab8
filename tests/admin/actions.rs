//! Everything a visitor can do, done with forms.

use axum::Router;
use axum::http::StatusCode;
use jobkit_admin::Permissions;
use jobkit_tests::Lab;

use crate::site::{Reply, VISITOR, ask, dashboard, get, post, post_with};
use crate::world;

/// Sends a form, follows the redirect as a browser does, and says what the page then says.
async fn act(app: &Router, path: &str, form: &str) -> String {
    let reply = post(app, path, form).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{path}: {}", reply.body);
    said(&follow(app, &reply, &[]).await)
}

async fn follow(app: &Router, reply: &Reply, headers: &[(&str, &str)]) -> Reply {
    let cookie = reply.header("set-cookie").split(';').next().unwrap();
    let headers = [headers, &[("cookie", cookie)]].concat();
    ask(app, "GET", reply.header("location"), &headers, "").await
}

/// The text of the flash.
fn said(page: &Reply) -> String {
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.header("set-cookie").contains("Max-Age=0"), "it is said once");
    let (_, rest) = page.body.split_once("class=\"flash\"").expect("there is a flash");
    let (_, text) = rest.split_once("<span>").unwrap();
    text.split("</span>").next().unwrap().to_owned()
}

async fn audited(lab: &Lab, action: &str) -> i64 {
    lab.count(&format!("jobkit.audit where actor = '{VISITOR}' and action = '{action}'")).await
}

async fn site() -> (Lab, Router) {
    let lab = world::ordinary().await;
    let app = dashboard(&lab, Permissions::admin());
    (lab, app)
}

#[tokio::test]
async fn a_queue_is_paused_and_resumed() {
    let (lab, app) = site().await;
    let text = act(&app, "/limits/pause", "scope=queue&name=mail&reason=the+relay+is+down").await;
    assert_eq!(text, "Queue mail is paused: no new job starts.");
    let page = get(&app, "/queues").await.body;
    assert!(page.contains("by alice: the relay is down"), "{page}");
    assert_eq!(
        act(&app, "/limits/resume", "scope=queue&name=mail").await,
        "Queue mail is resumed."
    );
    assert_eq!(
        act(&app, "/limits/resume", "scope=queue&name=mail").await,
        "Queue mail was not paused."
    );
    assert_eq!((audited(&lab, "pause").await, audited(&lab, "resume").await), (1, 1));
}

#[tokio::test]
async fn a_queue_has_a_limit_of_waiting_jobs_and_says_how_full_it_is() {
    let (_lab, app) = site().await;
    let queue = "scope=queue&name=send_receipt_03";
    let text = act(&app, "/limits/set", &format!("{queue}&waiting=1")).await;
    assert!(text.starts_with("Queue send_receipt_03 is set: "), "{text}");
    let page = get(&app, "/queues").await.body;
    assert!(page.contains("of 1 wait"), "{page}");
    let metrics = get(&app, "/metrics").await.body;
    let series = "jobkit_limit{scope=\"queue\",name=\"send_receipt_03\",what=\"waiting\"} 1";
    assert!(metrics.contains(series), "{metrics}");
    assert!(metrics.contains("jobkit_queue_full{queue=\"send_receipt_03\"} 1"), "{metrics}");
    let text = act(&app, "/limits/set", &format!("{queue}&waiting=reset")).await;
    assert!(!text.contains("wait"), "{text}");
}

#[tokio::test]
async fn limits_are_set_and_given_back() {
    let (lab, app) = site().await;
    let group = "scope=group&name=send_receipt_03";
    let text = act(&app, "/limits/set", &format!("{group}&running=7")).await;
    assert!(text.starts_with("Group send_receipt_03 is set: at most 7 of each key run"), "{text}");
    let page = get(&app, "/limits").await.body;
    assert!(page.contains("7 per key at a time") && page.contains("an operator"), "{page}");
    let text = act(&app, "/limits/set", &format!("{group}&running=reset")).await;
    assert!(!text.contains("at most 7"), "{text}");
    let key = "scope=key&name=send_receipt_04&key=send_receipt_04&running=0";
    let text = act(&app, "/limits/set", key).await;
    assert!(text.starts_with("Key send_receipt_04/send_receipt_04 is set: none starts"), "{text}");
    for wrong in [
        "scope=key&name=misspelt&key=a&running=1",
        "scope=key&name=send_receipt_04&running=1",
        "scope=group&name=send_receipt_04",
        "scope=group&name=send_receipt_04&running=many",
        "scope=group&name=send_receipt_04&waiting=1",
        "scope=all&running=1",
    ] {
        let reply = post(&app, "/limits/set", wrong).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{wrong}");
    }
    assert_eq!(audited(&lab, "limit").await, 3);
}

#[tokio::test]
async fn a_key_has_a_rate_and_a_pause() {
    let (lab, app) = site().await;
    let key = "scope=key&name=send_receipt_04&key=send_receipt_04";
    let text = act(&app, "/limits/set", &format!("{key}&rate=90/min")).await;
    assert!(text.contains("90/min"), "{text}");
    act(&app, "/limits/pause", &format!("{key}&minutes=5&reason=429")).await;
    let of_key = "/concurrency/key?group=send_receipt_04&key=send_receipt_04";
    let page = get(&app, of_key).await.body;
    assert!(page.contains(">Rate<") && page.contains(">Paused<"), "{page}");
    let page = get(&app, "/limits?only=paused").await.body;
    assert!(page.contains("key send_receipt_04/send_receipt_04"), "{page}");
    let text = act(&app, "/limits/resume", key).await;
    assert_eq!(text, "Key send_receipt_04/send_receipt_04 is resumed.");
    let text = act(&app, "/limits/set", &format!("{key}&rate=none")).await;
    assert!(!text.contains("90/min"), "{text}");
    let wrong = post(&app, "/limits/set", &format!("{key}&rate=fast")).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!((audited(&lab, "pause").await, audited(&lab, "resume").await), (1, 1));
}

/// Begins an operation as its page has it, and says where that leads.
pub(crate) async fn confirm(app: &Router, page: &str, typed: Option<u32>) -> Reply {
    let page = get(app, page).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.body);
    let mut form = String::new();
    for input in page.body.split("<input type=\"hidden\" name=\"").skip(1) {
        let (name, rest) = input.split_once("\" value=\"").unwrap();
        let (value, _) = rest.split_once('"').unwrap();
        if name != "back" {
            form.push_str(&format!("{name}={}&", value.replace(' ', "+")));
        }
    }
    form.push_str("reason=a+wrong+deploy&");
    form.push_str(&typed.map_or(String::new(), |typed| format!("typed={typed}")));
    post(app, "/operations/begin", &form).await
}

#[tokio::test]
async fn blocked_jobs_of_one_key_are_discarded_by_an_operation() {
    let (lab, app) = site().await;
    let key = "send_receipt_07";
    let link = format!("/operations/new?verb=discard&state=blocked&q=group:{key}%20key:{key}");
    let page = get(&app, &format!("/concurrency/key?group={key}&key={key}")).await.body;
    assert!(page.contains("/operations/new?verb=discard&amp;state=blocked"), "{page}");
    let reply = confirm(&app, &link, None).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.body);
    let filter = format!(
        "jobkit.operations where verb = 'discard' and actor = '{VISITOR}'
            and filter->>'key' = '{key}'"
    );
    assert_eq!(lab.count(&filter).await, 1);
    assert_eq!(audited(&lab, "begin").await, 1);
    let page = get(&app, reply.header("location")).await;
    assert!(page.body.contains("pending"));
    let cancel = format!("{}/cancel", reply.header("location"));
    assert!(act(&app, &cancel, "").await.ends_with("what it has already done is not undone."));
}

#[tokio::test]
async fn many_have_to_be_typed_and_one_page_begins_one_operation() {
    let (lab, app) = site().await;
    lab.run(
        "insert into jobkit.dead_letters (job_id, kind, queue, priority, max_attempts, reason,
            errors, attempt, attempts, snoozes, created_at, first_failed_at, failed_at, args,
            error, fingerprint)
        select -1000 - i, 'bulk', 'q', 0, 20, 'exhausted', '[]', 20, 20, 0, now(), now(), now(),
            '{}', 'no', 'many' from generate_series(1, 150) i",
    )
    .await;
    let page = "/operations/new?verb=replay&fingerprint=many";
    for typed in [None, Some(149), Some(0)] {
        let reply = confirm(&app, page, typed).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{typed:?}");
    }
    let begun = "jobkit.operations where verb = 'replay'";
    assert_eq!(lab.count(begun).await, 0);
    assert_eq!(confirm(&app, page, Some(150)).await.status, StatusCode::SEE_OTHER);
    assert_eq!(lab.count(begun).await, 1);
    // The same page once more.
    let form = "verb=replay&fingerprint=many&count=150&typed=150&reason=&idempotency_key=a-click";
    let first = post(&app, "/operations/begin", form).await;
    let again = post(&app, "/operations/begin", form).await;
    assert_eq!(first.header("location"), again.header("location"));
    assert_eq!(lab.count(begun).await, 2);
}

#[tokio::test]
async fn an_operation_needs_the_permission_of_what_it_does() {
    use jobkit_admin::Permission::{Cancel, Discard, Purge, Replay, Reschedule};
    let lab = world::ordinary().await;
    for (verb, permission) in [
        ("cancel", Cancel),
        ("discard", Discard),
        ("reschedule", Reschedule),
        ("replay", Replay),
        ("discard_dead_letters", Discard),
        ("purge", Purge),
    ] {
        let without = dashboard(&lab, Permissions::admin().without(permission));
        let with = dashboard(&lab, Permissions::admin());
        let page = format!("/operations/new?verb={verb}");
        assert_eq!(get(&without, &page).await.status, StatusCode::NOT_FOUND, "{verb}");
        assert_eq!(get(&with, &page).await.status, StatusCode::OK, "{verb}");
        let form = format!("verb={verb}&idempotency_key={verb}&count=1");
        let reply = post(&without, "/operations/begin", &form).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{verb}");
    }
}

#[tokio::test]
async fn a_job_is_run_now_and_cancelled() {
    let (lab, app) = site().await;
    let job: i64 = lab.value("select max(job_id) from jobkit.scheduled").await;
    let text = act(&app, &format!("/jobs/{job}/reschedule"), "").await;
    assert_eq!(text, format!("Job {job} is due now."));
    let text = act(&app, &format!("/jobs/{job}/cancel"), "").await;
    assert_eq!(text, format!("Job {job} is cancelled."));
    assert_eq!(lab.count(&format!("jobkit.jobs where id = {job}")).await, 0);
    let again = post(&app, &format!("/jobs/{job}/cancel"), "").await;
    assert_eq!(again.status, StatusCode::CONFLICT);
    assert_eq!((audited(&lab, "reschedule").await, audited(&lab, "cancel").await), (1, 1));
}

#[tokio::test]
async fn a_dead_letter_is_replayed_once_and_with_what_it_should_have_been() {
    let (lab, app) = site().await;
    let ids: Vec<i64> = sqlx::query_scalar("select id from jobkit.dead_letters where job_id < 0")
        .fetch_all(lab.pool())
        .await
        .unwrap();
    let text = act(&app, &format!("/dead/{}/replay", ids[0]), "").await;
    assert!(text.ends_with(&format!("replays dead letter {}.", ids[0])), "{text}");
    let again = post(&app, &format!("/dead/{}/replay", ids[0]), "").await;
    assert_eq!(again.status, StatusCode::CONFLICT);

    let edit = format!("/dead/{}/edit", ids[1]);
    assert_eq!(post(&app, &edit, "args=%7B").await.status, StatusCode::UNPROCESSABLE_ENTITY);
    act(&app, &edit, "args=%7B%22n%22%3A9007199254740993%7D&queue=slow").await;
    let job = "jobkit.jobs where queue = 'slow' and args->>'n' = '9007199254740993'";
    assert_eq!(lab.count(job).await, 1);

    act(&app, &format!("/dead/{}/discard", ids[2]), "").await;
    assert_eq!(lab.count(&format!("jobkit.dead_letters where id = {}", ids[2])).await, 0);
    assert_eq!((audited(&lab, "replay").await, audited(&lab, "discard").await), (2, 1));
}

#[tokio::test]
async fn a_cause_is_noted_and_muted() {
    let (lab, app) = site().await;
    let cause = "select fingerprint from jobkit.dead_letters where state = 'open' limit 1";
    let cause: String = lab.value(cause).await;
    let of = |more: &str| format!("fingerprint={cause}{more}");
    act(&app, "/dead/note", &of("&note=%3Cb%3Eknown")).await;
    let said = act(&app, "/dead/mute", &of("&days=3")).await;
    assert!(said.starts_with("Muted until "), "{said}");
    let page = get(&app, "/dead").await.body;
    assert!(page.contains("&#60;b&#62;known") && page.contains("muted until"), "{page}");
    act(&app, "/dead/unmute", &of("")).await;
    assert!(!get(&app, "/dead").await.body.contains("muted until"));
    let wrong = post(&app, "/dead/mute", &of("&days=many")).await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    let acts = [audited(&lab, "note").await, audited(&lab, "mute").await];
    assert_eq!((acts, audited(&lab, "unmute").await), ([1, 1], 1));
}

#[tokio::test]
async fn a_worker_is_asked_to_stop() {
    let (lab, app) = site().await;
    let text = act(&app, "/workers/1f/stop", "").await;
    assert_eq!(text, "The worker has been asked to stop.");
    assert_eq!(lab.count("jobkit.workers where stop_requested_at is not null").await, 1);
    assert_eq!(act(&app, "/workers/1f/stop", "").await, "It is already stopping.");
}

#[tokio::test]
async fn a_script_gets_what_changes_of_the_page() {
    let (_lab, app) = site().await;
    let script = [("hx-request", "true"), ("hx-current-url", "http://jobs.test/queues?after=a")];
    let reply = post_with(&app, "/limits/pause", &script, "scope=queue&name=mail").await;
    assert_eq!(reply.header("location"), "/queues?after=a", "the page is the same");
    let page = follow(&app, &reply, &script).await;
    assert!(page.body.contains("mail is paused") && page.body.contains("hx-swap-oob"));
    assert!(!page.body.contains("<html") && !page.body.contains("<nav class=\"side\""));
}

#[tokio::test]
async fn a_script_leaves_a_page_for_another() {
    let (_lab, app) = site().await;
    let script = [("hx-request", "true"), ("hx-current-url", "http://jobs.test/dead/1")];
    let reply = post_with(&app, "/limits/pause", &script, "scope=queue&name=mail").await;
    assert_eq!((reply.status, reply.header("location")), (StatusCode::NO_CONTENT, ""));
    let cookie = reply.header("set-cookie").split(';').next().unwrap();
    let page = ask(&app, "GET", reply.header("hx-redirect"), &[("cookie", cookie)], "").await;
    assert_eq!(said(&page), "Queue mail is paused: no new job starts.");
    assert!(page.body.contains("hx-get=\"/queues\""), "it asks for itself");
}

#[tokio::test]
async fn the_theme_is_kept_and_there_from_the_first_byte() {
    let (_lab, app) = site().await;
    let reply = post(&app, "/theme", "theme=dark&back=/dead").await;
    assert_eq!((reply.status, reply.header("location")), (StatusCode::SEE_OTHER, "/dead"));
    let cookie = reply.header("set-cookie").split(';').next().unwrap();
    let page = ask(&app, "GET", "/dead", &[("cookie", cookie)], "").await;
    assert!(page.body.contains("<html lang=\"en\" data-theme=\"dark\">"));
    assert!(get(&app, "/dead").await.body.contains("data-theme=\"auto\""));
}
