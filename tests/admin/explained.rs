//! Why a job does not run, and how it ended: on its page and in the API.

use axum::Router;
use jobkit::Admin;
use jobkit::admin::limits::Change;
use jobkit_admin::Permissions;
use jobkit_tests::Lab;
use serde_json::Value;

use crate::one_kind::{claim, lab};
use crate::site::{dashboard, get};

async fn site() -> (Lab, Router) {
    let lab = lab().await;
    let app = dashboard(&lab, Permissions::viewer());
    (lab, app)
}

async fn enqueue(lab: &Lab, rest: &str) -> i64 {
    lab.value(&format!("select jobkit.enqueue('sync', '{{}}' {rest})")).await
}

/// Ends an attempt of the second claim.
async fn settle(lab: &Lab, job: i64, outcome: &str, error: &str) {
    lab.run(&format!(
        "select jobkit.settle(31, jobkit.outcomes('{{2}}', '{{{job}}}', array['{outcome}'],
            p_error => array['{error}'], p_keep => array['1 h'::interval]))"
    ))
    .await;
}

/// What the API has of a job; its page has the same reason.
async fn told(app: &Router, job: i64, why: &str) -> Value {
    let api: Value =
        serde_json::from_str(&get(app, &format!("/api/v1/jobs/{job}")).await.body).unwrap();
    assert!(api["why"].as_str().unwrap().starts_with(why), "{api}");
    let page = get(app, &format!("/jobs/{job}")).await.body;
    assert!(page.contains(&format!("<p>{why}")), "{page}");
    assert_eq!(api["reasons"][0], api["why"]);
    api
}

#[tokio::test]
async fn one_that_waits_for_the_end_of_another_names_it() {
    let (lab, app) = site().await;
    let again = ", p_unique_key => 'k', p_on_duplicate => 'run_again'";
    let first = enqueue(&lab, again).await;
    claim(&lab, 1).await;
    let follower = enqueue(&lab, again).await;
    let why = format!("Waits until job {first}, which holds its unique key, ends");
    let api = told(&app, follower, &why).await;
    assert_eq!((&api["state"], &api["unique_key"]), (&"scheduled".into(), &"k".into()));
}

#[tokio::test]
async fn one_whose_kind_is_at_its_limit_says_so() {
    let (lab, app) = site().await;
    let admin = Admin::new(lab.pool());
    let _ = admin.kind("sync").set(&Change::new().running(1)).await.unwrap();
    enqueue(&lab, "").await;
    claim(&lab, 1).await;
    let waits = enqueue(&lab, "").await;
    let at_its_limit = "Ready, but its kind sync has 1 of at most 1 running";
    told(&app, waits, at_its_limit).await;
    admin.everything().pause("a bad deploy").await.unwrap();
    let api = told(&app, waits, "Everything is paused").await;
    let reasons = api["reasons"].as_array().unwrap().iter();
    assert!(reasons.skip(1).any(|why| why.as_str().unwrap().starts_with(at_its_limit)), "{api}");
}

#[tokio::test]
async fn how_one_ended_that_did_not_succeed_is_on_pages_and_in_the_api() {
    let (lab, app) = site().await;
    // Of two that coalesce the older one ends when they are claimed.
    let coalesced = enqueue(&lab, ", p_coalesce_key => 'k'").await;
    let newer = enqueue(&lab, ", p_coalesce_key => 'k'").await;
    claim(&lab, 1).await;
    let expired = enqueue(&lab, "").await;
    // While this one runs another job may have its key, which it finds when it is to run again.
    let unique = ", p_unique_key => 'k', p_unique_while => 'queued'";
    let superseded = enqueue(&lab, unique).await;
    claim(&lab, 2).await;
    let successor = enqueue(&lab, unique).await;
    settle(&lab, expired, "expire", "expired: too late").await;
    settle(&lab, superseded, "retry", "boom").await;
    for (job, ended, word, reason) in [
        (coalesced, "coalesce", "coalesced", format!("coalesced into job {newer}")),
        (expired, "expire", "expired", "expired: too late".to_owned()),
        (superseded, "supersede", "superseded", format!("superseded by job {successor}")),
    ] {
        let api = told(&app, job, "Discarded at ").await;
        assert_eq!((&api["state"], &api["ended"]), (&"finished".into(), &ended.into()));
        assert_eq!(api["reason"], *reason);
        let page = get(&app, &format!("/jobs/{job}")).await.body;
        assert!(page.contains(&format!("</svg>{word}</span>")), "{page}");
        assert!(page.contains(&format!("<dt>Reason</dt><dd>{reason}</dd>")), "{page}");
        let found = get(&app, &format!("/jobs?q=ended:{ended}")).await.body;
        assert!(found.contains(&format!("</svg>{word}</span>")), "{found}");
    }
}
