//! Commands that change nothing.

use jobkit_tests::Lab;
use serde_json::Value;

use crate::shell::{NAMES, at, filled, json, run, text};
use crate::world;

/// Answers in both forms: a text with these words, and a document, which is returned.
async fn both(lab: &Lab, args: &[&str], words: &[&str]) -> Value {
    let out = run(lab, args).await.good();
    for word in words {
        assert!(out.contains(word), "{args:?} says nothing of {word}:\n{out}");
    }
    json(lab, args).await
}

#[tokio::test]
async fn every_command_that_looks_answers_people_and_programs() {
    let lab = filled(&NAMES).await;
    let status =
        both(&lab, &["status"], &["ready", "Needs attention:", "dead letters within"]).await;
    assert_eq!(status["running"], 1);
    assert!(
        status["attention"].as_array().unwrap().iter().any(|item| item["what"] == "dead_letters")
    );
    let jobs = both(&lab, &["jobs", "list", "kind:mail"], &["ID", "blocked", "mail"]).await;
    assert!(jobs["items"].as_array().unwrap().iter().all(|job| job["kind"] == "mail"));
    let queues = both(&lab, &["queues", "list"], &["QUEUE", "paused by sync (sync)"]).await;
    assert_eq!(queues["items"].as_array().unwrap().len(), 4);
    let semaphores = both(&lab, &["semaphores", "list", "--blocked"], &["GROUP", "charge"]).await;
    assert_eq!(semaphores["items"][0]["group"], "charge");
    let limits = both(&lab, &["limits", "list"], &["SET BY", "group report"]).await;
    let group = limits["items"].as_array().unwrap().iter().find(|it| it["scope"] == "group");
    assert_eq!(group.unwrap()["running"], serde_json::json!({"value": 1, "by": "code"}));
    let workers = both(&lab, &["workers"], &["1f", "alive"]).await;
    let listed = json(&lab, &["workers", "list"]).await;
    assert_eq!(workers["items"][0]["kinds"], listed["items"][0]["kinds"]);
    let operations = both(&lab, &["operations", "list"], &["discard", "pending"]).await;
    let operation = operations["items"][0]["id"].as_str().unwrap();
    let operation = both(&lab, &["operations", "show", operation], &["pending", "sync"]).await;
    assert_eq!(operation["results"], Value::Array(Vec::new()));
}

#[tokio::test]
async fn what_an_attempt_says_is_shown_with_its_job_and_its_worker() {
    let lab = filled(&NAMES).await;
    let job = text(&lab, "select min(j) from jobkit.claims c, unnest(c.job_ids) j").await;
    lab.run(&format!(
        "update jobkit.reports set note = E'rows\\u001b[2J', lines = jsonb_build_array(
            jsonb_build_object('at', 0, 'level', 'WARN', 'target', 'shop', 'text', E'a\\nb\\u009b'))
        where job_id = {job}"
    ))
    .await;
    let words = [
        "[###-------] 1 of 3, rows\\u{1b}[2J (33 %, ",
        "checkpoint",
        "by attempt 1, ",
        "log of attempt 1\n00:00:00.000 WARN  shop: a\nb\\u{9b}\n",
    ];
    let shown = both(&lab, &["jobs", "show", &job], &words).await;
    assert_eq!(shown["reports"][0]["progress"]["percent"], 33);
    assert_eq!(shown["checkpoint"]["attempt"], 1);
    let worker = both(&lab, &["workers", "show", "1f"], &["PROGRESS", "1 of 3, rows"]).await;
    assert_eq!(worker["jobs"][0]["progress"]["total"], 3);
    for (done, total, said) in [
        ("3", "3", "[##########] 3 of 3, rows (100 %, "),
        ("9", "3", "[##########] 9 of 3, rows (100 %, "),
        ("0", "3", "[----------] 0 of 3, rows (0 %, "),
        ("0", "0", "[##########] 0 of 0, rows (100 %, "),
        ("5", "null", "  5, rows ("),
    ] {
        lab.run(&format!(
            "update jobkit.reports set done = {done}, total = {total}, note = 'rows'
             where job_id = {job}"
        ))
        .await;
        both(&lab, &["jobs", "show", &job], &[said]).await;
    }
}

