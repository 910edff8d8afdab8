//! Limits and pauses by commands.

use jobkit_tests::Lab;

use super::act::audited;
use crate::shell::{NAMES, filled, json, run, text};

#[tokio::test]
async fn a_queue_limits_how_many_jobs_wait() {
    let lab = filled(&NAMES).await;
    let queue = ["limits", "set", "--queue", "mail"];
    let set = json(&lab, &[&queue[..], &["--waiting", "1"]].concat()).await;
    let expected =
        serde_json::json!({"scope": "queue", "name": "mail", "key": null, "changed": true});
    assert_eq!(set, expected);
    let listed = run(&lab, &["queues", "list"]).await.good();
    assert!(listed.contains("of 1 wait"), "{listed}");
    let free = run(&lab, &[&queue[..], &["--reset", "waiting"]].concat()).await.good();
    assert!(!free.contains("wait"), "{free}");
}

#[tokio::test]
async fn queues_are_paused_and_resumed_by_name() {
    let lab = Lab::new().await;
    let paused =
        json(&lab, &["limits", "pause", "--queue", "mail", "--reason", "the gateway"]).await;
    assert_eq!((&paused["name"], &paused["changed"]), (&"mail".into(), &true.into()));
    assert_eq!(
        text(&lab, "select paused_by || pause_reason from jobkit.limits where holds").await,
        "adathe gateway"
    );
    let again = run(&lab, &["limits", "pause", "--queue", "mail"]).await.good();
    assert!(again.contains("was already paused"), "{again}");
    let resume = ["limits", "resume", "--queue", "mail", "--actor", "bob"];
    let resumed = run(&lab, &resume).await.good();
    assert_eq!(resumed, "Queue mail is resumed.\n");
    assert_eq!((&*audited(&lab, "pause").await, &*audited(&lab, "resume").await), ("ada", "bob"));
}

#[tokio::test]
async fn a_pause_of_a_kind_waits_until_none_of_it_runs() {
    let lab = Lab::new().await;
    let pause = ["limits", "pause", "--kind", "note", "--wait", "300ms"];
    let idle = run(&lab, &pause).await.good();
    assert_eq!(idle, "Kind note is paused. No jobs are running.\n");
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts) values ('note', 'q', 0, 3);
        select jobkit.enqueue('note', '{}');
        delete from jobkit.ready;
        insert into jobkit.claims (worker_id, n, job_ids) select 1, 1, array_agg(id)
        from jobkit.jobs",
    )
    .await;
    let busy = run(&lab, &pause).await;
    assert!(busy.code == 1 && busy.out.contains("1 still running."), "{busy:?}");
    let waited = run(&lab, &["limits", "wait", "--kind", "note", "--within", "0s"]).await;
    assert!(waited.code == 1 && waited.out.contains("1 still running."), "{waited:?}");
    run(&lab, &["limits", "set", "--kind", "note", "--running", "2"]).await.good();
    run(&lab, &["limits", "set", "--queue", "q", "--rate", "5/min"]).await.good();
    run(&lab, &["limits", "set", "--all", "--running", "2"]).await.bad(2);
    let listed = run(&lab, &["limits", "list"]).await.good();
    let words = ["paused by ada", "at most 2 run (1 now)", "at most 5/min, burst 1"];
    assert!(words.iter().all(|word| listed.contains(word)), "{listed}");
    run(&lab, &["limits", "resume", "--kind", "note"]).await.good();
    assert_eq!((&*audited(&lab, "pause").await, &*audited(&lab, "limit").await), ("ada", "ada"));
}

