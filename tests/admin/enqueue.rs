//! Jobs that programs enqueue, with all that they may say of them.

use axum::Router;
use axum::http::StatusCode;
use jobkit_admin::Permissions;
use jobkit_tests::Lab;
use serde_json::Value;

use crate::site::{dashboard, get, send};

async fn site() -> (Lab, Router) {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts)
        values ('sync', 'mail', 0, 3)",
    )
    .await;
    let app = dashboard(&lab, Permissions::admin());
    (lab, app)
}

/// Enqueues one of the kind, with this beside it: the status, and what is answered.
async fn enqueue(app: &Router, rest: &str) -> (StatusCode, Value) {
    let body = format!(r#"{{"kind": "sync", {rest}}}"#);
    let reply = send(app, "/api/v1/jobs", &body).await;
    (reply.status, serde_json::from_str(&reply.body).unwrap())
}

/// The job of one that was taken, and what became of it.
async fn taken(app: &Router, rest: &str) -> (String, String) {
    let (status, said) = enqueue(app, rest).await;
    let answer = said["answer"].as_str().unwrap_or_else(|| panic!("{rest}: {said}"));
    assert_eq!(status == StatusCode::CREATED, answer == "enqueued", "{rest}: {said}");
    (said["job"].as_str().unwrap().to_owned(), answer.to_owned())
}

#[tokio::test]
async fn a_duplicate_becomes_what_it_says() {
    let (lab, app) = site().await;
    let key = r#""unique_key": "7", "unique_group": "accounts", "unique_while": "running",
        "unique_for": 60"#;
    let (job, answer) = taken(&app, &format!("{key}, \"args\": {{\"n\": 1}}")).await;
    assert_eq!(answer, "enqueued");
    let stored = format!(
        "jobkit.jobs where id = {job} and unique_key = '7' and unique_scope = 'accounts'
            and unique_while = 'running'"
    );
    assert_eq!(lab.count(&stored).await, 1);
    let held = "jobkit.unique_keys where held_until between now() + '30 s' and now() + '60 s'";
    assert_eq!(lab.count(held).await, 1);
    let args = async |n: i32| {
        lab.count(&format!("jobkit.jobs where args::jsonb = '{{\"n\": {n}}}'")).await
    };
    for (what, n, answer, kept) in
        [("skip", 2, "existing", 1), ("replace", 3, "replaced", 3), ("debounce", 4, "replaced", 3)]
    {
        let rest = format!(
            r#"{key}, "on_duplicate": "{what}", "args": {{"n": {n}}}, "at": "2100-01-31T12:00:00Z""#
        );
        assert_eq!(taken(&app, &rest).await, (job.clone(), answer.to_owned()), "{what}");
        assert_eq!(args(kept).await, 1, "{what}");
        let later = "jobkit.scheduled where run_at = '2100-01-31T12:00:00Z'";
        assert_eq!(lab.count(later).await, i64::from(what != "skip"), "{what}");
    }
    assert_eq!(lab.count("jobkit.jobs").await, 1);
}

#[tokio::test]
async fn one_that_coalesces_is_enqueued_beside_the_others() {
    let (lab, app) = site().await;
    let key = r#""coalesce_key": "7", "coalesce_group": "products""#;
    let (first, answer) = taken(&app, key).await;
    let (second, again) = taken(&app, key).await;
    assert_eq!((&*answer, &*again), ("enqueued", "enqueued"));
    assert_ne!(first, second);
    let stored = "jobkit.jobs where unique_key = '7' and unique_scope = 'products'
        and unique_while = 'coalesce'";
    assert_eq!(lab.count(stored).await, 2);
}

#[tokio::test]
async fn how_long_it_may_wait_and_be_tried_is_in_its_terms() {
    let (lab, app) = site().await;
    let rest = r#""expires": 90, "retry_for": 3600, "metadata": {"by": "a script"}"#;
    let (job, _) = taken(&app, rest).await;
    let terms: Value = lab.value("select terms from jobkit.jobs").await;
    assert_eq!(terms, serde_json::json!({"expires": 90.0, "retry_for": 3600.0}));
    let page = get(&app, &format!("/jobs/{job}")).await.body;
    assert!(page.contains("Expires unless it starts by "), "{page}");
}

#[tokio::test]
async fn what_does_not_go_together_or_is_out_of_bounds_is_refused() {
    let (lab, app) = site().await;
    let long = format!("\"coalesce_key\": \"{}\"", "x".repeat(513));
    for (rest, title, why) in [
        (r#""unique_key": "a", "coalesce_key": "b""#, "Invalid request", "not both"),
        (r#""coalesce_group": "g""#, "Invalid request", "`coalesce_key`"),
        (r#""unique_key": "a", "coalesce_group": "g""#, "Invalid request", "`coalesce_key`"),
        (r#""coalesce_key": "a", "unique_group": "g""#, "Invalid request", "`unique_key`"),
        (r#""on_duplicate": "replace""#, "Refused option", "a unique key"),
        (r#""coalesce_key": "a", "on_duplicate": "skip""#, "Refused option", "a unique key"),
        (r#""unique_key": "a", "on_duplicate": "shout""#, "Invalid request", "run_again"),
        (r#""unique_key": "a", "unique_while": "often""#, "Invalid request", "unfinished"),
        (r#""unique_key": "a", "unique_for": 0"#, "Invalid request", "unique key is held is 0"),
        (r#""unique_key": "a", "unique_group": """#, "Invalid request", "group of a unique key"),
        (&*long, "Invalid request", "the coalesce key has 513 bytes"),
        (r#""expires": 0"#, "Invalid request", "until a job expires is 0"),
        (r#""expires": "90s""#, "Invalid request", "invalid type"),
        (r#""retry_for": 31622401"#, "Invalid request", "a job is retried is 31622401"),
    ] {
        let (status, problem) = enqueue(&app, rest).await;
        assert_eq!(status, StatusCode::UNPROCESSABLE_ENTITY, "{rest}: {problem}");
        assert_eq!(problem["title"], title, "{rest}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(why), "{rest}: {problem}");
    }
    assert_eq!(lab.count("jobkit.jobs").await, 0);
}
