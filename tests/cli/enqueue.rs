//! Jobs that are enqueued with more than a kind and a payload.

use jobkit_tests::Lab;
use serde_json::{Value, json};

use crate::shell::{json as answer, run, text};

async fn lab() -> Lab {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts)
        values ('sync', 'mail', 0, 3)",
    )
    .await;
    lab
}

/// The job of a command that enqueues one, and what became of it.
async fn taken(lab: &Lab, args: &str, options: &[&str]) -> (String, String) {
    let said = answer(lab, &[&["enqueue", "sync", args], options].concat()).await;
    let part = |name: &str| said[name].as_str().unwrap().to_owned();
    (part("job"), part("answer"))
}

#[tokio::test]
async fn a_duplicate_becomes_what_is_said() {
    let lab = lab().await;
    let held = ["--unique-key", "7", "--unique-group", "accounts", "--unique-while", "running"];
    let held = [&held[..], &["--unique-for", "1min"]].concat();
    let (job, answer) = taken(&lab, "{\"n\": 1}", &held).await;
    assert_eq!(answer, "enqueued");
    let stored = "jobkit.jobs where unique_key = '7' and unique_scope = 'accounts'
        and unique_while = 'running'";
    assert_eq!(lab.count(stored).await, 1);
    let until = "jobkit.unique_keys where held_until between now() and now() + '1 min'";
    assert_eq!(lab.count(until).await, 1);
    for (what, args, answer, kept) in [
        ("skip", "{\"n\": 2}", "existing", "{\"n\": 1}"),
        ("replace", "{\"n\": 3}", "replaced", "{\"n\": 3}"),
        ("debounce", "{\"n\": 4}", "replaced", "{\"n\": 3}"),
    ] {
        let options = [&held[..], &["--on-duplicate", what]].concat();
        let same = (job.clone(), answer.to_owned());
        assert_eq!(taken(&lab, args, &options).await, same, "{what}");
        assert_eq!(text(&lab, "select args::jsonb from jobkit.jobs").await, kept, "{what}");
    }
    let shown = run(&lab, &["enqueue", "sync", "--unique-key", "7", "--unique-group", "accounts"]);
    let shown = shown.await.good();
    assert_eq!(shown, format!("Job {job} already has this key; nothing was enqueued.\n"));
}

#[tokio::test]
async fn one_that_coalesces_is_enqueued_beside_the_others_and_shows_its_key() {
    let lab = lab().await;
    let key = ["--coalesce-key", "7", "--coalesce-group", "products"];
    let (first, answered) = taken(&lab, "{}", &key).await;
    let (second, again) = taken(&lab, "{}", &key).await;
    assert_eq!((&*answered, &*again), ("enqueued", "enqueued"));
    assert_ne!(first, second);
    let shown = run(&lab, &["jobs", "show", &second]).await.good();
    assert!(shown.contains("coalesce key") && shown.contains("products/7\n"), "{shown}");
    let shown = answer(&lab, &["jobs", "show", &second]).await;
    let parts = ["unique_key", "unique_group", "coalesces"].map(|name| shown[name].clone());
    assert_eq!(parts, [json!("7"), json!("products"), json!(true)]);
    let (unique, _) = taken(&lab, "{}", &["--unique-key", "8"]).await;
    let shown = run(&lab, &["jobs", "show", &unique]).await.good();
    assert!(shown.contains("unique key") && shown.contains("sync/8\n"), "{shown}");
    assert_eq!(answer(&lab, &["jobs", "show", &unique]).await["coalesces"], false);
}

#[tokio::test]
async fn how_long_one_may_wait_and_be_tried_is_in_its_terms() {
    let lab = lab().await;
    let metadata = "{\"by\": \"a script\"}";
    let options = ["--expires", "90s", "--retry-for", "1h", "--metadata", metadata];
    let (job, _) = taken(&lab, "{}", &options).await;
    let terms: Value = lab.value("select terms from jobkit.jobs").await;
    assert_eq!(terms, json!({"expires": 90.0, "retry_for": 3600.0}));
    let why = run(&lab, &["jobs", "explain", &job]).await.good();
    assert!(why.contains("Expires unless it starts by "), "{why}");
}

#[tokio::test]
async fn what_does_not_go_together_or_is_out_of_bounds_is_refused() {
    let lab = lab().await;
    for (options, code, why) in [
        (&["--unique-key", "a", "--coalesce-key", "b"][..], 2, "cannot be used with"),
        (&["--coalesce-group", "g"], 2, "--coalesce-key"),
        (&["--on-duplicate", "skip"], 2, "--unique-key"),
        (&["--unique-key", "a", "--on-duplicate", "shout"], 2, "run_again"),
        (&["--unique-key", "a", "--unique-for", "0s"], 2, "unique key is held is 0"),
        (&["--coalesce-key", &"x".repeat(513)], 2, "the coalesce key has 513 bytes"),
        (&["--expires", "soon"], 2, "write 90s"),
        (&["--expires", "0s"], 2, "until a job expires is 0"),
        (&["--retry-for", "367days"], 2, "a job is retried is 31708800"),
    ] {
        let said = run(&lab, &[&["enqueue", "sync"], options].concat()).await.bad(code);
        assert!(said.contains(why), "{options:?}: {said}");
    }
    assert_eq!(lab.count("jobkit.jobs").await, 0);
}
