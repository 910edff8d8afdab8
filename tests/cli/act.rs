//! Commands that change something.

use jobkit_tests::Lab;

use crate::shell::{NAMES, Run, filled, json, run, text};

pub(crate) async fn audited(lab: &Lab, action: &str) -> String {
    let sql = format!(
        "select actor from jobkit.audit where action = '{action}' order by id desc limit 1"
    );
    text(lab, &sql).await
}

#[tokio::test]
async fn a_database_is_migrated_and_then_is_well() {
    let lab = Lab::empty().await;
    let status = run(&lab, &["status"]).await.bad(1);
    assert!(status.contains("`jobkit migrate`"), "{status}");
    let Run { code, out, .. } = run(&lab, &["doctor", "--json"]).await;
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, &found["findings"][0]["check"]), (1, &"schema".into()));
    run(&lab, &["migrate"]).await.good();
    let again = json(&lab, &["migrate"]).await;
    assert!(again["version"].as_i64() > Some(1), "{again}");
    // A server for tests need not survive a crash of its host.
    let well = ["doctor", "--ignore", "durability"];
    let said = run(&lab, &[&well[..], &["--thorough"]].concat()).await.good();
    assert!(said.contains("Nothing is wrong.") && said.contains("dead_letters"), "{said}");
    assert_eq!(json(&lab, &well).await["ok"], true);
    lab.run("drop index jobkit.dead_letters_due").await;
    for form in [&[][..], &["--json"]] {
        let ill = run(&lab, &[&well[..], form].concat()).await;
        assert!(ill.code == 1 && ill.out.contains("dead_letters_due"), "{ill:?}");
    }
}

#[tokio::test]
async fn topics_are_listed_published_to_and_left() {
    let lab = filled(&NAMES).await;
    let kind = text(&lab, "select min(kind) from jobkit.kinds").await;
    let subscribe = format!(
        "select jobkit.announce_subscriptions(array['paid'], array['{kind}'], array[null])"
    );
    lab.run(&subscribe).await;
    let listed = run(&lab, &["topics", "list"]).await.good();
    assert!(listed.contains("paid") && listed.contains(&kind), "{listed}");
    let published = json(&lab, &["topics", "publish", "paid", r#"{"order": 7}"#]).await;
    assert_eq!(published["jobs"].as_array().map(Vec::len), Some(1), "{published}");
    let left = run(&lab, &["topics", "unsubscribe", "paid", &kind]).await.good();
    assert!(left.contains("no longer subscribes to paid"), "{left}");
    run(&lab, &["topics", "unsubscribe", "paid", &kind]).await.bad(1);
    let nobody = run(&lab, &["topics", "publish", "paid"]).await.good();
    assert!(nobody.contains("No kind subscribes"), "{nobody}");
    assert_eq!(audited(&lab, "unsubscribe").await, "ada");
}

#[tokio::test]
async fn schedules_are_made_changed_and_deleted_by_name() {
    let lab = Lab::new().await;
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts) values ('r', 'q', 0, 3)",
    )
    .await;
    let times = "0 3 * * * Europe/Berlin";
    run(&lab, &["schedules", "create", "nightly", times, "r", "{\"a\": 1}"]).await.good();
    assert!(
        run(&lab, &["schedules", "create", "nightly", times, "r"]).await.bad(1).contains("edit")
    );
    let never = run(&lab, &["schedules", "edit", "nightly", "--times", "0 0 30 2 *"]).await.bad(1);
    assert!(never.contains("never occurs"), "{never}");
    let edit = ["schedules", "edit", "nightly", "--catch-up", "all", "--skip-if-running", "true"];
    run(&lab, &edit).await.good();
    run(&lab, &["schedules", "pause", "nightly", "--reason", "stocktaking"]).await.good();
    let listed = run(&lab, &["schedules", "list"]).await.good();
    assert!(listed.contains(times) && listed.contains("paused (stocktaking)"), "{listed}");
    run(&lab, &["schedules", "resume", "nightly"]).await.good();
    let ran = json(&lab, &["schedules", "run", "nightly"]).await;
    let runs = json(&lab, &["schedules", "runs", "nightly"]).await;
    assert_eq!(
        (&runs["items"][0]["job"], &runs["items"][0]["actor"]),
        (&ran["job"], &"ada".into())
    );
    let shown = json(&lab, &["schedules", "show", "nightly", "--reveal"]).await;
    assert_eq!((&shown["args"]["a"], &shown["catch_up"]["max"]), (&1.into(), &100.into()));
    run(&lab, &["schedules", "delete", "nightly"]).await.good();
    run(&lab, &["schedules", "show", "nightly"]).await.bad(1);
    assert_eq!(audited(&lab, "delete").await, "ada");
}

