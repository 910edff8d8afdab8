//! Why a job does not run, and how it ended.

use jobkit_tests::Lab;

use crate::one_kind::{claim, lab};
use crate::shell::{json, run};

/// Enqueues one by a command.
async fn enqueue(lab: &Lab, options: &[&str]) -> String {
    let said = json(lab, &[&["enqueue", "sync"], options].concat()).await;
    said["job"].as_str().unwrap().to_owned()
}

/// Looks that `explain` and `show` give this reason, in both forms.
async fn told(lab: &Lab, job: &str, why: &str) {
    let explained = run(lab, &["jobs", "explain", job]).await.good();
    assert!(explained.starts_with(why), "{explained}");
    let explained = json(lab, &["jobs", "explain", job]).await;
    assert!(explained["why"].as_str().unwrap().starts_with(why), "{explained}");
    assert_eq!(explained["reasons"][0], explained["why"]);
    let shown = run(lab, &["jobs", "show", job]).await.good();
    assert!(shown.contains(&format!(" {why}")), "{shown}");
}

#[tokio::test]
async fn one_that_waits_for_the_end_of_another_names_it() {
    let lab = lab().await;
    let again = ["--unique-key", "k", "--on-duplicate", "run_again"];
    let first = enqueue(&lab, &again).await;
    claim(&lab, 1).await;
    let follower = enqueue(&lab, &again).await;
    let why = format!("Waits until job {first}, which holds its unique key, ends");
    told(&lab, &follower, &why).await;
}

#[tokio::test]
async fn one_whose_kind_is_at_its_limit_says_so() {
    let lab = lab().await;
    run(&lab, &["limits", "set", "--kind", "sync", "--running", "1"]).await.good();
    enqueue(&lab, &[]).await;
    claim(&lab, 1).await;
    let waits = enqueue(&lab, &[]).await;
    told(&lab, &waits, "Ready, but its kind sync has 1 of at most 1 running").await;
}

#[tokio::test]
async fn how_one_ended_that_did_not_succeed_is_shown() {
    let lab = lab().await;
    let coalescing = ["--coalesce-key", "k"];
    let coalesced = enqueue(&lab, &coalescing).await;
    let newer = enqueue(&lab, &coalescing).await;
    claim(&lab, 1).await;
    let unique = ["--unique-key", "k", "--unique-while", "queued"];
    let superseded = enqueue(&lab, &unique).await;
    let expired = enqueue(&lab, &[]).await;
    claim(&lab, 2).await;
    let successor = enqueue(&lab, &unique).await;
    lab.run(&format!(
        "select jobkit.settle(31, jobkit.outcomes('{{2, 2}}', '{{{superseded}, {expired}}}',
            '{{retry, expire}}', p_error => array['boom', 'expired: too late'],
            p_keep => array[null, '1 h'::interval]))"
    ))
    .await;
    for (job, ended, reason) in [
        (coalesced, "coalesce", format!("coalesced into job {newer}")),
        (superseded, "supersede", format!("superseded by job {successor}")),
        (expired, "expire", "expired: too late".to_owned()),
    ] {
        told(&lab, &job, "Discarded at ").await;
        let shown = run(&lab, &["jobs", "show", &job]).await.good();
        assert!(shown.contains(&format!(" {ended}\n")), "{shown}");
        assert!(shown.contains(&format!(" {reason}\n")), "{shown}");
        let shown = json(&lab, &["jobs", "show", &job]).await;
        assert_eq!((&shown["ended"], &shown["reason"]), (&ended.into(), &reason.into()));
        let listed = json(&lab, &["jobs", "list", &format!("ended:{ended}")]).await;
        let ids: Vec<_> =
            listed["items"].as_array().unwrap().iter().map(|job| &job["id"]).collect();
        assert_eq!(ids, [&*job]);
    }
}