#[tokio::test]
async fn what_a_job_returned_is_shown_with_it() {
    let lab = filled(&NAMES).await;
    let ended = "select min(job_id)::text from jobkit.finished where outcome = 'finish'";
    let job = text(&lab, ended).await;
    let before = json(&lab, &["jobs", "show", &job]).await;
    assert_eq!(before["result"], Value::Null);
    lab.run(&format!(
        "update jobkit.finished set result = '{{\"receipt\": 4711}}' where job_id = {job}"
    ))
    .await;
    let shown = both(&lab, &["jobs", "show", &job], &["result: {\n  \"receipt\": 4711\n}\n"]).await;
    assert_eq!(shown["result"]["receipt"], 4711);
}

#[tokio::test]
async fn a_time_beyond_all_calendars_is_shown_as_what_it_is() {
    let lab = filled(&NAMES).await;
    for (far, shown) in
        [("infinity", "infinity"), ("-infinity", "-infinity"), ("294276-12-31", "infinity")]
    {
        lab.run(&format!(
            "update jobkit.jobs set run_at = '{far}', created_at = '{far}'
             where id in (select job_id from jobkit.scheduled);
             update jobkit.scheduled set run_at = '{far}'"
        ))
        .await;
        let job = text(&lab, "select min(job_id) from jobkit.scheduled").await;
        let of_job = both(&lab, &["jobs", "show", &job], &[shown]).await;
        assert_eq!((&of_job["run_at"], &of_job["created_at"]), (&shown.into(), &shown.into()));
        for args in [
            &["status"][..],
            &["jobs", "list"],
            &["jobs", "list", "state:scheduled"],
            &["jobs", "explain", &job],
            &["queues", "list"],
            &["doctor"],
        ] {
            let run = run(&lab, args).await;
            assert!(run.code <= 1 && run.err.is_empty(), "{far}: {args:?}: {run:?}");
        }
    }
}

#[tokio::test]
async fn one_of_each_is_shown_whole() {
    let lab = filled(&NAMES).await;
    let sql =
        "select job_id from jobkit.blocked_executions where concurrency_group = 'mail' limit 1";
    let job = text(&lab, sql).await;
    let shown =
        both(&lab, &["jobs", "show", &job], &["is paused by mail", "args: {", "metadata: {"]).await;
    assert_eq!(
        (&shown["id"], &shown["args"]),
        (&Value::from(&*job), &serde_json::json!({"mail": "mail"}))
    );
    let why = both(&lab, &["jobs", "explain", &job], &["Blocked:", "paused"]).await;
    assert_eq!(why["id"], *job);
    let key = both(&lab, &["semaphores", "show", "mail", "mail"], &["held by", &job]).await;
    assert_eq!(key["blocked_jobs"][0]["job"], *job);
    let worker = both(&lab, &["workers", "show", "1f"], &["alive", "charge"]).await;
    assert_eq!(worker["jobs"][0]["attempt"], 1);
    let dead = both(&lab, &["dead", "list", "--kind", "mail"], &["FAILED", "open"]).await;
    let id = dead["items"][0]["id"].as_str().unwrap();
    let letter = both(&lab, &["dead", "show", id], &["exhausted", "attempt 1", "args: {"]).await;
    assert_eq!(letter["errors"][0]["outcome"], "bury");
    let groups = both(&lab, &["dead", "groups"], &["FINGERPRINT", "mail"]).await;
    assert!(groups["items"].as_array().unwrap().iter().any(|group| group["fingerprint"] == "mail"));
}

#[tokio::test]
async fn pages_follow_each_other() {
    let lab = world::ordinary().await;
    for list in [&["jobs", "list"][..], &["dead", "list"], &["operations", "list"]] {
        let all = json(&lab, list).await;
        let page = |after: Option<String>| {
            let after = after.map(|after| format!("--after={after}"));
            let more = [Some("--limit=1".to_owned()), after].into_iter().flatten();
            let args: Vec<String> = list.iter().map(|&word| word.to_owned()).chain(more).collect();
            let lab = &lab;
            async move { json(lab, &args.iter().map(String::as_str).collect::<Vec<_>>()).await }
        };
        let first = page(None).await;
        let next = first["next"].as_str().expect("more follow").to_owned();
        let second = page(Some(next)).await;
        assert_eq!([&first["items"][0], &second["items"][0]], [&all["items"][0], &all["items"][1]]);
    }
    let first = json(&lab, &["semaphores", "list", "--limit", "1"]).await;
    let after = [first["next"][0].as_str().unwrap(), first["next"][1].as_str().unwrap()];
    let second =
        json(&lab, &["semaphores", "list", "--limit", "1", "--after", after[0], after[1]]).await;
    assert_ne!(first["items"][0]["group"], second["items"][0]["group"]);
}