#[tokio::test]
async fn a_job_is_enqueued_by_the_name_of_its_kind() {
    let lab = Lab::new().await;
    let enqueue = [
        "enqueue",
        "newest",
        "{\"order_id\": 7}",
        "--priority",
        "-1",
        "--payload-version",
        "2",
        "--tag",
        "shop",
    ];
    let refused = run(&lab, &enqueue).await.bad(1);
    assert!(refused.contains("nobody has announced the kind `newest`"), "{refused}");
    lab.run(
        "insert into jobkit.kinds (kind, queue, priority, max_attempts) values
            ('newest', 'mail', 0, 3)",
    )
    .await;
    let said = json(&lab, &enqueue).await;
    let stored = "select id::text from jobkit.jobs
        where priority = -1 and version = 2 and tags = '{shop}'
            and args::jsonb = '{\"order_id\": 7}'";
    assert_eq!(said["job"], *text(&lab, stored).await);
    assert_eq!(audited(&lab, "enqueue").await, "ada");
    // Without a key it is not unique, whatever its type declares.
    assert_ne!(json(&lab, &enqueue).await["job"], said["job"]);
    let unique = ["enqueue", "newest", "--unique-key", "7"];
    let first = json(&lab, &unique).await;
    assert_eq!(first["answer"], "enqueued");
    assert_eq!(json(&lab, &unique).await["job"], first["job"]);
    run(&lab, &["enqueue", "newest", "not json"]).await.bad(2);
}

#[tokio::test]
async fn jobs_are_retried_and_cancelled() {
    let lab = filled(&NAMES).await;
    let later = text(&lab, "select min(job_id) from jobkit.scheduled").await;
    let moved = json(&lab, &["jobs", "retry", &later]).await;
    assert_eq!(moved["job"], *later);
    let running = text(&lab, "select job_ids[1] from jobkit.claims limit 1").await;
    let refused = run(&lab, &["jobs", "retry", &running]).await.bad(1);
    assert!(refused.contains("is running"), "{refused}");
    let asked = json(&lab, &["jobs", "cancel", &running]).await;
    assert_eq!((&asked["ended"], &asked["requested"]), (&false.into(), &true.into()));
    let cancelled = run(&lab, &["jobs", "cancel", &later]).await.good();
    assert_eq!(cancelled, format!("Job {later} is cancelled.\n"));
    let gone = run(&lab, &["jobs", "retry", &later]).await.bad(1);
    assert!(gone.contains("has ended"), "{gone}");
    // A dead one comes back as another job.
    let dead = text(&lab, "select max(job_id) from jobkit.dead_letters").await;
    let replayed = json(&lab, &["jobs", "retry", &dead]).await;
    assert_eq!(replayed["id"], *dead);
    assert_ne!(replayed["job"], *dead);
    lab.check_invariants().await;
}