#[tokio::test]
async fn limits_are_set_and_given_back() {
    let lab = filled(&NAMES).await;
    json(&lab, &["limits", "set", "--group", "mail", "--running", "5"]).await;
    let group = json(&lab, &["limits", "show", "--group", "mail"]).await;
    assert_eq!(group["running"], serde_json::json!({"value": 5, "by": "operator"}));
    let key = ["--group", "mail", "--key", "mail"];
    let set = run(&lab, &[&["limits", "set"], &key[..], &["--running", "0"]].concat()).await.good();
    assert_eq!(set, "Key mail/mail: none starts.\n");
    let shown = json(&lab, &["semaphores", "show", "mail", "mail"]).await;
    assert_eq!(shown["override_limit"], 0);
    json(&lab, &[&["limits", "set"], &key[..], &["--reset", "running"]].concat()).await;
    let shown = json(&lab, &["semaphores", "show", "mail", "mail"]).await;
    assert_eq!(shown["override_limit"], serde_json::Value::Null);
    let misspelt = ["limits", "set", "--group", "mial", "--running", "1"];
    let unknown = run(&lab, &misspelt).await.bad(1);
    assert!(unknown.contains("mial"), "{unknown}");
}

#[tokio::test]
async fn rates_and_pauses_of_keys_are_set_and_given_back() {
    let lab = filled(&NAMES).await;
    let on_key = async |verb, more: &[&str]| {
        let key = ["limits", verb, "--group", "mail", "--key", "mail"];
        run(&lab, &[&key[..], more].concat()).await.good()
    };
    let shown = async || json(&lab, &["semaphores", "show", "mail", "mail"]).await;
    let set = on_key("set", &["--rate", "100/min", "--burst", "5"]).await;
    assert!(set.contains("at most 100/min, burst 5"), "{set}");
    assert_eq!(shown().await["rate"], "100/min, burst 5");
    let text = on_key("show", &[]).await;
    assert!(text.contains("100/min, burst 5 (by operator)"), "{text}");
    assert!(!on_key("set", &["--none", "rate"]).await.contains("/min"));
    assert!(!on_key("set", &["--reset", "rate,running"]).await.contains("/min"));
    let group = run(&lab, &["limits", "set", "--group", "mail", "--rate", "5/second"]).await.good();
    assert!(group.contains("at most 5/s, burst 5"), "{group}");

    let paused = on_key("pause", &["--for", "10m", "--reason", "they said 429"]).await;
    assert_eq!(paused, "Key mail/mail is paused for 600s.\n");
    assert!(shown().await["paused_until"].is_string());
    assert_eq!(audited(&lab, "pause").await, "ada");
    let listed = run(&lab, &["limits", "list", "--paused"]).await.good();
    assert!(listed.contains("key mail/mail") && listed.contains("paused until"), "{listed}");
    assert_eq!(on_key("resume", &[]).await, "Key mail/mail is resumed.\n");
    assert_eq!(shown().await["paused_until"], serde_json::Value::Null);
    assert_eq!(on_key("resume", &[]).await, "Key mail/mail was not paused.\n");
}

#[tokio::test]
async fn what_cannot_be_limited_is_refused() {
    let lab = filled(&NAMES).await;
    for (args, code, why) in [
        (&["set", "--group", "mial", "--rate", "5/s"][..], 1, "mial"),
        (&["set", "--limiter", "mial", "--rate", "5/s"], 1, "limiter mial"),
        (&["pause", "--group", "mial", "--key", "k", "--for", "1s"], 1, "mial"),
        (&["show", "--group", "mial"], 1, "mial"),
        (&["set", "--group", "mail", "--rate", "often"], 2, "100/min"),
        (&["set", "--group", "mail", "--running", "1", "--none", "running"], 2, "more than once"),
        (&["set", "--group", "mail"], 2, "at least one of"),
        (&["set", "--group", "mail", "--waiting", "1"], 2, "a group has no limit of waiting"),
        (&["set", "--group", "mail", "--running", "1000001"], 2, "1000000"),
        (&["set", "--queue", "q", "--key", "k", "--running", "1"], 2, "cannot be used with"),
        (&["pause", "--group", "mail"], 2, "a group has no pause"),
        (&["pause", "--group", "mail", "--key", "mail"], 2, "--for"),
        (&["pause", "--group", "mail", "--key", "mail", "--for", "soon"], 2, "write 90s"),
        (&["pause", "--queue", ""], 2, "1 to 128"),
        (&["resume"], 2, "required"),
    ] {
        let refused = run(&lab, &[&["limits"][..], args].concat()).await.bad(code);
        assert!(refused.contains(why), "{args:?}: {refused}");
    }
}