#[tokio::test]
async fn what_is_redacted_is_shown_only_if_asked_for() {
    let lab = filled(&["mail"]).await;
    lab.run("update jobkit.kinds set redact = array['mail']").await;
    let id = text(&lab, "select min(id) from jobkit.dead_letters").await;
    let args = ["dead", "show", &id];
    let hidden = both(&lab, &args, &["•••"]).await;
    assert_eq!(hidden["args"]["mail"], "•••");
    let args = ["dead", "show", &id, "--reveal"];
    assert_eq!(both(&lab, &args, &["\"mail\": \"mail\""]).await["args"]["mail"], "mail");
}

#[tokio::test]
async fn ids_and_numbers_are_exact() {
    let lab = Lab::new().await;
    lab.run("select setval('jobkit.jobs_id_seq', 9007199254740992)").await;
    lab.run(
        "select jobkit.announce(array['k'], array['q'], '{0}', '{2}', array['1 h'::interval],
            array[null], '{null}')",
    )
    .await;
    lab.run("select jobkit.enqueue('k', '{\"n\": 12345678901234567890.10}', p_queue => 'q')").await;
    let list = run(&lab, &["jobs", "list", "--json"]).await.good();
    assert!(list.contains("\"9007199254740993\""), "{list}");
    let args = ["jobs", "show", "9007199254740993", "--reveal"];
    for args in [&args[..], &[&args[..], &["--json"]].concat()] {
        let shown = run(&lab, args).await.good();
        assert!(shown.contains("9007199254740993"), "{shown}");
        assert!(shown.contains("12345678901234567890.10"), "{shown}");
    }
}

#[tokio::test]
async fn a_terminal_obeys_nothing_that_is_stored() {
    let odd = "a\u{1b}]0;t\u{7}\u{9b}2J\u{202e}\u{200b}\u{ad}b\nc\td";
    let lab = filled(&[odd]).await;
    let (job, letter) = (
        text(&lab, "select min(id) from jobkit.jobs").await,
        text(&lab, "select min(id) from jobkit.dead_letters").await,
    );
    for args in [
        &["status"][..],
        &["jobs", "list"],
        &["jobs", "show", &job],
        &["jobs", "explain", &job],
        &["dead", "list"],
        &["dead", "groups"],
        &["dead", "show", &letter, "--reveal"],
        &["queues", "list"],
        &["semaphores", "list"],
        &["semaphores", "show", odd, odd],
        &["workers"],
        &["workers", "show", "1f"],
        &["operations", "list"],
        &["operations", "show", "1"],
        &["schedules", "list"],
        &["schedules", "show", odd],
        &["schedules", "runs", odd],
        &["jobs", "list", &format!("state:{odd}")],
        &["limits", "list"],
        &["limits", "show", "--group", odd],
        &["limits", "pause", "--queue", odd],
    ] {
        for form in [&[][..], &["--json"]] {
            let run = run(&lab, &[args, form].concat()).await;
            let said = run.out + &run.err;
            let hidden = ['\u{202e}', '\u{200b}', '\u{ad}'];
            let seen = |c: char| c == '\n' || !(c.is_control() || hidden.contains(&c));
            assert!(said.chars().all(seen), "{args:?} {form:?}: {said:?}");
            let written = said.contains("\\u{1b}") || said.contains("\\u001b");
            assert!(
                written || ["status", "schedules"].contains(&args[0]),
                "{args:?} {form:?}: {said}"
            );
        }
    }
}

#[tokio::test]
async fn the_printed_sql_is_the_migration() {
    let printed = at("", &["migrate", "--print-sql"]).await.good();
    assert_eq!(printed.trim_end(), jobkit::migration_sql().trim_end());
}

#[tokio::test]
async fn the_printed_roles_are_applied_by_nobody() {
    let printed = at("", &["roles", "--prefix", "shop_"]).await.good();
    assert!(printed.contains("create role") && printed.contains("shop_worker"), "{printed}");
    assert!(!printed.contains("jobkit_"), "{printed}");
    let refused = at("", &["roles", "--prefix", "a; drop"]).await;
    assert!(refused.bad(2).contains("cannot be the prefix of role names"));
}