#[tokio::test]
async fn dead_letters_are_replayed_and_removed() {
    let lab = filled(&NAMES).await;
    let ids = "select string_agg(id::text, ',' order by id) from jobkit.dead_letters
        where state = 'open' and job_id < 0";
    let ids = text(&lab, ids).await;
    let ids: Vec<&str> = ids.split(',').collect();
    let otherwise = ["--queue", "slow", "--args", "{\"n\": 7}", "--attempts", "3"];
    let replayed = json(&lab, &[&["dead", "replay", ids[0]], &otherwise[..]].concat()).await;
    let job = replayed["job"].as_str().unwrap();
    let sql = format!("select queue || max_attempts || args from jobkit.jobs where id = {job}");
    assert_eq!(text(&lab, &sql).await, "slow3{\"n\": 7}");
    let again = run(&lab, &["dead", "replay", ids[0]]).await.bad(1);
    assert!(again.contains("already being replayed"), "{again}");
    let held = run(&lab, &["dead", "discard", ids[0]]).await.bad(1);
    assert!(held.contains("a job is replaying it"), "{held}");
    let cause = json(&lab, &["dead", "groups"]).await["items"][0]["fingerprint"].clone();
    let cause = cause.as_str().unwrap();
    run(&lab, &["dead", "note", cause, "known"]).await.good();
    run(&lab, &["dead", "mute", cause, "--for", "3days"]).await.good();
    let groups = json(&lab, &["dead", "groups"]).await["items"].clone();
    let group = groups.as_array().unwrap().iter().find(|group| group["fingerprint"] == cause);
    let group = group.unwrap();
    assert_eq!(group["note"]["text"], "known");
    assert!(group["muted_until"].is_string(), "{group}");
    run(&lab, &["dead", "unmute", cause]).await.good();
    run(&lab, &["dead", "discard", ids[1]]).await.good();
    let gone = run(&lab, &["dead", "show", ids[1]]).await.bad(1);
    assert!(gone.contains("there is no dead letter"), "{gone}");
    assert_eq!(audited(&lab, "replay").await, "ada");
}

#[tokio::test]
async fn bulk_commands_say_what_they_would_do_and_do_it_with_consent() {
    let lab = filled(&NAMES).await;
    let open = "jobkit.dead_letters where state = 'open'";
    let before = lab.count(open).await;
    for args in [
        &["dead", "replay-all", "--kind", "mail", "--per-second", "1000"][..],
        &["dead", "discard-all", "--kind", "charge"],
        &["dead", "purge", "--older-than", "0s", "--kind", "report"],
    ] {
        let would = run(&lab, args).await;
        assert_eq!(would.code, 1, "{would:?}");
        assert!(would.err.contains("--yes") && would.out.contains("would be"), "{would:?}");
        let would = run(&lab, &[args, &["--json"]].concat()).await;
        let would: serde_json::Value = serde_json::from_str(&would.out).unwrap();
        let number = would["count"]["number"].as_i64().unwrap();
        assert!(number > 0 && would["done"] == false, "{would}");
        assert_eq!(would["sample"][0]["kind"], args[args.len() - 1].replace("1000", "mail"));
        let left = lab.count(open).await;
        let reason = format!("{} is due", args[1]);
        let ended = json(&lab, &[args, &["--yes", "--reason", &reason]].concat()).await;
        assert_eq!((&ended["done"], &ended["state"]), (&number.into(), &"done".into()), "{ended}");
        assert_eq!(lab.count(open).await, left - number, "{args:?}");
        let noted = format!(
            "jobkit.audit where action = 'begin' and detail ->> 'reason' = '{reason}'
                and detail -> 'done' = to_jsonb({number})"
        );
        assert_eq!(lab.count(&noted).await, 1, "{args:?}");
    }
    let paces =
        lab.value::<String>("select string_agg(per_second::text, ' ') from jobkit.operations");
    assert_eq!(paces.await, "1000", "of the one command that was given a pace");
    let rest = lab.count(open).await;
    assert!(rest > 0 && rest < before);
    let all = run(&lab, &["dead", "replay-all", "--yes"]).await;
    assert!(all.err.contains(&format!("{rest} of {rest}")), "{all:?}");
    assert!(all.good().contains(&format!("is done: {rest} done.")));
}

#[tokio::test]
async fn workers_and_operations_are_stopped() {
    let lab = filled(&NAMES).await;
    let asked = json(&lab, &["workers", "stop", "1f"]).await;
    assert_eq!((&asked["id"], &asked["requested"]), (&"1f".into(), &true.into()));
    let again = run(&lab, &["workers", "stop", "1f"]).await.good();
    assert!(again.contains("already"), "{again}");
    let operation = text(&lab, "select min(id) from jobkit.operations").await;
    assert_eq!(json(&lab, &["operations", "cancel", &operation]).await["cancelled"], true);
    let again = run(&lab, &["operations", "cancel", &operation]).await.bad(1);
    assert!(again.contains("unfinished"), "{again}");
}
